import { parseIp } from '../../net/ip.ts';
import { type InterfaceName, parseInterfaceName, parseVip, type Vip } from '../../net/names.ts';
import { formatProblem, must } from '../../net/result.ts';
import { Table } from '../../net/table.ts';
import { createForwarding, type Forwarding, type ForwardingOptions } from '../../src/act/forwarding/forwarding.ts';
import {
  type ForwardingEntry,
  type ForwardingPlan,
  forwardingKey,
  type Port,
  type Protocol,
} from '../../src/decide/types.ts';
import type { Lab } from '../harness/lab.ts';
import type { Namespace } from '../harness/namespace.ts';

export const ETH0: InterfaceName = must(parseInterfaceName('eth0'));

type EntrySettings = Partial<Pick<ForwardingEntry, 'relayed' | 'keepClientAddress' | 'affinity' | 'sourceRanges'>>;

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
