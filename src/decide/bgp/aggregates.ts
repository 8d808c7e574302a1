import type { Vip } from '../../../net/names.ts';
import type { Prefix } from '../../../net/prefix.ts';
import type { Table } from '../../../net/table.ts';
import type { Pool } from '../../world/objects.ts';
import type { VipPlan } from '../vip-plan.ts';
import { type Advertiser, isWithin, prefixOf } from './advertise.ts';

/**
 * Networks of more than one address that this node may announce for its VIPs, whether a session is up or not: the
 * kernel must know them before a router does. In order; none where no pool aggregates.
 */
export function aggregatesOf(
  vips: Table<Vip, VipPlan>,
  advertisers: ReadonlyMap<Pool, readonly Advertiser[]>,
): readonly Prefix[] {
  const aggregating = new Map(Array.from(advertisers, ([pool, list]) => [pool, list.filter(aggregates)] as const));
  if ([...aggregating.values()].every((list) => list.length === 0)) return NONE;
  const found = new Set<Prefix>();
  for (const { vip, pool } of vips.values()) {
    for (const { advertisement } of aggregating.get(pool) ?? []) {
      const prefix = prefixOf(vip, advertisement);
      if (prefix !== `${vip}/32` && prefix !== `${vip}/128` && isWithin(prefix, pool)) found.add(prefix);
    }
  }
  return [...found].sort();
}

const NONE: readonly Prefix[] = [];

function aggregates({ advertisement }: Advertiser): boolean {
  return advertisement.aggregationLength < 32 || advertisement.aggregationLengthV6 < 128;
}
