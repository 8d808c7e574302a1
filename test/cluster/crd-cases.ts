/** Changes to a valid object: each path of `set` gets its value, undefined removes it. */
export type Change = Readonly<Record<string, unknown>>;

/** One rule of a CRD: what it accepts and what it refuses, with its words. */
export interface RuleCase {
  readonly kind: 'ServiceRoute' | 'AddressPool' | 'BGPPeer' | 'Speaker';
  /** Where the rule stands: `spec.rules[]`. */
  readonly at: string;
  /** What the verdict of the server and ours both say. */
  readonly words: string;
  readonly accept: readonly Change[];
  readonly reject: readonly Change[];
}

const API = 'signpost.dev/v1alpha1';

/** An object of each kind that is valid. */
export const VALID = {
  ServiceRoute: {
    apiVersion: API,
    kind: 'ServiceRoute',
    metadata: { name: 'case', namespace: 'default' },
    spec: { rules: [{ name: 'web', protocol: 'TCP', port: 80, backendRefs: [{ name: 'web', port: 80 }] }] },
  },
  AddressPool: {
    apiVersion: API,
    kind: 'AddressPool',
    metadata: { name: 'case' },
    spec: { addresses: ['203.0.113.0/26'] },
  },
  BGPPeer: {
    apiVersion: API,
    kind: 'BGPPeer',
    metadata: { name: 'case' },
    spec: { localASN: 65001, peerASN: 65000, address: '192.0.2.1' },
  },
  Speaker: { apiVersion: API, kind: 'Speaker', metadata: { name: 'case' }, spec: {} },
} as const;

const BACKENDS = [{ name: 'web', port: 80 }];
const rule = (name: string, protocol: string, port: number) => ({ name, protocol, port, backendRefs: BACKENDS });

const ipCases = (kind: RuleCase['kind'], at: string, change: (text: string) => Change): RuleCase => ({
  kind,
  at,
  words: 'is not an IP',
  accept: ['203.0.113.10', '2001:db8::10'].map(change),
  reject: ['203.0.113.256', '203.0.113.010', '203.0.113', 'fe80::1%eth0', '2001:db8::1::2', 'web.example'].map(change),
});

const cidrCases = (at: string, change: (text: string) => Change): RuleCase[] => [
  {
    kind: 'ServiceRoute',
    at,
    words: 'is not a CIDR; write a network such as 203.0.113.0/26 or 2001:db8:5::/120',
    accept: ['0.0.0.0/0', '203.0.113.0/24', '203.0.113.7/32', '2001:db8::/32'].map(change),
    reject: ['203.0.113.0', 'all', '203.0.113.0/24/24'].map(change),
  },
  {
    kind: 'ServiceRoute',
    at,
    words: 'has bits set beyond its prefix length; write ',
    accept: [change('203.0.113.0/24')],
    reject: [change('203.0.113.7/24')],
  },
];

const durationCases = (
  field: string,
  words: string,
  accept: readonly string[],
  reject: readonly string[],
  others: Change = {},
): RuleCase => {
  const change = (text: string): Change => ({ ...others, [`spec.${field}`]: text });
  return { kind: 'BGPPeer', at: `spec.${field}`, words, accept: accept.map(change), reject: reject.map(change) };
};

/** Every rule that the CRDs say in CEL. */
export const RULE_CASES: readonly RuleCase[] = [
  ipCases('ServiceRoute', 'spec.addresses[]', (text) => ({ 'spec.addresses': [text] })),
  {
    kind: 'ServiceRoute',
    at: 'spec',
    words: 'addresses holds two of one family; give at most one IPv4 and one IPv6 address',
    accept: [{ 'spec.addresses': ['203.0.113.1', '2001:db8::1'] }, { 'spec.addresses': [] }],
    reject: [
      { 'spec.addresses': ['203.0.113.1', '203.0.113.2'] },
      { 'spec.addresses': ['2001:db8::1', '2001:db8::2'] },
    ],
  },
  {
    kind: 'ServiceRoute',
    at: 'spec',
    words: 'two rules have the same protocol and port; join them into one with several backendRefs',
    accept: [
      { 'spec.rules': [rule('a', 'TCP', 443), rule('b', 'UDP', 443)] },
      { 'spec.rules': [rule('a', 'TCP', 443), rule('b', 'TCP', 444)] },
      { 'spec.rules': [rule('a', 'TCP', 443), { name: 'b', backendRefs: [{ name: 'web' }] }] },
      { 'spec.rules': Array.from({ length: 64 }, (_, i) => rule(`r${i}`, 'TCP', i + 1)) },
    ],
    reject: [{ 'spec.rules': [rule('a', 'TCP', 443), rule('b', 'TCP', 443)] }],
  },
  {
    kind: 'ServiceRoute',
    at: 'spec.rules[]',
    words: 'protocol and port go together; give both, or neither to follow every port of the Service',
    accept: [{ 'spec.rules': [{ name: 'a', backendRefs: [{ name: 'web' }] }] }],
    reject: [{ 'spec.rules.0.protocol': undefined }, { 'spec.rules.0.port': undefined }],
  },
  {
    kind: 'ServiceRoute',
    at: 'spec.rules[]',
    words: 'a rule without protocol and port follows one Service; give it one backendRef without port',
    accept: [{ 'spec.rules': [{ name: 'a', backendRefs: [{ name: 'web' }] }] }],
    reject: [
      { 'spec.rules': [{ name: 'a', backendRefs: [{ name: 'web', port: 80 }] }] },
      { 'spec.rules': [{ name: 'a', backendRefs: [{ name: 'web' }, { name: 'shop' }] }] },
    ],
  },
  {
    kind: 'ServiceRoute',
    at: 'spec.rules[]',
    words: 'a backendRef has no port; give each the port of its Service',
    accept: [{ 'spec.rules.0.backendRefs': [...BACKENDS, { name: 'shop', namespace: 'other', port: 81, weight: 0 }] }],
    reject: [{ 'spec.rules.0.backendRefs': [...BACKENDS, { name: 'shop' }] }],
  },
  ...cidrCases('spec.rules[].sourceRanges[]', (text) => ({ 'spec.rules.0.sourceRanges': [text] })),
  ...cidrCases('spec.sourceRanges[]', (text) => ({ 'spec.sourceRanges': [text] })),
  {
    kind: 'ServiceRoute',
    at: 'spec.sessionAffinity',
    words: 'timeoutSeconds is for type ClientIP alone; remove it or set type to ClientIP',
    accept: [
      { 'spec.sessionAffinity': { type: 'ClientIP', timeoutSeconds: 60 } },
      { 'spec.sessionAffinity': { type: 'Hash' } },
      { 'spec.sessionAffinity': {} },
    ],
    reject: [
      { 'spec.sessionAffinity': { type: 'None', timeoutSeconds: 60 } },
      { 'spec.sessionAffinity': { timeoutSeconds: 60 } },
    ],
  },
  {
    kind: 'BGPPeer',
    at: 'spec',
    words: 'needs one of peerASN and dynamicASN; give exactly one',
    accept: [{ 'spec.peerASN': undefined, 'spec.dynamicASN': 'external' }],
    reject: [{ 'spec.peerASN': undefined }, { 'spec.dynamicASN': 'external' }],
  },
  {
    kind: 'BGPPeer',
    at: 'spec',
    words: 'needs one of address and interface; give exactly one',
    accept: [{ 'spec.address': undefined, 'spec.interface': 'eth0' }],
    reject: [{ 'spec.address': undefined }, { 'spec.interface': 'eth0' }],
  },
  {
    kind: 'BGPPeer',
    at: 'spec',
    words: 'ttlSecurity and ebgpMultiHop exclude each other; remove one',
    accept: [{ 'spec.ttlSecurity': { hops: 1 } }, { 'spec.ebgpMultiHop': {} }],
    reject: [{ 'spec.ttlSecurity': {}, 'spec.ebgpMultiHop': {} }],
  },
  {
    kind: 'BGPPeer',
    at: 'spec',
    words: 'sourceAddress and address are of two families; give both in one',
    accept: [
      { 'spec.sourceAddress': '192.0.2.11' },
      { 'spec.address': '2001:db8::1', 'spec.sourceAddress': '2001:db8::11' },
    ],
    reject: [{ 'spec.sourceAddress': '2001:db8::11' }],
  },
  {
    kind: 'BGPPeer',
    at: 'spec',
    words: 'keepaliveTime is not below holdTime; write a third of holdTime',
    accept: [
      { 'spec.holdTime': '3s', 'spec.keepaliveTime': '1s' },
      { 'spec.holdTime': '0s', 'spec.keepaliveTime': '0s' },
      { 'spec.holdTime': '1.5m', 'spec.keepaliveTime': '30s' },
    ],
    reject: [{ 'spec.keepaliveTime': '9s' }, { 'spec.keepaliveTime': '0s' }, { 'spec.holdTime': '3s' }],
  },
  {
    kind: 'BGPPeer',
    at: 'spec',
    words: 'role is for external peers alone; remove it',
    accept: [{ 'spec.role': 'customer' }],
    reject: [
      { 'spec.role': 'customer', 'spec.peerASN': 65001 },
      { 'spec.role': 'customer', 'spec.peerASN': undefined, 'spec.dynamicASN': 'internal' },
    ],
  },
  ipCases('BGPPeer', 'spec.address', (text) => ({ 'spec.address': text })),
  {
    ...ipCases('BGPPeer', 'spec.sourceAddress', (text) => ({ 'spec.sourceAddress': text })),
    accept: [{ 'spec.sourceAddress': '192.0.2.11' }],
  },
  durationCases('holdTime', 'is out of bounds; write 0s or 3s to 65535s', ['0s', '18h', '9s'], ['2s', '19h', '65536s']),
  durationCases('keepaliveTime', 'is out of bounds; write 0s or 1s to 21845s', ['1s', '6h'], ['500ms', '7h'], {
    'spec.holdTime': '18h',
  }),
  durationCases('connectRetryTime', 'is out of bounds; write 1s to 3600s', ['1s', '1h'], ['0s', '61m']),
  durationCases('gracefulRestart.restartTime', 'is out of bounds; write 1s to 4095s', ['1s', '68m'], ['0s', '69m']),
  durationCases('bfd.transmit', 'is out of bounds; write 10ms to 60s', ['10ms', '1m'], ['9ms', '2m']),
  durationCases('bfd.receive', 'is out of bounds; write 10ms to 60s', ['10ms', '1m'], ['9ms', '2m']),
];

/** Refused by the schema itself, each side in its own words. */
export const SCHEMA_CASES: readonly { readonly kind: RuleCase['kind']; readonly reject: Change }[] = [
  { kind: 'ServiceRoute', reject: { 'spec.rules': [] } },
  { kind: 'ServiceRoute', reject: { 'spec.rules': undefined } },
  { kind: 'ServiceRoute', reject: { spec: undefined } },
  { kind: 'ServiceRoute', reject: { 'spec.rules': [rule('a', 'TCP', 1), rule('a', 'TCP', 2)] } },
  { kind: 'ServiceRoute', reject: { 'spec.rules': Array.from({ length: 65 }, (_, i) => rule(`r${i}`, 'TCP', i + 1)) } },
  { kind: 'ServiceRoute', reject: { 'spec.rules.0.port': 0 } },
  { kind: 'ServiceRoute', reject: { 'spec.rules.0.port': '80' } },
  { kind: 'ServiceRoute', reject: { 'spec.rules.0.name': 'Web' } },
  { kind: 'ServiceRoute', reject: { 'spec.rules.0.protocol': 'tcp' } },
  { kind: 'ServiceRoute', reject: { 'spec.rules.0.backendRefs': [{ name: 'web', port: 80, kind: 'Pod' }] } },
  { kind: 'ServiceRoute', reject: { 'spec.rules.0.backendRefs': [{ name: 'web', port: 80, weight: -1 }] } },
  { kind: 'ServiceRoute', reject: { 'spec.rules.0.backendRefs': [{ name: '../web', port: 80 }] } },
  { kind: 'ServiceRoute', reject: { 'spec.adresses': ['203.0.113.1'] } },
  { kind: 'ServiceRoute', reject: { 'spec.trafficPolicy': 'local' } },
  { kind: 'ServiceRoute', reject: { 'metadata.name': 'Case' } },
  { kind: 'AddressPool', reject: { 'spec.addresses': [] } },
  { kind: 'AddressPool', reject: { 'spec.sharing': 'Route' } },
  { kind: 'AddressPool', reject: { 'spec.l2': { interfaces: ['eth0; drop'] } } },
  { kind: 'AddressPool', reject: { 'spec.l2': { fencing: 'Never' } } },
  { kind: 'AddressPool', reject: { 'spec.bgp': [{ aggregationLength: 33 }] } },
  { kind: 'AddressPool', reject: { 'spec.bgp': [{ communities: ['65000:100:'] }] } },
  { kind: 'AddressPool', reject: { 'spec.bgp': [{ med: 4_294_967_296 }] } },
  { kind: 'BGPPeer', reject: { 'spec.localASN': 0 } },
  { kind: 'BGPPeer', reject: { 'spec.localASN': 4_294_967_296 } },
  { kind: 'BGPPeer', reject: { 'spec.holdTime': '9' } },
  { kind: 'BGPPeer', reject: { 'spec.families': ['ipv4', 'ipv4'] } },
  { kind: 'BGPPeer', reject: { 'spec.families': [] } },
  { kind: 'BGPPeer', reject: { 'spec.routerID': 'r1' } },
  { kind: 'BGPPeer', reject: { 'spec.ttlSecurity': { hops: 255 } } },
  { kind: 'BGPPeer', reject: { 'spec.passwordSecretRef': {} } },
  { kind: 'Speaker', reject: { 'spec.drain': 'yes' } },
];

/** Taken by the API server, which cannot say these in CEL: `Accepted` tells them. */
export const BEYOND_CEL: readonly {
  readonly kind: RuleCase['kind'];
  readonly change: Change;
  readonly words: string;
}[] = [
  {
    kind: 'AddressPool',
    change: { 'spec.addresses': ['203.0.113.20-203.0.113.10'] },
    words: 'ends before it begins; write 203.0.113.10-203.0.113.20',
  },
  {
    kind: 'AddressPool',
    change: { 'spec.addresses': ['203.0.113.0/33'] },
    words: 'has a prefix length that is not between 0 and 32',
  },
  { kind: 'AddressPool', change: { 'spec.addresses': ['127.0.0.0/8'] }, words: 'holds loopback addresses' },
  { kind: 'ServiceRoute', change: { 'spec.addresses': ['224.0.0.5'] }, words: 'is a multicast address' },
];

/** A copy of the kind's valid object with the change made. */
export function objectOf(kind: RuleCase['kind'], change: Change): Record<string, unknown> {
  const copy = structuredClone(VALID[kind]) as Record<string, unknown>;
  for (const [path, value] of Object.entries(change)) {
    const keys = path.split('.');
    const last = keys.pop() ?? '';
    let parent: Record<string, unknown> = copy;
    for (const key of keys) parent = (parent[key] ??= {}) as Record<string, unknown>;
    if (value === undefined) Reflect.deleteProperty(parent, last);
    else parent[last] = value;
  }
  return copy;
}
