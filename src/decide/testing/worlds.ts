import fc from 'fast-check';
import type { Ip } from '../../../net/ip.ts';
import type { Mac } from '../../../net/mac.ts';
import type { InterfaceName, NodeName, Vip } from '../../../net/names.ts';
import type { Prefix } from '../../../net/prefix.ts';
import { Table } from '../../../net/table.ts';
import { checkObject } from '../../api/validate.ts';
import { emptyWorld } from '../../world/empty.ts';
import type { Links } from '../../world/links.ts';
import { reduce, type WorldEvent } from '../../world/reduce.ts';
import type { World } from '../../world/types.ts';

export const SELF = 'n1' as NodeName;
const ETH0 = 'eth0' as InterfaceName;

const PEERS = new Map<NodeName, readonly Ip[]>([
  [SELF, ['203.0.113.11' as Ip, '2001:db8::11' as Ip]],
  ['n2' as NodeName, ['203.0.113.12' as Ip]],
]);

export function freshWorld(memory: World['memory'] = Table.empty()): World {
  return emptyWorld({ self: SELF, witness: false, interfaces: [], peers: PEERS, role: 'alone', memory });
}

export function links({ carrier = true } = {}): Links {
  const addresses = [
    { ip: '203.0.113.11' as Ip, prefix: '203.0.113.0/24' as Prefix, tentative: false },
    { ip: '2001:db8::11' as Ip, prefix: '2001:db8::/64' as Prefix, tentative: false },
  ];
  const link = { index: 2, name: ETH0, mac: '02:00:00:00:00:01' as Mac, up: true, carrier, loopback: false };
  return { byIndex: new Map([[2, { ...link, master: undefined, memberOf: undefined, addresses }]]), gateways: [] };
}

type Raw = Readonly<Record<string, unknown>>;

/** An event that gives the world one object, or takes it. */
export function put(object: Raw): WorldEvent {
  const checked = checkObject(object);
  if (checked.problem !== undefined) throw new Error(JSON.stringify(checked.problem));
  return { type: 'objects', changes: [{ id: idOf(object), object: checked.ok }] };
}

export function take(object: Raw): WorldEvent {
  return { type: 'objects', changes: [{ id: idOf(object), object: undefined }] };
}

function idOf(object: Raw): string {
  const { name, namespace } = object['metadata'] as { name: string; namespace?: string };
  const kind = object['kind'] as string;
  return kind === 'AddressPool' || kind === 'Node' ? `${kind} ${name}` : `${kind} ${namespace ?? 'default'}/${name}`;
}

export function pool(name: string, addresses: readonly string[], spec: Raw = {}): Raw {
  return {
    apiVersion: 'signpost.dev/v1alpha1',
    kind: 'AddressPool',
    metadata: { name },
    spec: { addresses, l2: {}, ...spec },
  };
}

export function route(name: string, port: number, spec: Raw = {}): Raw {
  const rules = [{ name: 'a', protocol: 'TCP', port, backendRefs: [{ name: 'web', port: 80 }] }];
  return {
    apiVersion: 'signpost.dev/v1alpha1',
    kind: 'ServiceRoute',
    metadata: { name, namespace: 'default' },
    spec: { rules, ...spec },
  };
}

export const WEB: Raw = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'default' },
  spec: { ports: [{ name: 'http', port: 80 }] },
};

export function slice(name: string, addresses: readonly string[], nodeName = 'n1'): Raw {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace: 'default', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: addresses.map((address) => ({ addresses: [address], nodeName, conditions: { ready: true } })),
  };
}

export function claim(vip: string, holder: string | undefined, routeKey: string, epoch = 1): WorldEvent {
  const report = {
    kind: 'claim' as const,
    vip: vip as Vip,
    ...(holder === undefined ? {} : { holder: holder as NodeName }),
    epoch,
    fenced: true,
    since: 0 as never,
    routeKey,
  };
  return { type: 'wire', message: { type: 'report', segment: ETH0, report } };
}

export function answering(vip: string, epoch: number, formerHolders: readonly string[] = ['n2']): WorldEvent {
  const message = {
    type: 'answering',
    segment: ETH0,
    vip: vip as Vip,
    epoch,
    fenced: true,
    cause: 'succession',
    previous: formerHolders[0] as NodeName,
    formerHolders: formerHolders as readonly NodeName[],
  } as const;
  return { type: 'wire', message };
}

export function stopped(vip: string): WorldEvent {
  return {
    type: 'wire',
    message: { type: 'stopped', segment: ETH0, vip: vip as Vip, cause: 'released', keepForwarding: false },
  };
}

export function after(world: World, ...events: readonly WorldEvent[]): World {
  return events.reduce(reduce, world);
}

const VIPS = ['203.0.113.100', '203.0.113.101', '203.0.113.102', '203.0.113.103'];
const POOLS = [
  pool('p', ['203.0.113.100-203.0.113.101']),
  pool('p', ['203.0.113.100-203.0.113.103'], { l2: { fencing: 'Require' } }),
  pool('q', ['203.0.113.102/31', '2001:db8::100/120'], { autoAssign: false }),
];
const ROUTES = ['r1', 'r2', 'r3'].flatMap((name, i) => [
  route(name, 80),
  route(name, 80, { addresses: [VIPS[i] as string] }),
  route(name, 81, { addresses: [VIPS[0] as string] }),
  route(name, 82, { trafficPolicy: 'Local', ipFamilyPolicy: 'PreferDualStack' }),
  route(name, 83, { forwarding: 'Direct' }),
]);
const SLICES = [slice('s1', ['10.0.0.1', '10.0.0.2']), slice('s1', ['10.0.0.1']), slice('s2', ['10.0.0.3'], 'n2')];

/** Anything that may happen to a small world, in any order. */
export const anyEvent: fc.Arbitrary<WorldEvent> = fc.oneof(
  fc
    .constantFrom(...POOLS, ...ROUTES, WEB, ...SLICES)
    .chain((object) => fc.boolean().map((gone) => (gone ? take(object) : put(object)))),
  fc.boolean().map((carrier): WorldEvent => ({ type: 'links', links: links({ carrier }) })),
  fc
    .tuple(fc.constantFrom(...VIPS), fc.constantFrom('n1', 'n2', undefined), fc.nat(3))
    .map(([vip, holder, epoch]) => claim(vip, holder, '', epoch)),
  fc.tuple(fc.constantFrom(...VIPS), fc.nat(3)).map(([vip, epoch]) => answering(vip, epoch)),
  fc.constantFrom(...VIPS).map(stopped),
);
