import { type Ip, parseIp } from '../../net/ip.ts';
import { parseMac } from '../../net/mac.ts';
import { type InterfaceName, type NodeName, parseInterfaceName, parseVip, type Vip } from '../../net/names.ts';
import { formatProblem, must } from '../../net/result.ts';
import { Table } from '../../net/table.ts';
import { createForwarding, type Forwarding, type ForwardingOptions } from '../../src/act/forwarding/forwarding.ts';
import {
  type DirectEntry,
  type DirectSurroundings,
  type ForwardingEntry,
  type ForwardingPlan,
  forwardingKey,
  type Port,
  type Protocol,
} from '../../src/decide/types.ts';
import type { Lab } from '../harness/lab.ts';
import type { Namespace } from '../harness/namespace.ts';
import type { Node } from '../harness/nodes.ts';

export const ETH0: InterfaceName = must(parseInterfaceName('eth0'));

type EntrySettings = Partial<
  Pick<ForwardingEntry, 'direct' | 'relayed' | 'keepClientAddress' | 'affinity' | 'sourceRanges'>
>;

/** `entry('192.168.50.100', 'TCP', 80, ['10.244.1.5:8080'])`; an endpoint may end in `*WEIGHT`. */
export function entry(
  vip: string,
  protocol: Protocol,
  port: number,
  endpoints: readonly string[],
  settings: EntrySettings = {},
): ForwardingEntry {
  return {
    vip: must(parseVip(vip)),
    protocol,
    port: port as Port,
    endpoints: endpoints.map(endpoint),
    keepClientAddress: false,
    affinity: { type: 'None' },
    sourceRanges: [],
    ...settings,
  };
}

function endpoint(text: string) {
  const [, address = '', port, weight = 1] = /^\[?(.*?)\]?:(\d+)(?:\*(\d+))?$/.exec(text) ?? [];
  return { address: must(parseIp(address)), port: Number(port) as Port, weight: Number(weight) };
}

/** A plan whose VIPs are those of its entries and `vips`. */
export function plan(entries: readonly ForwardingEntry[], vips: readonly string[] = []): ForwardingPlan {
  const all: Vip[] = [...entries.map(({ vip }) => vip), ...vips.map((vip) => must(parseVip(vip)))];
  return {
    vips: Table.from(all.map((vip) => [vip, true] as const)),
    entries: Table.from(entries.map((e) => [forwardingKey(e), e] as const)),
    announcingInterfaces: [ETH0],
  };
}

/** What `self` would plan for endpoints, each on the node of the same position. */
export function directEntry(endpoints: readonly string[], nodes: readonly Node[], self: Node): DirectEntry {
  const weights = new Map<string, number>();
  for (const { name } of nodes) weights.set(name, (weights.get(name) ?? 0) + 1);
  return {
    shares: Array.from(weights, ([node, weight]) => ({ node: node as NodeName, weight })),
    own: endpoints.filter((_, i) => nodes[i] === self).map(endpoint),
  };
}

/** What `self` knows of the nodes of its LAN. */
export async function surroundingsOf(self: Node, nodes: readonly Node[]): Promise<DirectSurroundings> {
  const others = nodes.filter((node) => node !== self);
  const member = async ({ name, namespace }: Node) => ({
    node: name as NodeName,
    mac: must(parseMac(await namespace.mac())),
  });
  const place = (to: string) => ({ to: to as Ip, device: ETH0 });
  return {
    self: self.name as NodeName,
    interfaces: [{ name: ETH0, members: await Promise.all(others.map(member)) }],
    nodes: new Map(nodes.map(({ name, v4, v6 }) => [name as NodeName, { IPv4: place(v4), IPv6: place(v6) }])),
    gone: new Set(),
  };
}

/** Makes the actuator of a process outside of the node be that of the node. */
export function at(node: Namespace): Required<Pick<ForwardingOptions, 'launch' | 'enter' | 'privateNamespace'>> {
  return {
    launch: (program) => node.command(program),
    enter: (work) => node.enter(work),
    privateNamespace: `${node.path}-private`,
  };
}

/** The actuator of a node, as its daemon would run it. */
export function forwardingOf(lab: Lab, node: Namespace, options: ForwardingOptions = {}): Forwarding {
  return lab.use(createForwarding({ ...at(node), ...options }));
}

/** Applies and fails with the problem in words where there is one. */
export async function applied(forwarding: Forwarding, wanted: ForwardingPlan): Promise<void> {
  const { problem } = await forwarding.apply(wanted);
  if (problem) throw new Error(formatProblem(problem));
}

/** Stands in for the announcement: `from` finds the VIP at `node`. */
export async function pointAt(from: Namespace, vip: string, node: Namespace): Promise<void> {
  await from.ip(`neighbour replace ${vip} lladdr ${await node.mac()} dev eth0 nud permanent`);
}
