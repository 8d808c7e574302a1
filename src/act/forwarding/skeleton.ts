import { HOST_DEVICE, INSIDE } from './cluster-ip/link.ts';
import { BOUNCED } from './code-points.ts';
import { FAMILIES, type FamilyText, familyTextOf } from './family.ts';
import type { ChainObject, SetObject, TableObject } from './table.ts';
import { type NftText, nft } from './text.ts';

/** Raised whenever an object of an existing name changes its type or hook: a table of another layout is replaced. */
export const LAYOUT = 1;

const PROTOCOLS = [nft`tcp`, nft`udp`, nft`sctp`];

/** What the operator of a node decides about the rules. */
export interface RuleOptions {
  /** What becomes of clients that source ranges do not admit. */
  readonly refusedSources: 'reject' | 'drop';
  /**
   * Bits of the packet mark that a firewall's FORWARD chain accepts, 0 for none: they are raised before it and cleared
   * behind it, on connections to VIPs alone.
   */
  readonly forwardMark: number;
}

export const DEFAULT_RULES: RuleOptions = { refusedSources: 'reject', forwardMark: 0 };

export const CANARY = nft`canary`;
export const ANNOUNCING = nft`announcing`;

/** VIP . protocol . port, the key of an entry: of a type, and of a packet. */
function entryType({ address }: FamilyText): NftText {
  return nft`${address} . inet_proto . inet_service`;
}

export function packetKey({ ip }: FamilyText): NftText {
  return nft`${ip} daddr . meta l4proto . th dport`;
}

function familySets(family: FamilyText): SetObject[] {
  const { digit, address } = family;
  const key = entryType(family);
  return [
    // Every VIP that this node may receive, also those without an entry.
    set(nft`vips${digit}`, nft`type ${address}`),
    // Networks that are announced as a whole, with addresses that are no VIP.
    set(nft`aggregates${digit}`, nft`type ${address}; flags interval`),
    // Entries with source ranges, and the clients that they admit.
    set(nft`restricted${digit}`, nft`type ${key}`),
    set(nft`allow${digit}`, nft`type ${key} . ${address}; flags interval`),
    // Entries that keep the client's address. One set a protocol: `ct original proto-dst` has no type without one.
    ...PROTOCOLS.map((protocol) => set(nft`keep-${protocol}${digit}`, nft`type ${address} . inet_service`)),
    // Entry -> the chain that chooses among its endpoints. Each lookup is a new connection: the counter counts those.
    { kind: 'map', name: nft`service${digit}`, spec: nft`type ${key} : verdict; counter` },
    // Entries that the private namespace carries. Each lookup is a new connection.
    set(nft`relayed${digit}`, nft`type ${key}; counter`),
    // The same for what enters by an announcing interface, where Direct forwarding has chosen this node.
    { kind: 'map', name: nft`own${digit}`, spec: nft`type ${key} : verdict; counter` },
    // What the guard refused, by destination. Bounded, so that a port scan cannot fill the memory.
    set(nft`refused${digit}`, nft`type ${key}; size 4096; flags dynamic,timeout; timeout 1h; counter`),
  ];
}

function familyChains(family: FamilyText, { refusedSources }: RuleOptions): ChainObject[] {
  const { digit, ip, icmp } = family;
  const key = packetKey(family);
  return [
    chain(
      nft`dispatch${digit}`,
      nft`${key} vmap @service${digit}`,
      // Ping: answered by the node itself.
      nft`${icmp} type echo-request redirect`,
    ),
    chain(
      nft`masquerade${digit}`,
      // What a node process or a pod sends does not enter by an announcing interface and is always masqueraded:
      // its endpoint may be itself, or answer past this node.
      ...PROTOCOLS.map(
        (protocol) =>
          nft`iifname @${ANNOUNCING} meta l4proto ${protocol} ct original ${ip} daddr . ct original proto-dst @keep-${protocol}${digit} return`,
      ),
      nft`masquerade fully-random`,
    ),
    chain(
      nft`admit${digit}`,
      nft`${key} . ${ip} saddr @allow${digit} return`,
      ...(refusedSources === 'reject'
        ? [
            nft`meta l4proto tcp reject with tcp reset`,
            nft`limit rate 100/second burst 50 packets reject with ${icmp} type admin-prohibited`,
          ]
        : []),
      nft`drop`,
    ),
    // Only what was relayed when it was new is known here and still has a VIP as its destination.
    chain(nft`relay${digit}`, nft`ct state established,related accept`, nft`${key} @relayed${digit} accept`),
    chain(
      nft`refuse${digit}`,
      nft`ct state invalid,related drop`,
      nft`meta l4proto ${icmp} drop`,
      nft`update @refused${digit} { ${key} }`,
      nft`meta l4proto tcp reject with tcp reset`,
      nft`limit rate 100/second burst 50 packets reject with ${icmp} type port-unreachable`,
      nft`drop`,
    ),
  ];
}

const RESTRICT = FAMILIES.map((f) => nft`ct state new ${packetKey(f)} @restricted${f.digit} jump admit${f.digit}`);
// Another former holder knows the connection: the reset of an endpoint that does not would end it.
const BOUNCED_HERE = FAMILIES.map(
  ({ ip, digit }) =>
    nft`ct state new,invalid ${ip} dscp ${BOUNCED} ${ip} daddr @vips${digit} tcp flags & (syn | rst) == 0 drop`,
);
const OWN = FAMILIES.map((family) => nft`iifname @${ANNOUNCING} ${packetKey(family)} vmap @own${family.digit}`);
const DISPATCH = FAMILIES.map(({ ip, digit }) => nft`${ip} daddr @vips${digit} jump dispatch${digit}`);
// Whatever still has a VIP as its destination was not translated and must not be forwarded: it could loop.
const GUARD = FAMILIES.map(({ ip, digit }) => nft`${ip} daddr @vips${digit} goto refuse${digit}`);
// What a router sends here because of an aggregate, for no VIP, must not go back to it.
const UNUSED = FAMILIES.map(
  ({ ip, digit }) =>
    nft`iifname @${ANNOUNCING} ${ip} daddr @aggregates${digit} fib daddr type unicast goto refuse${digit}`,
);
// To the private namespace, as the routes say: without them nothing is let through.
const RELAY_ARRIVING = FAMILIES.map(
  ({ ip, digit }) => nft`${ip} daddr @vips${digit} fib daddr oifname "${HOST_DEVICE}" jump relay${digit}`,
);
const RELAY_LEAVING = FAMILIES.map(
  ({ ip, digit }) => nft`oifname "${HOST_DEVICE}" ${ip} daddr @vips${digit} jump relay${digit}`,
);
// What comes out of the private namespace, for a ClusterIP, must be answered through it.
const MASQUERADE_RELAYED = INSIDE.map(
  ({ address }) =>
    nft`${familyTextOf(address).ip} saddr ${address} oifname != "${HOST_DEVICE}" masquerade fully-random`,
);

// Source ranges before the translation; ours before kube-proxy's (dstnat -100), since a connection is translated once;
// the guard after both.
const BASE_CHAINS: readonly ChainObject[] = [
  base(nft`source-prerouting`, nft`type filter hook prerouting priority -120`, [...BOUNCED_HERE, ...RESTRICT]),
  base(nft`source-output`, nft`type filter hook output priority -120`, RESTRICT),
  base(nft`nat-prerouting`, nft`type nat hook prerouting priority -110`, [...OWN, ...DISPATCH]),
  base(nft`nat-output`, nft`type nat hook output priority -110`, DISPATCH),
  base(nft`guard-prerouting`, nft`type filter hook prerouting priority -95`, [...RELAY_ARRIVING, ...GUARD, ...UNUSED]),
  // Untracked is what the bounce sends on.
  base(nft`guard-output`, nft`type filter hook output priority -95`, [
    nft`ct state untracked accept`,
    ...RELAY_LEAVING,
    ...GUARD,
  ]),
  base(nft`nat-postrouting`, nft`type nat hook postrouting priority 90`, [
    ...FAMILIES.map(
      ({ ip, digit }) => nft`ct status dnat ct original ${ip} daddr @vips${digit} jump masquerade${digit}`,
    ),
    ...MASQUERADE_RELAYED,
  ]),
];

// Around priority 0, where iptables and nearly every other firewall filter; replies have the same original address.
function markChains(bits: number): ChainObject[] {
  if (bits === 0) return [];
  const marked = (change: NftText) => [
    ...FAMILIES.map(({ ip, digit }) => nft`ct original ${ip} daddr @vips${digit} ${change}`),
    nft`iifname "${HOST_DEVICE}" ${change}`,
    nft`oifname "${HOST_DEVICE}" ${change}`,
  ];
  const raise = nft`meta mark set meta mark | ${bits}`;
  const clear = nft`meta mark set meta mark & ${~bits >>> 0}`;
  return [
    base(nft`forward-raise`, nft`type filter hook forward priority -150`, marked(raise)),
    base(nft`forward-clear`, nft`type filter hook forward priority 10`, marked(clear)),
  ];
}

/** What the table holds whatever the plan is, in an order in which it can be made. */
export function skeleton(options: RuleOptions): readonly TableObject[] {
  return [
    set(CANARY, nft`type mark; elements = { 1 }`),
    set(ANNOUNCING, nft`type ifname`),
    ...FAMILIES.flatMap((family) => [...familySets(family), ...familyChains(family, options)]),
    ...BASE_CHAINS,
    ...markChains(options.forwardMark),
  ];
}

function set(name: NftText, spec: NftText): SetObject {
  return { kind: 'set', name, spec };
}

function chain(name: NftText, ...rules: readonly NftText[]): ChainObject {
  return { kind: 'chain', name, rules };
}

function base(name: NftText, hook: NftText, rules: readonly NftText[]): ChainObject {
  return { kind: 'chain', name, hook, rules };
}
