import { isV4 } from '../../net/ip.ts';
import type { InterfaceName, Vip } from '../../net/names.ts';
import type { Prefix } from '../../net/prefix.ts';
import { Table } from '../../net/table.ts';
import type { VipEntry } from '../membership/types.ts';
import type { Segment } from '../wire/protocol.ts';
import { emptyWorld } from '../world/empty.ts';
import type { RouteKey, ServiceKey } from '../world/keys.ts';
import type { Grant, Pool, Route } from '../world/objects.ts';
import type { World } from '../world/types.ts';
import { type Allocation, type AllocationRequest, allocate, emptyAllocation } from './allocate.ts';
import { type Announcer, announcersOf, type Finding, findingsOf } from './announcers.ts';
import { aggregatesOf } from './bgp/aggregates.ts';
import { type BgpPlan, bgpInput, emptyBgpPlan, peeringInterfaces, planBgp } from './bgp.ts';
import { allocationPool, nodeFacts } from './context.ts';
import { type DirectContext, directContext } from './direct/surroundings.ts';
import { interfaceFor } from './interfaces.ts';
import { emptyPins, type Pins, updatePins } from './pins.ts';
import { acceptPools, excludedAddresses, type PoolAcceptance } from './pools.ts';
import { servicesOf } from './resolve.ts';
import { planRoute, type RoutePlan } from './route-plan.ts';
import { addressesOf, planSegments } from './segments.ts';
import { type Bounce, type ForwardingEntry, type ForwardingKey, type ForwardingPlan, forwardingKey } from './types.ts';
import { planVip, type VipContext, type VipPlan } from './vip-plan.ts';

/** What should be, for every actuator; each table's versions share what did not change. */
export interface Plan {
  readonly world: World;
  readonly pools: PoolAcceptance;
  readonly pins: Pins;
  readonly allocation: Allocation;
  readonly routes: Table<RouteKey, RoutePlan>;
  /** Routes by the Services that they name. */
  readonly users: Table<ServiceKey, readonly RouteKey[]>;
  readonly vips: Table<Vip, VipPlan>;
  readonly forwarding: ForwardingPlan;
  /** VIPs that went and are still answered for: their rules stay until the wire has stopped. */
  readonly lingering: Table<Vip, VipPlan>;
  /** By VIP: what the wire is told, with the interface whose segment the VIP belongs to. */
  readonly l2: Table<Vip, L2Entry>;
  readonly segments: Table<InterfaceName, Segment>;
  readonly bgp: BgpPlan;
  /** Who says that it announces each VIP; filled in by the coordinator, which tells of all nodes. */
  readonly announcers: Table<Vip, readonly Announcer[]>;
  /** What speakers found out about VIPs of others, likewise. */
  readonly findings: Table<Vip, readonly Finding[]>;
  readonly direct: DirectContext;
}

export interface L2Entry {
  readonly interface: InterfaceName;
  readonly entry: VipEntry;
}

/** The plan of a daemon that has seen nothing. */
function nothing(world: World): Plan {
  return {
    world: emptyWorld(world),
    pools: acceptPools(Table.empty(), []),
    pins: emptyPins(),
    allocation: emptyAllocation(),
    routes: Table.empty(),
    users: Table.empty(),
    vips: Table.empty(),
    forwarding: { vips: Table.empty(), entries: Table.empty(), announcingInterfaces: [], aggregates: [] },
    lingering: Table.empty(),
    l2: Table.empty(),
    segments: Table.empty(),
    bgp: emptyBgpPlan(world.links),
    announcers: Table.empty(),
    findings: Table.empty(),
    direct: directContext(emptyWorld(world), Table.empty(), undefined),
  };
}

/**
 * What the world asks of this node. With the plan before it, work is in proportion to what changed; the answer is
 * the same, but that addresses once assigned are kept.
 */
export function plan(world: World, previous: Plan = nothing(world)): Plan {
  if (world === previous.world) return previous;
  const pools = poolsOf(world, previous);
  const claims = world.role === 'alone' ? world.wire.claims : Table.empty<Vip, never>();
  const pins = updatePins(previous.pins, claims, world.memory, world.role === 'follower');
  const allocation = allocate(previous.allocation, allocationInput(world, previous, pools, pins));
  const segments = segmentsOf(world, previous, pools);
  const direct = directContextOf(world, previous, segments);
  const { routes, users, changed } = planRoutes(world, previous, allocation, direct);
  const vips = planVips(world, previous, pools, allocation, routes, changed);
  const bgp = planBgp(bgpInput(world, vips), previous.bgp);
  const { forwarding, lingering } = planForwarding(world, previous, vips, direct, bgp);
  const l2 = planL2(world, previous, vips);
  const told = toldBySpeakers(world, previous);
  const made = {
    pools,
    pins,
    allocation,
    routes,
    users,
    vips,
    forwarding,
    lingering,
    l2,
    segments,
    bgp,
    direct,
    ...told,
  };
  return { world, ...made };
}

function poolsOf(world: World, previous: Plan): PoolAcceptance {
  const { pools, nodes } = world.objects;
  const old = previous.world.objects;
  return pools === old.pools && nodes === old.nodes ? previous.pools : acceptPools(pools, nodes.values());
}

function allocationInput(world: World, previous: Plan, pools: PoolAcceptance, pins: Pins): Allocation['input'] {
  const before = previous.allocation.input;
  const { objects } = world;
  const old = previous.world;
  const poolsSame = pools === previous.pools && objects.namespaces === old.objects.namespaces;
  const edits: (readonly [RouteKey, AllocationRequest | undefined])[] = [];
  for (const { key, after } of objects.routes.changes(old.objects.routes)) edits.push([key, after && requestOf(after)]);
  return {
    assigns: world.role !== 'follower',
    requests: before.requests.with(edits),
    pools: poolsSame ? before.pools : pools.accepted.map((pool) => allocationPool(pool, objects.namespaces)),
    pins: pins.pins,
    excluded: excludedAddresses(world, pools.accepted, before.excluded),
    quarantined: quarantine(world, previous),
  };
}

function requestOf(route: Route): AllocationRequest {
  return {
    key: route.key,
    namespace: route.meta.namespace,
    created: route.meta.created,
    pool: route.addressPool,
    addresses: route.addresses,
    ipFamilyPolicy: route.ipFamilyPolicy,
  };
}

function quarantine(world: World, previous: Plan): ReadonlyMap<Vip, string> {
  const { conflicts } = world.wire;
  if (conflicts === previous.world.wire.conflicts) return previous.allocation.input.quarantined;
  const untaken = [...conflicts].filter(([, { defended }]) => !defended);
  return new Map(untaken.map(([vip, { mac }]) => [vip, `is answered by ${mac}, which is no member; find that host`]));
}

function planRoutes(world: World, previous: Plan, allocation: Allocation, direct: DirectContext) {
  const { objects } = world;
  const old = previous.world.objects;
  const dirty = new Set<RouteKey>();
  if (objects.grants !== old.grants) for (const key of objects.routes.keys()) dirty.add(key);
  for (const { key } of objects.routes.changes(old.routes)) dirty.add(key);
  for (const { key } of allocation.routes.changes(previous.allocation.routes)) dirty.add(key);
  if (direct !== previous.direct) {
    for (const [key, { forwarding }] of objects.routes) {
      if (forwarding === 'Direct' || forwarding === 'Auto') dirty.add(key);
    }
  }
  const usersOf = (service: ServiceKey) => previous.users.get(service) ?? [];
  for (const { key } of objects.services.changes(old.services)) for (const user of usersOf(key)) dirty.add(user);
  for (const { key } of objects.slices.changes(old.slices)) for (const user of usersOf(key)) dirty.add(user);

  const grants: readonly Grant[] = [...objects.grants.values()];
  const lookup = { services: objects.services, grants };
  const slicesOf = (service: ServiceKey) => objects.slices.get(service) ?? [];
  const edits = Array.from(dirty, (key) => {
    const route = objects.routes.get(key);
    const addresses = allocation.routes.get(key);
    const planned = route && addresses && planRoute(route, addresses, lookup, slicesOf, world.self, direct);
    return [key, planned] as const;
  });
  return { routes: previous.routes.with(edits), users: updateUsers(world, previous), changed: dirty };
}

function updateUsers(world: World, previous: Plan): Plan['users'] {
  const edits = new Map<ServiceKey, readonly RouteKey[]>();
  const usersOf = (service: ServiceKey) => edits.get(service) ?? previous.users.get(service) ?? [];
  for (const { key, before, after } of world.objects.routes.changes(previous.world.objects.routes)) {
    for (const service of before ? servicesOf(before) : [])
      edits.set(
        service,
        usersOf(service).filter((user) => user !== key),
      );
    for (const service of after ? servicesOf(after) : []) edits.set(service, [...usersOf(service), key]);
  }
  return previous.users.with(
    Array.from(edits, ([service, keys]) => [service, keys.length > 0 ? keys : undefined] as const),
  );
}

function planVips(
  world: World,
  previous: Plan,
  pools: PoolAcceptance,
  allocation: Allocation,
  routes: Plan['routes'],
  changedRoutes: ReadonlySet<RouteKey>,
): Plan['vips'] {
  const dirty = new Set<Vip>();
  const surroundings =
    pools !== previous.pools ||
    world.links !== previous.world.links ||
    world.objects.nodes !== previous.world.objects.nodes;
  if (surroundings) for (const vip of [...allocation.holders.keys(), ...previous.vips.keys()]) dirty.add(vip);
  for (const { key } of allocation.holders.changes(previous.allocation.holders)) dirty.add(key);
  for (const key of changedRoutes) {
    for (const { vip } of allocation.routes.get(key)?.assigned ?? []) dirty.add(vip);
  }
  const context = vipContext(world);
  const poolOf = (vip: Vip, holders: readonly RouteKey[]): Pool | undefined => {
    const name = holders
      .map((key) => allocation.routes.get(key)?.assigned.find((a) => a.vip === vip)?.pool)
      .find(Boolean);
    return name === undefined ? undefined : world.objects.pools.get(name);
  };
  const edits = Array.from(dirty, (vip) => {
    const holders = allocation.holders.get(vip) ?? [];
    const plans = holders.map((key) => routes.get(key)).filter((route) => route !== undefined);
    const pool = poolOf(vip, holders);
    return [vip, pool && planVip(vip, plans, pool, context)] as const;
  });
  return previous.vips.with(edits);
}

function vipContext(world: World): VipContext {
  const node = world.objects.nodes.get(world.self);
  return {
    witness: world.witness,
    node: node && nodeFacts(node),
    nodeLabels: node?.meta.labels ?? {},
    interfaceFor: (vip, globs) => interfaceFor(world.links, vip, globs, world.interfaces),
    firstClaim: () => ({ kind: 'peers' }),
  };
}

function planForwarding(
  world: World,
  previous: Plan,
  vips: Plan['vips'],
  { surroundings }: DirectContext,
  bgp: BgpPlan,
) {
  const { answered } = world.wire;
  const dirty = new Map<Vip, { readonly before: VipPlan | undefined; readonly after: VipPlan | undefined }>();
  const inForce = (vip: Vip) => previous.vips.get(vip) ?? previous.lingering.get(vip);
  for (const { key, after } of vips.changes(previous.vips)) {
    const before = inForce(key);
    dirty.set(key, { before, after: after ?? (answered.has(key) ? before : undefined) });
  }
  for (const { key } of answered.changes(previous.world.wire.answered)) {
    if (previous.lingering.has(key) && !answered.has(key) && !vips.has(key))
      dirty.set(key, { before: inForce(key), after: undefined });
  }
  const entries = new Map<ForwardingKey, ForwardingEntry | undefined>();
  for (const { before, after } of dirty.values()) {
    for (const entry of before?.entries ?? []) entries.set(forwardingKey(entry), undefined);
    for (const entry of after?.entries ?? []) entries.set(forwardingKey(entry), entry);
  }
  const before = previous.forwarding;
  const edited = before.entries.with(entries);
  const moved =
    surroundings !== before.direct ||
    bgp.sessions !== previous.bgp.sessions ||
    (bgp.sessions.size > 0 && world.links !== previous.world.links) ||
    interfacesMoved(vips, previous.vips) ||
    [...dirty.values()].some(isDirect);
  const interfaces = moved
    ? announcingInterfaces(before.announcingInterfaces, vips, [
        ...(hasDirect(edited) ? surroundings.interfaces.map(({ name }) => name) : []),
        ...peeringInterfaces(bgp),
      ])
    : before.announcingInterfaces;
  const forwarding: ForwardingPlan = {
    vips: before.vips.with(Array.from(dirty, ([vip, { after }]) => [vip, after && true] as const)),
    entries: edited,
    announcingInterfaces: interfaces,
    bounces: planBounces(world, previous),
    aggregates: planAggregates(vips, bgp, previous),
    direct: surroundings,
  };
  const lingering = previous.lingering.with(
    Array.from(dirty, ([vip, { after }]) => [vip, vips.has(vip) ? undefined : after] as const),
  );
  return { forwarding: sameForwarding(before, forwarding) ? before : forwarding, lingering };
}

function hasDirect(entries: ForwardingPlan['entries']): boolean {
  for (const { direct } of entries.values()) if (direct !== undefined) return true;
  return false;
}

/** The actuator compares plans by identity. */
function sameForwarding(a: ForwardingPlan, b: ForwardingPlan): boolean {
  return (
    a.vips === b.vips &&
    a.entries === b.entries &&
    a.announcingInterfaces === b.announcingInterfaces &&
    a.aggregates === b.aggregates &&
    a.bounces === b.bounces &&
    a.direct === b.direct
  );
}

/** The same list where nothing changed. */
function planAggregates(vips: Plan['vips'], bgp: BgpPlan, previous: Plan): readonly Prefix[] {
  const before = previous.forwarding.aggregates ?? [];
  if (vips === previous.vips && bgp.advertisers === previous.bgp.advertisers) return before;
  const aggregates = aggregatesOf(vips, bgp.advertisers);
  return aggregates.length === before.length && aggregates.every((prefix, i) => prefix === before[i])
    ? before
    : aggregates;
}

/** For the drain time after a VIP moved here, segments of connections that are unknown here go to its former holders. */
function planBounces(world: World, previous: Plan): Table<Vip, readonly Bounce[]> {
  const before = previous.forwarding.bounces ?? Table.empty<Vip, readonly Bounce[]>();
  const edits = Array.from(world.wire.arrivals.changes(previous.world.wire.arrivals), ({ key: vip, after }) => {
    const bounces = after?.formerHolders.flatMap((node) => {
      const to = addressesOf(world, node).find((ip) => isV4(ip) === isV4(vip));
      return to === undefined ? [] : [{ to, device: after.segment }];
    });
    return [vip, bounces?.length === 0 ? undefined : bounces] as const;
  });
  return before.with(edits);
}

function isDirect({ before, after }: { readonly before: VipPlan | undefined; readonly after: VipPlan | undefined }) {
  return [before, after].some((vip) => vip?.entries.some(({ direct }) => direct !== undefined));
}

function interfacesMoved(vips: Plan['vips'], old: Plan['vips']): boolean {
  for (const { before, after } of vips.changes(old)) {
    if (before?.l2?.interface.name !== after?.l2?.interface.name) return true;
  }
  return false;
}

/** Interfaces by which packets for some VIP enter or may enter, the same list where nothing changed. */
function announcingInterfaces(
  before: ForwardingPlan['announcingInterfaces'],
  vips: Plan['vips'],
  others: readonly InterfaceName[],
): ForwardingPlan['announcingInterfaces'] {
  const names = new Set<InterfaceName>(others);
  for (const { l2 } of vips.values()) if (l2?.interface.name !== undefined) names.add(l2.interface.name);
  const sorted = [...names].sort();
  return sorted.length === before.length && sorted.every((name, i) => name === before[i]) ? before : sorted;
}

function toldBySpeakers(world: World, previous: Plan): Pick<Plan, 'announcers' | 'findings'> {
  if (world.role !== 'coordinator') return { announcers: Table.empty(), findings: Table.empty() };
  const began = previous.world.role !== 'coordinator';
  const before = began ? Table.empty<string, never>() : previous.world.objects.speakers;
  const { speakers } = world.objects;
  return {
    announcers: announcersOf(speakers, before, previous.announcers),
    findings: findingsOf(speakers, before, previous.findings),
  };
}

/** Reports of the wire come often and seldom change it. */
function directContextOf(world: World, previous: Plan, segments: Plan['segments']): DirectContext {
  const { world: old } = previous;
  const same =
    segments === previous.segments &&
    world.neighbours === old.neighbours &&
    world.wire.segments === old.wire.segments &&
    world.forwarding.direct === old.forwarding.direct &&
    world.objects.nodes === old.objects.nodes;
  return same ? previous.direct : directContext(world, segments, previous.direct);
}

function segmentsOf(world: World, previous: Plan, pools: PoolAcceptance): Plan['segments'] {
  const old = previous.world;
  const same = pools === previous.pools && world.links === old.links && world.objects.nodes === old.objects.nodes;
  return same && !speakersCameOrWent(world, old)
    ? previous.segments
    : planSegments(world, pools.accepted, previous.segments);
}

function speakersCameOrWent(world: World, old: World): boolean {
  for (const { before, after } of world.objects.speakers.changes(old.objects.speakers)) {
    if (before === undefined || after === undefined) return true;
  }
  return false;
}

function planL2(world: World, previous: Plan, vips: Plan['vips']): Plan['l2'] {
  const installed = world.forwarding.applied?.vips ?? Table.empty<Vip, true>();
  const installedBefore = previous.world.forwarding.applied?.vips ?? Table.empty<Vip, true>();
  const dirty = new Set<Vip>();
  for (const { key } of vips.changes(previous.vips)) dirty.add(key);
  for (const { key } of installed.changes(installedBefore)) dirty.add(key);
  return previous.l2.with(
    Array.from(dirty, (vip) => {
      const l2 = vips.get(vip)?.l2;
      return [vip, l2 && l2Entry(vip, l2, installed.has(vip))] as const;
    }),
  );
}

function l2Entry(vip: Vip, l2: NonNullable<VipPlan['l2']>, ready: boolean): L2Entry | undefined {
  const { interface: choice, eligibility, fencing, firstClaim, preferredNodes, routeKey } = l2;
  // A VIP of no segment here is none of this node's wire's business.
  return (
    choice.name && {
      interface: choice.name,
      entry: { vip, fencing, firstClaim, eligibility, ready, preferredNodes, routeKey },
    }
  );
}
