import { type Ip, isLinkLocal, isV4 } from '../../net/ip.ts';
import type { Mac } from '../../net/mac.ts';
import { type InterfaceName, type NodeName, parseInterfaceName } from '../../net/names.ts';
import { prefixContains, prefixRange, rangesOverlap } from '../../net/prefix.ts';
import type { Table } from '../../net/table.ts';
import type { Segment, SegmentMember } from '../wire/protocol.ts';
import type { Link, LinkAddress } from '../world/links.ts';
import type { Pool } from '../world/objects.ts';
import type { World } from '../world/types.ts';
import { answersForItself, matchesGlob } from './interfaces.ts';

/** Addresses of a node as its Node object or the command line gives them. */
export function addressesOf(world: World, node: NodeName): readonly Ip[] {
  const configured = world.peers.get(node);
  return configured ?? world.objects.nodes.get(node)?.addresses ?? [];
}

/**
 * The L2 segments that this node takes part in: each interface on which a member has an address or a pool has
 * addresses. An entry that is equal to that before is the same object.
 */
export function planSegments(
  world: World,
  pools: readonly Pool[],
  before: Table<InterfaceName, Segment>,
): Table<InterfaceName, Segment> {
  const members = memberAddresses(world);
  const found = new Map<InterfaceName, Segment>();
  for (const link of world.links.byIndex.values()) {
    const name = parseInterfaceName(link.name).ok;
    if (name === undefined || link.mac === undefined || link.loopback || !answersForItself(link)) continue;
    if (world.interfaces.length > 0 && !world.interfaces.includes(link.name)) continue;
    const here = membersOn(link, members);
    if (here.length === 0 && !pools.some((pool) => concerns(pool, link))) continue;
    found.set(name, segmentOf(world, link, name, link.mac, here));
  }
  const gone = [...before.keys()].filter((name) => !found.has(name)).map((name) => [name, undefined] as const);
  const edits = Array.from(found, ([name, segment]) => [name, equal(before.get(name), segment) ?? segment] as const);
  return before.with([...gone, ...edits]);
}

/** Who takes part: the speakers on the command line, else the nodes; with an API server those that have a speaker. */
function memberAddresses(world: World): [NodeName, readonly Ip[]][] {
  const { nodes, speakers } = world.objects;
  const takesPart = (name: NodeName) => world.role === 'alone' || name === world.self || speakers.has(name);
  const names = world.peers.size > 0 ? [...world.peers.keys()] : [...nodes.keys()].filter(takesPart);
  return names.map((name) => [name, addressesOf(world, name)]);
}

/** Members with an address on the link's networks. IPv4 where a member has both, so that all use one family. */
function membersOn(link: Link, members: readonly [NodeName, readonly Ip[]][]): SegmentMember[] {
  const onLink = (ip: Ip) => link.addresses.some(({ prefix }) => prefixContains(prefix, ip));
  const list: SegmentMember[] = [];
  for (const [node, addresses] of members) {
    const local = addresses.filter(onLink);
    const address = local.find(isV4) ?? local[0];
    if (address !== undefined) list.push({ node, address });
  }
  return list.sort(byName);
}

function byName(a: SegmentMember, b: SegmentMember): number {
  return a.node < b.node ? -1 : a.node > b.node ? 1 : 0;
}

function concerns(pool: Pool, link: Link): boolean {
  if (pool.l2 === undefined) return false;
  if (pool.l2.interfaces.some((glob) => matchesGlob(link.name, glob))) return true;
  const networks = link.addresses.map(({ prefix }) => prefixRange(prefix));
  return pool.ranges.some((range) => networks.some((network) => rangesOverlap(range, network)));
}

function segmentOf(
  world: World,
  link: Link,
  name: InterfaceName,
  mac: Mac,
  members: readonly SegmentMember[],
): Segment {
  const usable = link.addresses.filter(({ tentative }) => !tentative);
  return {
    interface: name,
    index: link.index,
    mac,
    carrier: link.up && link.carrier,
    address: members.find(({ node }) => node === world.self)?.address ?? firstAddress(usable),
    networks: usable.map(({ ip, prefix }) => ({ ip, prefix })),
    members,
    gateways: world.links.gateways
      .filter((gateway) => gateway.index === link.index)
      .map(({ ip, mac: of }) => ({ ip, mac: of })),
  };
}

function firstAddress(addresses: readonly LinkAddress[]): Ip | undefined {
  const ips = addresses.map(({ ip }) => ip);
  return ips.find(isV4) ?? ips.find((ip) => !isLinkLocal(ip)) ?? ips[0];
}

function equal(a: Segment | undefined, b: Segment): Segment | undefined {
  return a !== undefined && JSON.stringify(a) === JSON.stringify(b) ? a : undefined;
}
