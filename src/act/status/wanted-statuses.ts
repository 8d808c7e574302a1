import { isDeepStrictEqual } from 'node:util';
import type { NodeName, Vip } from '../../../net/names.ts';
import { Table } from '../../../net/table.ts';
import { condition } from '../../api/conditions.ts';
import { type Announcement, peersWith } from '../../decide/announcements.ts';
import type { BgpRouteKey } from '../../decide/bgp/types.ts';
import { nodeConditions } from '../../decide/node-status.ts';
import { peerStatus } from '../../decide/peer-status.ts';
import type { Plan } from '../../decide/plan.ts';
import { poolStatus, usedAddresses } from '../../decide/pool-status.ts';
import type { RoutePlan } from '../../decide/route-plan.ts';
import { routeStatus } from '../../decide/route-status.ts';
import type { RouteKey } from '../../world/keys.ts';
import type { OwnerReference, WantedStatus } from './wanted.ts';

type Statuses = Table<string, WantedStatus>;

export interface StatusContext {
  readonly version: string;
  /** The Node of this speaker: its Speaker goes with it. */
  readonly owner: OwnerReference | undefined;
}

/** A plan and the statuses that were made of it. */
export interface Told {
  readonly plan: Plan;
  readonly wanted: Statuses;
}

const MAX_ANNOUNCEMENTS = 16;
/** Of one announcement, as in the CRD. */
const MAX_PEERS = 16;
const MAX_SPEAKER_VIPS = 1024;
const MAX_SESSIONS = 64;

/**
 * The status of every object that this node is to write: its own Speaker, and as the coordinator all others. After
 * `previous`, work is in proportion to what changed.
 */
export function wantedStatuses(plan: Plan, context: StatusContext, previous: Told | undefined): Statuses {
  const speaker = wantedSpeaker(plan, context);
  const id = `Speaker ${plan.world.self}`;
  const known = previous?.wanted.get(id);
  const own = [id, known !== undefined && isDeepStrictEqual(known, speaker) ? known : speaker] as const;
  if (plan.world.role !== 'coordinator') return Table.from([own]);
  const before = previous?.plan.world.role === 'coordinator' ? previous : undefined;
  const routes = before === undefined ? everyRoute(plan) : changedRoutes(plan, before.plan);
  const edits: (readonly [string, WantedStatus | undefined])[] = [own];
  for (const key of routes) edits.push([`ServiceRoute ${key}`, wantedRoute(key, plan)]);
  if (before === undefined || poolsDiffer(plan, before.plan)) edits.push(...wantedPools(plan, before?.plan));
  if (before === undefined || peersDiffer(plan, before.plan)) edits.push(...wantedPeers(plan, before?.plan));
  return (before?.wanted ?? Table.empty<string, WantedStatus>()).with(edits);
}

function* everyRoute(plan: Plan): Iterable<RouteKey> {
  yield* plan.routes.keys();
  yield* invalidRoutes(plan);
}

function invalidRoutes({ world }: Plan): RouteKey[] {
  return [...world.objects.invalid.keys()].map(routeOf).filter((key) => key !== undefined);
}

/** `ServiceRoute namespace/name`. */
function routeOf(id: string): RouteKey | undefined {
  return id.startsWith('ServiceRoute ') ? (id.slice('ServiceRoute '.length) as RouteKey) : undefined;
}

function changedRoutes(plan: Plan, before: Plan): Set<RouteKey> {
  const { world } = plan;
  const { world: old } = before;
  if (world.forwarding.problem !== old.forwarding.problem || world.bgp !== old.bgp) return new Set(everyRoute(plan));
  const changed = new Set<RouteKey>();
  const vips = new Set<Vip>();
  const collect = (changes: Iterable<{ readonly key: Vip }>) => {
    for (const { key } of changes) vips.add(key);
  };
  for (const { key } of plan.routes.changes(before.routes)) changed.add(key);
  for (const { key, after, before: was } of plan.vips.changes(before.vips)) {
    vips.add(key);
    for (const route of [...(after?.routes ?? []), ...(was?.routes ?? [])]) changed.add(route);
  }
  collect(world.wire.claims.changes(old.wire.claims));
  collect(world.wire.dark.changes(old.wire.dark));
  collect(world.wire.conflicts.changes(old.wire.conflicts));
  collect(world.wire.proofs.changes(old.wire.proofs));
  collect(plan.findings.changes(before.findings));
  collect(plan.announcers.changes(before.announcers));
  collect(plan.bgp.asked.changes(before.bgp.asked));
  for (const vip of vipsOfRoutes(plan, world.bgpSent.changes(old.bgpSent))) vips.add(vip);
  const nothing = Table.empty<Vip, true>();
  collect((world.forwarding.applied?.vips ?? nothing).changes(old.forwarding.applied?.vips ?? nothing));
  for (const { key } of world.objects.invalid.changes(old.objects.invalid)) {
    const route = routeOf(key);
    if (route !== undefined) changed.add(route);
  }
  for (const vip of vips) for (const route of plan.allocation.holders.get(vip) ?? []) changed.add(route);
  return changed;
}

/** Nearly all routes are host routes; for an aggregate every VIP by BGP is looked at. */
function vipsOfRoutes({ bgp }: Plan, changes: Iterable<{ readonly key: BgpRouteKey }>): Iterable<Vip> {
  const vips: Vip[] = [];
  for (const { key } of changes) {
    const [address = '', length = ''] = key.slice(key.indexOf('|') + 1).split('/');
    if (length !== (address.includes(':') ? '128' : '32')) return bgp.asked.keys();
    vips.push(address as Vip);
  }
  return vips;
}

function wantedRoute(key: RouteKey, plan: Plan): WantedStatus | undefined {
  const [namespace = '', name = ''] = key.split('/');
  const invalid = plan.world.objects.invalid.get(`ServiceRoute ${key}`);
  const route = plan.routes.get(key);
  const object = { kind: 'ServiceRoute', namespace, name } as const;
  if (route !== undefined) {
    const generation = invalid?.generation ?? route.route.meta.generation;
    return { ...object, generation, status: routeFields(route, plan) };
  }
  if (invalid === undefined) return undefined;
  const conditions = [
    condition('Accepted', 'False', 'Invalid', invalid.message),
    condition('Programmed', 'False', 'NotAccepted', 'the route is not accepted'),
  ];
  return { ...object, generation: invalid.generation, status: { conditions } };
}

function routeFields(route: RoutePlan, plan: Plan): Extract<WantedStatus, { kind: 'ServiceRoute' }>['status'] {
  const { announcements, conditions } = routeStatus(route, plan);
  const { assigned } = route.addresses;
  const distinct = (texts: readonly string[]) => [...new Set(texts)].join(',');
  return {
    addresses: assigned.map(({ vip }) => ({ type: 'IPAddress', value: vip })),
    conditions,
    announcements: announcements.slice(0, MAX_ANNOUNCEMENTS).map(shown),
    ...(announcements.length > MAX_ANNOUNCEMENTS ? { announcementCount: announcements.length } : {}),
    summary: {
      addresses: distinct(assigned.map(({ vip }) => vip)),
      ports: distinct(route.ports.map(({ port, protocol }) => `${port}/${protocol}`)),
      backends: distinct(route.backends),
      announcedBy: someOf([...new Set(announcements.map(({ node }) => node))]),
      mode: distinct(announcements.map(({ mode }) => mode)),
      endpoints: String(route.endpointCount),
      pool: distinct(assigned.map(({ pool }) => pool)),
    },
  };
}

function shown({ address, mode, node, interface: name, peers }: Announcement) {
  const some = peers?.slice(0, MAX_PEERS);
  return { address, mode, node, ...(name === undefined ? {} : { interface: name }), ...(some && { peers: some }) };
}

/** For a column: not longer than a line bears. */
function someOf(nodes: readonly NodeName[]): string {
  const some = nodes.slice(0, 3);
  return nodes.length > some.length ? `${some.join(',')} +${nodes.length - some.length}` : some.join(',');
}

function poolsDiffer(plan: Plan, before: Plan): boolean {
  const { world } = plan;
  return (
    plan.pools !== before.pools ||
    plan.allocation.routes !== before.allocation.routes ||
    world.objects.invalid !== before.world.objects.invalid
  );
}

function wantedPools(plan: Plan, before: Plan | undefined): (readonly [string, WantedStatus | undefined])[] {
  const used = usedAddresses(plan.allocation);
  const { pools, invalid } = plan.world.objects;
  const gone = [...(before?.world.objects.pools.keys() ?? [])].filter((name) => !pools.has(name));
  return [
    ...gone.map((name) => [`AddressPool ${name}`, undefined] as const),
    ...Array.from(pools.values(), ({ meta }): readonly [string, WantedStatus] => {
      const id = `AddressPool ${meta.name}`;
      const { total, used: held, conditions } = poolStatus(meta.name, plan, used);
      const count = Number(total > BigInt(Number.MAX_SAFE_INTEGER) ? BigInt(Number.MAX_SAFE_INTEGER) : total);
      const generation = invalid.get(id)?.generation ?? meta.generation;
      return [
        id,
        { kind: 'AddressPool', name: meta.name, generation, status: { total: count, used: held, conditions } },
      ];
    }),
  ];
}

function peersDiffer({ world }: Plan, { world: old }: Plan): boolean {
  const { peers, speakers, invalid } = world.objects;
  return peers !== old.objects.peers || speakers !== old.objects.speakers || invalid !== old.objects.invalid;
}

function wantedPeers(plan: Plan, before: Plan | undefined): (readonly [string, WantedStatus | undefined])[] {
  const { peers, speakers, invalid } = plan.world.objects;
  const sessions = [...speakers.values()].flatMap(({ status }) => status?.sessions ?? []);
  const gone = [...(before?.world.objects.peers.keys() ?? [])].filter((name) => !peers.has(name));
  return [
    ...gone.map((name) => [`BGPPeer ${name}`, undefined] as const),
    ...Array.from(peers, ([name, peer]): readonly [string, WantedStatus] => {
      const id = `BGPPeer ${name}`;
      const states = sessions.filter((session) => session.peer === name).map(({ state }) => state);
      const wrong = invalid.get(id);
      const generation = wrong?.generation ?? peer.metadata.generation ?? 0;
      const status = peerStatus(peer, states, wrong?.message);
      return [id, { kind: 'BGPPeer', name, generation, status }];
    }),
  ];
}

function wantedSpeaker(plan: Plan, { version, owner }: StatusContext): WantedStatus {
  const { world, segments } = plan;
  const { wire, forwarding, self, objects } = world;
  const leases = [...wire.segments.values()].flatMap(({ lease }) => (lease === undefined ? [] : [lease]));
  const vips = announcedVips(plan);
  const sessions = wantedSessions(world);
  const ready = forwarding.applied !== undefined && forwarding.problem === undefined;
  const [lease] = leases;
  const established = sessions.filter(({ state }) => state === 'Established').length;
  return {
    kind: 'Speaker',
    name: self,
    generation: objects.speakers.get(self)?.metadata.generation ?? 1,
    create: { owner },
    status: {
      version,
      interfaces: [...segments.keys()].sort(),
      ...(lease === undefined
        ? {}
        : { lease: { held: leases.every(({ held }) => held), voters: [...lease.voters].sort() } }),
      ...(sessions.length > 0 ? { sessions: sessions.slice(0, MAX_SESSIONS) } : {}),
      vips: vips.slice(0, MAX_SPEAKER_VIPS),
      proofs: wantedProofs(world).slice(0, MAX_SPEAKER_VIPS),
      forwarding: { mode: 'Endpoints' },
      summary: {
        l2Vips: String(wire.answered.size),
        ...(sessions.length > 0 ? { sessions: `${established}/${sessions.length}` } : {}),
        ready: ready ? 'True' : 'False',
      },
      conditions: nodeConditions(world),
    },
  };
}

function announcedVips(plan: Plan) {
  const { answered } = plan.world.wire;
  const l2 = Array.from(answered, ([address, { segment }]) => ({ address, mode: 'L2' as const, interface: segment }));
  const bgp = [...plan.bgp.asked.keys()]
    .filter((address) => peersWith(address, plan).length > 0)
    .map((address) => ({ address, mode: 'BGP' as const }));
  return [...l2, ...bgp].sort((a, b) => (a.address < b.address ? -1 : a.address > b.address ? 1 : 0));
}

/** What is still so: who holds a VIP may have changed since it was asked for. */
function wantedProofs({ wire }: Plan['world']) {
  return [...wire.proofs]
    .filter(([vip, { holder }]) => wire.claims.get(vip)?.holder === holder)
    .map(([address, { holder, reachable, answeredBy }]) => ({
      address,
      node: holder,
      reachable,
      ...(answeredBy === undefined ? {} : { answeredBy }),
    }))
    .sort((a, b) => (a.address < b.address ? -1 : 1));
}

function wantedSessions({ bgp }: Plan['world']) {
  return [...bgp.values()]
    .map(({ peer, state, reason, bfd }) => ({
      peer,
      state,
      ...(reason === undefined ? {} : { lastError: reason }),
      ...(bfd === undefined ? {} : { bfd }),
    }))
    .sort((a, b) => (a.peer < b.peer ? -1 : 1));
}
