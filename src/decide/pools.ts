import type { Vip } from '../../net/names.ts';
import { type AddressRange, formatRange, prefixRange, rangeContains, rangesOverlap } from '../../net/prefix.ts';
import type { Table } from '../../net/table.ts';
import { ownAddresses } from '../world/links.ts';
import type { NodeObject, Pool } from '../world/objects.ts';
import type { World } from '../world/types.ts';
import { oldestFirst } from './allocate.ts';

export interface PoolAcceptance {
  readonly accepted: readonly Pool[];
  /** By pool name: why it is refused. Routes keep what they hold of a pool that was accepted before. */
  readonly refused: ReadonlyMap<string, string>;
}

/** Of pools that overlap the oldest is accepted; one that overlaps pods' addresses is refused. */
export function acceptPools(pools: Table<string, Pool>, nodes: Iterable<NodeObject>): PoolAcceptance {
  const accepted: Pool[] = [];
  const refused = new Map<string, string>();
  const podRanges = Array.from(nodes, (node) =>
    node.podCIDRs.map((cidr) => ({ cidr, range: prefixRange(cidr), node })),
  ).flat();
  const order = (pool: Pool) => ({ created: pool.meta.created, key: pool.meta.name });
  for (const pool of [...pools.values()].sort((a, b) => oldestFirst(order(a), order(b)))) {
    const rival = accepted
      .map((older) => overlap(pool.ranges, older.ranges, `AddressPool ${older.meta.name}`))
      .find(Boolean);
    const pods = podRanges
      .map(({ cidr, range, node }) => overlap(pool.ranges, [range], `pods' ${cidr} of node ${node.name}`))
      .find(Boolean);
    const why = rival ?? pods ?? selfOverlap(pool);
    if (why === undefined) accepted.push(pool);
    else refused.set(pool.meta.name, why);
  }
  return { accepted, refused };
}

function overlap(ranges: readonly AddressRange[], others: readonly AddressRange[], whose: string): string | undefined {
  for (const range of ranges) {
    const other = others.find((candidate) => rangesOverlap(range, candidate));
    if (other !== undefined)
      return `spec.addresses ${formatRange(range)} overlaps ${formatRange(other)} of ${whose}; remove it from one of them`;
  }
  return undefined;
}

function selfOverlap(pool: Pool): string | undefined {
  for (const [i, range] of pool.ranges.entries()) {
    const why = overlap([range], pool.ranges.slice(0, i), 'the same pool');
    if (why !== undefined) return why;
  }
  return undefined;
}

/**
 * Addresses inside pools that a node or a gateway has: no route is given one of these. The map before where it would
 * be equal, so that a change of carrier asks for no new allocation.
 */
export function excludedAddresses(
  world: World,
  pools: readonly Pool[],
  before: ReadonlyMap<Vip, string>,
): ReadonlyMap<Vip, string> {
  const found = new Map<Vip, string>();
  const inPool = (ip: string) => pools.some((pool) => pool.ranges.some((range) => rangeContains(range, ip as Vip)));
  const exclude = (ip: string, why: string) => {
    if (inPool(ip)) found.set(ip as Vip, why);
  };
  for (const node of world.objects.nodes.values())
    for (const ip of node.addresses) exclude(ip, `is an address of node ${node.name}`);
  for (const [node, addresses] of world.peers) for (const ip of addresses) exclude(ip, `is an address of node ${node}`);
  for (const ip of ownAddresses(world.links)) exclude(ip, `is an address of node ${world.self}`);
  for (const { ip } of world.links.gateways) exclude(ip, 'is the address of a gateway');
  const same = found.size === before.size && [...found].every(([vip, why]) => before.get(vip) === why);
  return same ? before : found;
}
