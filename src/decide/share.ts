import type { RouteKey } from '../world/keys.ts';
import { oldestFirst } from './allocate.ts';
import type { RoutePlan } from './route-plan.ts';
import { type ForwardingEntry, type ForwardingKey, forwardingKey } from './types.ts';

/** A port of a VIP that a route asked for and an older route has. */
export interface PortConflict {
  readonly route: RouteKey;
  readonly port: string;
  readonly winner: RouteKey;
}

export interface SharedVip {
  readonly entries: readonly ForwardingEntry[];
  readonly conflicts: readonly PortConflict[];
}

export function byAge(plans: readonly RoutePlan[]): RoutePlan[] {
  const order = (plan: RoutePlan) => ({ created: plan.route.meta.created, key: plan.route.key });
  return [...plans].sort((a, b) => oldestFirst(order(a), order(b)));
}

/** Divides a VIP's ports among the routes that hold it: the oldest route that asks for a port has it. */
export function shareVip(vip: string, oldestFirstPlans: readonly RoutePlan[]): SharedVip {
  const owners = new Map<ForwardingKey, { readonly entry: ForwardingEntry; readonly route: RouteKey }>();
  const conflicts: PortConflict[] = [];
  for (const plan of oldestFirstPlans) {
    for (const entry of plan.entries) {
      if (entry.vip !== vip) continue;
      const key = forwardingKey(entry);
      const owner = owners.get(key);
      if (owner === undefined) owners.set(key, { entry, route: plan.route.key });
      else conflicts.push({ route: plan.route.key, port: `${entry.port}/${entry.protocol}`, winner: owner.route });
    }
  }
  return { entries: Array.from(owners.values(), ({ entry }) => entry), conflicts };
}
