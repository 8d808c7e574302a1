import type { MonotonicNs } from '../../net/clock.ts';
import type { Vip } from '../../net/names.ts';
import { rendezvousOrder } from '../../net/rendezvous.ts';
import { darkReasons, peersWith } from '../decide/announcements.ts';
import { nodeShares } from '../decide/direct/shares.ts';
import { nodeConditions } from '../decide/node-status.ts';
import type { Plan } from '../decide/plan.ts';
import { poolStatus, usedAddresses } from '../decide/pool-status.ts';
import type { RoutePlan, VipForwarding } from '../decide/route-plan.ts';
import { routeStatus } from '../decide/route-status.ts';
import type { VipPlan } from '../decide/vip-plan.ts';
import type { SegmentState, World } from '../world/types.ts';
import type {
  MemberView,
  PoolView,
  RouteForwardingView,
  RouteView,
  StatusDocument,
  VipView,
} from './status-document.ts';

export interface StatusContext {
  readonly version: string;
  readonly source: { readonly kind: 'manifests' | 'kubernetes'; readonly detail: string };
  /** RFC 3339 of a monotonic time. */
  readonly timeOf: (at: MonotonicNs) => string;
}

/** The whole of what this node knows, for people. */
export function statusDocument(plan: Plan, context: StatusContext): StatusDocument {
  const { world } = plan;
  const { source } = world;
  const used = usedAddresses(plan.allocation);
  const routes = [...plan.routes.values()].map((route) => routeView(route, plan)).sort(byNames);
  return {
    node: world.self,
    version: context.version,
    source: {
      ...context.source,
      synced: source.synced,
      ...(source.staleSince === undefined ? {} : { staleSince: new Date(source.staleSince).toISOString() }),
      problems: [...source.problems, ...invalidObjects(plan)],
    },
    routes,
    vips: [...plan.vips.values()].map((vip) => vipView(vip, plan, context)).sort((a, b) => (a.vip < b.vip ? -1 : 1)),
    pools: [...world.objects.pools.values()]
      .map(({ meta }) => poolView(meta.name, plan, used))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    members: [...world.wire.segments].flatMap(([segment, state]) => memberViews(segment, state, world)),
    leases: [...world.wire.segments].flatMap(([segment, { lease }]) =>
      lease === undefined ? [] : [{ segment, held: lease.held, voters: lease.voters }],
    ),
    sessions: Array.from(world.bgp.values(), ({ peer, state, reason, bfd }) => ({
      peer,
      state,
      ...(reason === undefined ? {} : { reason }),
      ...(bfd === undefined ? {} : { bfd }),
    })).sort((a, b) => (a.peer < b.peer ? -1 : 1)),
    forwarding: {
      vips: plan.forwarding.vips.size,
      entries: plan.forwarding.entries.size,
      applied: world.forwarding.applied !== undefined && world.forwarding.problem === undefined,
      ...(world.forwarding.problem === undefined ? {} : { problem: world.forwarding.problem }),
    },
    conditions: nodeConditions(world),
  };
}

/** This node first: nobody reports it to itself. */
function memberViews(segment: string, { members }: SegmentState, world: World): MemberView[] {
  const self = { node: world.self, segment, alive: true, draining: world.draining, witness: world.witness };
  const others = Array.from(members.values(), ({ node, alive, draining, witness }) => ({
    node,
    segment,
    alive,
    draining,
    witness,
  }));
  return [self, ...others.filter(({ node }) => node !== world.self)];
}

function invalidObjects(plan: Plan): string[] {
  return Array.from(plan.world.objects.invalid, ([id, { message }]) => `${id}: ${message}`);
}

function byNames(a: RouteView, b: RouteView): number {
  return a.namespace < b.namespace ? -1 : a.namespace > b.namespace ? 1 : a.name < b.name ? -1 : 1;
}

function routeView(route: RoutePlan, plan: Plan): RouteView {
  const { meta, trafficPolicy } = route.route;
  const { conditions, announcements } = routeStatus(route, plan);
  return {
    namespace: meta.namespace,
    name: meta.name,
    addresses: route.addresses.assigned.map(({ vip }) => vip),
    ports: route.ports.map(({ port, protocol }) => `${port}/${protocol}`),
    backends: route.backends,
    announcedBy: [...new Set(announcements.map(({ node }) => node))],
    mode: [...new Set(announcements.map(({ mode }) => mode))].join(',') || '-',
    endpoints: String(route.endpointCount),
    policy: trafficPolicy,
    pool: [...new Set(route.addresses.assigned.map(({ pool }) => pool))].join(','),
    forwarding: route.forwarding.map((forwarding) => forwardingView(forwarding, route)),
    conditions,
  };
}

function forwardingView({ vip, mode, why }: VipForwarding, { entries }: RoutePlan): RouteForwardingView {
  const shares = entries.flatMap(({ vip: of, port, protocol, direct }) =>
    of === vip && direct ? [[`${port}/${protocol}`, nodeShares(direct.shares)] as const] : [],
  );
  return { address: vip, mode, ...(why === undefined ? {} : { why }), shares: Object.fromEntries(shares) };
}

function vipView(vip: VipPlan, plan: Plan, context: StatusContext): VipView {
  const { world } = plan;
  const claim = world.wire.claims.get(vip.vip);
  const holder = claim?.holder;
  const name = vip.l2?.interface.name;
  const peers = peersWith(vip.vip, plan);
  const announced = vip.l2 === undefined ? peers.length > 0 : holder !== undefined;
  return {
    vip: vip.vip,
    routes: vip.routes,
    mode: vip.l2 !== undefined ? 'L2' : vip.pool.bgp.length > 0 ? 'BGP' : 'None',
    ...(name === undefined ? {} : { interface: name }),
    ...(holder === undefined ? {} : { holder }),
    epoch: claim?.epoch ?? 0,
    fenced: claim?.fenced ?? false,
    ...(claim === undefined || holder === undefined ? {} : { since: context.timeOf(claim.since) }),
    ...proofOf(vip.vip, plan),
    ...(peers.length > 0 ? { peers } : {}),
    why: announced ? whyHere(vip, plan) : darkReasons(vip, plan),
    reasons: (world.wire.dark.get(vip.vip) ?? []).map(({ node, reason }) =>
      node === undefined ? reason : `${node}: ${reason}`,
    ),
  };
}

function proofOf(vip: Vip, { world }: Plan): Pick<VipView, 'proof'> {
  const proof = world.wire.proofs.get(vip);
  if (proof === undefined || proof.holder !== world.wire.claims.get(vip)?.holder) return {};
  const { reachable, answeredBy } = proof;
  return { proof: { reachable, ...(answeredBy === undefined ? {} : { answeredBy }) } };
}

/** This node's place in the VIP's order of succession, or why it has none. */
function whyHere({ vip, l2 }: VipPlan, { world, segments }: Plan): string {
  if (l2 === undefined) return '';
  if (l2.eligibility.kind !== 'eligible') return `${world.self}: ${l2.eligibility.reason}`;
  const members = (l2.interface.name === undefined ? undefined : segments.get(l2.interface.name))?.members ?? [];
  const order = rendezvousOrder(
    vip,
    members.map(({ node }) => node),
  );
  const rank = order.indexOf(world.self);
  return rank < 0 ? '' : `${world.self} is rank ${rank + 1} of ${order.length}`;
}

function poolView(name: string, plan: Plan, used: ReadonlyMap<string, number>): PoolView {
  const { total, used: held, conditions } = poolStatus(name, plan, used);
  const autoAssign = plan.world.objects.pools.get(name)?.autoAssign ?? false;
  return { name, total: String(total), used: held, autoAssign, conditions };
}
