import type { Vip } from '../../net/names.ts';
import { Table } from '../../net/table.ts';
import type { RouteKey } from '../world/keys.ts';
import type { World } from '../world/types.ts';
import type { Pin } from './allocate.ts';

type Claims = World['wire']['claims'];
type Memory = World['memory'];

/** What routes hold by claims that live speakers announce and by memory, with what it was made from. */
export interface Pins {
  readonly claims: Claims;
  readonly memory: Memory;
  readonly claimed: Table<RouteKey, readonly Vip[]>;
  readonly pins: Table<RouteKey, Pin>;
  /** What memory says is in force, as what a coordinator wrote is for its followers. */
  readonly strict: boolean;
}

export function emptyPins(): Pins {
  return { claims: Table.empty(), memory: Table.empty(), claimed: Table.empty(), pins: Table.empty(), strict: false };
}

/**
 * With manifests there is no coordinator: an announced claim carries the key of the route that it was assigned to,
 * and pins it on every node. What memory says counts for routes that nobody announces.
 */
export function updatePins(previous: Pins, claims: Claims, memory: Memory, strict: boolean): Pins {
  const same = strict === previous.strict;
  if (claims === previous.claims && memory === previous.memory && same) return previous;
  const claimed = new Map<RouteKey, readonly Vip[]>();
  const of = (key: RouteKey) => claimed.get(key) ?? previous.claimed.get(key) ?? [];
  const touched = new Set<RouteKey>();
  for (const { key: vip, before, after } of claims.changes(previous.claims)) {
    const [was, is] = [ownerOf(before), ownerOf(after)];
    if (was === is) continue;
    if (was !== undefined)
      claimed.set(
        was,
        of(was).filter((other) => other !== vip),
      );
    if (is !== undefined) claimed.set(is, [...of(is), vip].sort());
    for (const key of [was, is]) if (key !== undefined) touched.add(key);
  }
  for (const { key } of memory.changes(previous.memory)) touched.add(key);
  if (!same) for (const key of memory.keys()) touched.add(key);
  const pinOf = (key: RouteKey): Pin | undefined => {
    const live = of(key);
    if (live.length > 0) return { addresses: live, live: true };
    const remembered = memory.get(key);
    return remembered && { addresses: remembered, live: strict };
  };
  return {
    claims,
    memory,
    strict,
    claimed: previous.claimed.with(
      Array.from(claimed, ([key, vips]) => [key, vips.length > 0 ? vips : undefined] as const),
    ),
    pins: previous.pins.with(Array.from(touched, (key) => [key, pinOf(key)] as const)),
  };
}

function ownerOf(claim: { readonly holder?: unknown; readonly routeKey: string } | undefined): RouteKey | undefined {
  return claim?.holder === undefined || claim.routeKey === '' ? undefined : (claim.routeKey as RouteKey);
}
