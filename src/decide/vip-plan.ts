import type { NodeName, Vip } from '../../net/names.ts';
import type { Eligibility, FirstClaim } from '../membership/types.ts';
import type { RouteKey } from '../world/keys.ts';
import { type Pool, selects } from '../world/objects.ts';
import { eligibility, type InterfaceChoice, type NodeFacts } from './eligible.ts';
import type { RoutePlan } from './route-plan.ts';
import { byAge, type PortConflict, shareVip } from './share.ts';
import type { ForwardingEntry } from './types.ts';

/** What this node does about one VIP, for all routes that hold it. */
export interface VipPlan {
  readonly vip: Vip;
  /** Oldest first: the first decides where the routes disagree. */
  readonly routes: readonly RouteKey[];
  readonly pool: Pool;
  readonly entries: readonly ForwardingEntry[];
  readonly conflicts: readonly PortConflict[];
  /** Absent where the pool does not announce on layer 2. */
  readonly l2: L2VipPlan | undefined;
  /** With BGP: why this node does not announce; undefined where it does. */
  readonly withheld: string | undefined;
}

export interface L2VipPlan {
  readonly interface: InterfaceChoice;
  readonly eligibility: Eligibility;
  readonly fencing: 'Prefer' | 'Require';
  readonly firstClaim: FirstClaim;
  readonly preferredNodes: readonly NodeName[];
  readonly routeKey: RouteKey;
}

export interface VipContext {
  readonly witness: boolean;
  readonly node: NodeFacts | undefined;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly interfaceFor: (vip: Vip, globs: readonly string[]) => InterfaceChoice;
  readonly firstClaim: (vip: Vip) => FirstClaim;
}

export function planVip(vip: Vip, holders: readonly RoutePlan[], pool: Pool, context: VipContext): VipPlan | undefined {
  const plans = byAge(holders.filter((plan) => plan.rejected === undefined));
  const [oldest] = plans;
  if (oldest === undefined) return undefined;
  const { entries, conflicts } = shareVip(vip, plans);
  return {
    vip,
    routes: plans.map((plan) => plan.route.key),
    pool,
    entries,
    conflicts,
    l2: pool.l2 && planL2(vip, plans, pool.l2, context),
    withheld: missingEndpoint(oldest),
  };
}

function planL2(vip: Vip, plans: readonly RoutePlan[], l2: NonNullable<Pool['l2']>, context: VipContext): L2VipPlan {
  const oldest = plans[0] as RoutePlan;
  const choice = context.interfaceFor(vip, l2.interfaces);
  const own = eligibility({
    witness: context.witness,
    node: context.node,
    selected: selects(l2.nodeSelector, context.nodeLabels),
    interface: choice,
    lacksEndpointFor: missingEndpoint(oldest) === undefined ? undefined : oldest.route.key,
  });
  return {
    interface: choice,
    eligibility: own.kind === 'eligible' ? lastResortWithout(plans) : own,
    fencing: l2.fencing,
    firstClaim: context.firstClaim(vip),
    preferredNodes: l2.preferredNodes,
    routeKey: oldest.route.key,
  };
}

/** A node that cannot serve every port of every Local route leads only where no node can. */
function lastResortWithout(plans: readonly RoutePlan[]): Eligibility {
  for (const plan of plans) {
    if (plan.route.trafficPolicy !== 'Local') continue;
    const [port] = plan.portsWithoutEndpoint;
    if (port !== undefined)
      return { kind: 'lastResort', reason: `no ready endpoint for ${port} of ${plan.route.key}`.slice(0, 80) };
  }
  return { kind: 'eligible' };
}

/** With traffic policy Local a node that has no endpoint at all must not attract the route's traffic. */
function missingEndpoint(plan: RoutePlan): string | undefined {
  return plan.route.trafficPolicy === 'Local' && plan.endpointCount === 0 ? 'no ready endpoint' : undefined;
}
