import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type DirectSurroundings,
  type ForwardingEntry,
  type ForwardingPlan,
  forwardingKey,
} from '../src/decide/types.ts';
import { run } from '../test/harness/command.ts';
import { Lab } from '../test/harness/lab.ts';
import { type Node, nodeLan } from '../test/harness/nodes.ts';
import {
  applied,
  directEntry,
  entry,
  forwardingOf,
  plan,
  pointAt,
  surroundingsOf,
} from '../test/lab/forwarding-fixture.ts';
import { flowRate, kernelMemory, median, milliseconds, ms, row, throughput } from './measure.ts';

/**
 * Traffic to a VIP whose leader has no endpoint, by Direct and by Endpoints, beside plain routing to the endpoint's
 * node, and what the tables cost. The ways take turns, so that what else the machine does falls on all of them.
 */
const SIZES = [1, 1_000, 10_000];
/** Traffic is measured at these. */
const TRAFFIC_SIZES = [1, 10_000];
const ROUNDS = 9;
const FLOWS = 12_000;
const CHANGES = 50;

const VIPS = { Direct: '192.168.50.100', Endpoints: '192.168.50.101' } as const;
const SINK = 9;

await using lab = await Lab.open();
const folder = await mkdtemp(join(tmpdir(), 'signpost-bench-'));
lab.defer(() => rm(folder, { recursive: true }));
const generator = join(folder, 'flows');
await run(['gcc', '-O2', '-o', generator, new URL('flows.c', import.meta.url).pathname]);

const { client, nodes } = await nodeLan(lab, { nodes: 3, podsPerNode: 1 });
const [leader, place, other] = nodes as [Node, Node, Node];
const pod = place.pods[0]?.v4 ?? '';
const surroundings = new Map<Node, DirectSurroundings>();
for (const node of nodes) surroundings.set(node, await surroundingsOf(node, nodes));
const forwarding = new Map(nodes.map((node) => [node, forwardingOf(lab, node.namespace)] as const));

await client.namespace.ip(`route add ${pod}/32 via ${place.v4}`);
for (const vip of Object.values(VIPS)) await pointAt(client.namespace, vip, leader.namespace);
const [{ namespace: server }] = place.pods as [Node['pods'][number]];
server.start(['iperf3', '-s']);
server.start([generator, String(SINK)]);

console.log(`of plain routing in the same round (median of ${ROUNDS}); the leader has no endpoint\n`);
row('', 'TCP to the pod', 'TCP from the pod', 'TCP connections', 'UDP flows');
for (const size of TRAFFIC_SIZES) {
  await install(size);
  const rounds: Record<string, number[]>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({
      plain: await measure(pod),
      Direct: await measure(VIPS.Direct),
      Endpoints: await measure(VIPS.Endpoints),
    });
  }
  if (size === SIZES[0]) {
    const [up, down, tcp, udp] = [0, 1, 2, 3].map((i) => median(rounds.map(({ plain = [] }) => plain[i] ?? 0)));
    const gigabits = (value = 0) => `${(value / 1e9).toFixed(1)} Gbit/s`;
    row('plain routing', gigabits(up), gigabits(down), `${tcp?.toFixed(0)}/s`, `${udp?.toFixed(0)}/s`);
  }
  for (const way of ['Direct', 'Endpoints'] as const) {
    const share = (i: number) => median(rounds.map(({ plain = [], [way]: of = [] }) => (of[i] ?? 0) / (plain[i] ?? 1)));
    row(`${way}, ${size} VIP:ports`, ...[0, 1, 2, 3].map((i) => share(i).toFixed(2)));
  }
}

console.log(`\none change (median of ${CHANGES}) from apply() to the kernel, and the kernel's memory\n`);
row('', 'same shares', 'new shares', 'full load', 'memory');
for (const size of SIZES) {
  await applied(actuator(leader), plan([]));
  const before = await kernelMemory();
  const base = planOf(size, leader);
  const loaded = await milliseconds(() => applied(actuator(leader), base));
  const grown = (await kernelMemory()) - before;
  // A pod is replaced on its node; or nodes get a ratio of endpoints that no entry has had.
  const same = await changeTime(base, (i) => otherEntry(i % 2, nodes, leader, 0));
  const fresh = await changeTime(base, (i) => otherEntry(0, [...new Array<Node>(i + 2).fill(place), other], leader));
  row(`${size} VIP:ports`, ms(same), ms(fresh), ms(loaded), `${(grown / size).toFixed(2)} kB each`);
}

async function install(size: number): Promise<void> {
  for (const node of nodes) await applied(actuator(node), planOf(size, node));
}

function actuator(node: Node) {
  const found = forwarding.get(node);
  if (found === undefined) throw new Error(`${node.name} has no actuator`);
  return found;
}

/** The used VIP:ports to the one pod, by both modes, and others by Direct with endpoints on all nodes. */
function planOf(size: number, self: Node): ForwardingPlan {
  const used = Object.entries(VIPS).flatMap(([mode, vip]) =>
    (['TCP', 'UDP'] as const).flatMap((protocol) =>
      [5201, SINK].map((port) => {
        const targets = [`${pod}:${port}`];
        const how = mode === 'Direct' ? { direct: directEntry(targets, [place], self) } : {};
        return entry(vip, protocol, port, targets, how);
      }),
    ),
  );
  const others = Array.from({ length: size - 1 }, (_, i) => otherEntry(i, nodes, self));
  return { ...plan([...used, ...others]), direct: surroundings.get(self) as DirectSurroundings };
}

/** With one endpoint for each of `on`; `vip` may be another's. */
function otherEntry(i: number, on: readonly Node[], self: Node, vip = i): ForwardingEntry {
  const targets = on.map((_, e) => `10.${e + 1}.${i >> 8}.${i & 0xff}:8443`);
  return entry(`198.18.${vip >> 8}.${vip & 0xff}`, 'TCP', 443, targets, { direct: directEntry(targets, on, self) });
}

async function changeTime(base: ForwardingPlan, next: (i: number) => ForwardingEntry): Promise<number> {
  const times: number[] = [];
  let current = base;
  for (let i = 0; i < CHANGES; i++) {
    const changed = next(i);
    current = { ...current, entries: current.entries.set(forwardingKey(changed), changed) };
    times.push(await milliseconds(() => applied(actuator(leader), current)));
  }
  return median(times);
}

async function measure(address: string): Promise<number[]> {
  const values = [await throughput(client.namespace, address), await throughput(client.namespace, address, true)];
  for (const [protocol, count] of [
    ['tcp', FLOWS / 4],
    ['udp', FLOWS],
  ] as const) {
    values.push(await flowRate(client.namespace, generator, { protocol, address, port: SINK, count }));
    for (const { namespace } of nodes) await namespace.run(['conntrack', '-F'], { mayFail: true });
  }
  return values;
}
