import { familyOf, type Ip, type IpFamily } from '../../../net/ip.ts';
import type { InterfaceName, NodeName } from '../../../net/names.ts';
import { prefixContains } from '../../../net/prefix.ts';
import type { Table } from '../../../net/table.ts';
import type { Segment } from '../../wire/protocol.ts';
import { type NeighbourKey, neighbourKey } from '../../world/keys.ts';
import type { World } from '../../world/types.ts';
import { addressesOf } from '../segments.ts';
import type { Bounce, DirectMember, DirectNode, DirectSurroundings } from '../types.ts';

/** What decides whether an entry can be forwarded directly, and to which nodes. */
export interface DirectContext {
  /** Why this kernel cannot; undefined where it can or nobody has tried. */
  readonly lacks: string | undefined;
  readonly surroundings: DirectSurroundings;
}

/** The context before, where it is equal. */
export function directContext(
  world: World,
  segments: Table<InterfaceName, Segment>,
  before: DirectContext | undefined,
): DirectContext {
  const ordered = [...segments.values()].sort(bySize);
  const known = before?.surroundings;
  const nodes = sameOr(known?.nodes, nodesOn(ordered, world), (some) => JSON.stringify([...some]));
  const interfaces = sameOr(
    known?.interfaces,
    ordered.map((segment) => interfaceOf(segment, world)),
    JSON.stringify,
  );
  const gone = sameOr(known?.gone, goneNodes(world, ordered), (some) => [...some].sort().join());
  const same = known !== undefined && nodes === known.nodes && interfaces === known.interfaces && gone === known.gone;
  const surroundings = same ? known : { self: world.self, interfaces, nodes, gone };
  const lacks = world.forwarding.direct;
  return before !== undefined && same && before.lacks === lacks ? before : { lacks, surroundings };
}

/** Addresses of other members on the segments, whose hardware addresses are to be followed. */
export function followedNeighbours(world: World, segments: Iterable<Segment>): ReadonlySet<NeighbourKey> {
  const keys = new Set<NeighbourKey>();
  for (const segment of segments) {
    for (const { node } of segment.members) {
      if (node !== world.self)
        for (const ip of addressesOn(segment, node, world)) keys.add(neighbourKey(segment.index, ip));
    }
  }
  return keys;
}

/** Nodes are reached by the segment that has most of them, the same for every VIP. */
function bySize(a: Segment, b: Segment): number {
  return b.members.length - a.members.length || (a.interface < b.interface ? -1 : 1);
}

function addressesOn({ networks }: Segment, node: NodeName, world: World): Ip[] {
  return addressesOf(world, node).filter((ip) => networks.some(({ prefix }) => prefixContains(prefix, ip)));
}

function interfaceOf(segment: Segment, world: World): DirectSurroundings['interfaces'][number] {
  return { name: segment.interface, members: membersOn(segment, world) };
}

function membersOn(segment: Segment, world: World): DirectMember[] {
  const found: DirectMember[] = [];
  for (const { node } of segment.members) {
    const macs = addressesOn(segment, node, world).map((ip) => world.neighbours.get(neighbourKey(segment.index, ip)));
    for (const mac of new Set(macs)) if (mac !== undefined && node !== world.self) found.push({ node, mac });
  }
  return found;
}

function nodesOn(segments: readonly Segment[], world: World): Map<NodeName, DirectNode> {
  const nodes = new Map<NodeName, Partial<Record<IpFamily, Bounce>>>();
  for (const segment of segments) {
    for (const { node } of segment.members) {
      const reached = nodes.get(node) ?? {};
      for (const to of addressesOn(segment, node, world)) reached[familyOf(to)] ??= { to, device: segment.interface };
      nodes.set(node, reached);
    }
  }
  return nodes;
}

/** Of those that some segment knows of, the ones that none has alive. */
function goneNodes(world: World, segments: readonly Segment[]): ReadonlySet<NodeName> {
  const alive = new Map<NodeName, boolean>();
  for (const { interface: name } of segments) {
    for (const [node, member] of world.wire.segments.get(name)?.members ?? []) {
      alive.set(node, member.alive || alive.get(node) === true);
    }
  }
  alive.delete(world.self);
  return new Set([...alive].filter(([, living]) => !living).map(([node]) => node));
}

/** The value before, where it reads the same. */
function sameOr<T>(before: T | undefined, now: T, text: (value: T) => string): T {
  return before !== undefined && text(before) === text(now) ? before : now;
}
