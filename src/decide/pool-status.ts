import { formatRange, rangeSize } from '../../net/prefix.ts';
import { type Condition, condition } from '../api/conditions.ts';
import type { Allocation } from './allocate.ts';
import type { Plan } from './plan.ts';

export interface PoolStatus {
  readonly total: bigint;
  /** Addresses that routes hold. */
  readonly used: number;
  readonly conditions: readonly Condition[];
}

/** How many addresses of each pool routes hold. */
export function usedAddresses({ routes }: Allocation): ReadonlyMap<string, number> {
  const used = new Map<string, Set<string>>();
  for (const { assigned } of routes.values()) {
    for (const { vip, pool } of assigned) {
      const vips = used.get(pool) ?? new Set();
      used.set(pool, vips.add(vip));
    }
  }
  return new Map(Array.from(used, ([pool, vips]) => [pool, vips.size]));
}

/** What is true of a pool now. */
export function poolStatus(name: string, plan: Plan, used: ReadonlyMap<string, number>): PoolStatus {
  const pool = plan.world.objects.pools.get(name);
  const ranges = pool?.ranges ?? [];
  const invalid = plan.world.objects.invalid.get(`AddressPool ${name}`);
  const refused = plan.pools.refused.get(name);
  const accepted =
    invalid !== undefined
      ? condition('Accepted', 'False', 'Invalid', `${invalid.message}; the last good form, if any, is in force`)
      : refused !== undefined
        ? condition('Accepted', 'False', 'Overlap', refused)
        : condition('Accepted', 'True', 'Accepted', ranges.map(formatRange).join(', '));
  const silent = pool !== undefined && pool.l2 === undefined && pool.bgp.length === 0;
  const why = 'has neither spec.l2 nor spec.bgp, so nobody may announce its addresses; add one of them';
  return {
    total: ranges.reduce((sum, range) => sum + rangeSize(range), 0n),
    used: used.get(name) ?? 0,
    conditions: silent ? [accepted, condition('Programmed', 'False', 'NoAnnouncement', why)] : [accepted],
  };
}
