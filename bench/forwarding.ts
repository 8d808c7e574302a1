import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ForwardingEntry, type ForwardingPlan, forwardingKey } from '../src/decide/types.ts';
import { run } from '../test/harness/command.ts';
import { Lab } from '../test/harness/lab.ts';
import { type Node, type NodeLan, nodeLan } from '../test/harness/nodes.ts';
import { udpSocket } from '../test/harness/sockets.ts';
import { applied, entry, forwardingOf, plan, pointAt } from '../test/lab/forwarding-fixture.ts';
import { flowRate, kernelMemory, median, milliseconds, ms, row, throughput } from './measure.ts';

/**
 * Traffic to a VIP beside plain routing by the same kind of node, and what the rules cost. The nodes take turns, so
 * that what else the machine does falls on all of them: the ratios are firm, the times are not.
 */
const SIZES = [10, 1_000, 10_000];
const ROUNDS = 9;
const FLOWS = 30_000;
const CHANGES = 200;

const VIP = '192.168.50.100';
const SINK = 9;

/** How a client gets to the pod of a node. */
interface Path {
  readonly name: string;
  readonly address: string;
  readonly node: Node;
}

await using lab = await Lab.open();
const folder = await mkdtemp(join(tmpdir(), 'signpost-bench-'));
lab.defer(() => rm(folder, { recursive: true }));
const generator = join(folder, 'flows');
await run(['gcc', '-O2', '-o', generator, new URL('flows.c', import.meta.url).pathname]);

const lan = await nodeLan(lab, { nodes: 3, podsPerNode: 1 });
const paths = await preparePaths(lan);
const forwarding = forwardingOf(lab, paths[2].node.namespace);

console.log(`throughput and new flows, of plain routing in the same round (median of ${ROUNDS})\n`);
row('', 'iperf3 TCP', 'UDP flows', 'TCP connections');
for (const size of SIZES) {
  await applied(forwarding, planOf(size, paths[2].node));
  const { plain, ratios } = await measurePaths(paths);
  const [tracked = [], vip = []] = ratios.map((values) => values.map((value) => value.toFixed(2)));
  if (size === SIZES[0]) {
    row(
      'plain routing',
      `${(plain[0] / 1e9).toFixed(1)} Gbit/s`,
      `${plain[1].toFixed(0)}/s`,
      `${plain[2].toFixed(0)}/s`,
    );
    row('with connection tracking', ...tracked);
  }
  row(`VIP, ${size} VIP:ports`, ...vip);
}

console.log(`\nfull load, and one change (median and p99 of ${CHANGES}) from apply() to the kernel\n`);
row('', 'full load', 'one change', 'p99', 'kernel memory');
const changes = new Map<number, number>();
for (const size of SIZES) {
  await applied(forwarding, plan([]));
  const slab = await kernelMemory();
  const base = planOf(size, paths[2].node);
  const loaded = await milliseconds(() => applied(forwarding, base));
  const grown = (await kernelMemory()) - slab;
  const times = await changeTimes(base);
  changes.set(size, median(times));
  row(
    `${size} VIP:ports`,
    ms(loaded),
    ms(median(times)),
    ms(times[Math.floor(times.length * 0.99)] ?? 0),
    `${(grown / 1024).toFixed(1)} MB`,
  );
}
console.log(
  `\none change at ${SIZES[2]} of one at ${SIZES[0]}: ${((changes.get(10_000) ?? 0) / (changes.get(10) ?? 1)).toFixed(2)}`,
);

async function preparePaths({ client, nodes }: NodeLan): Promise<[Path, Path, Path]> {
  const [plain, tracked, signpost] = nodes as [Node, Node, Node];
  for (const { namespace, pods, v4 } of nodes) {
    const [pod] = pods;
    if (!pod) continue;
    await client.namespace.ip(`route add ${pod.v4}/32 via ${v4}`);
    pod.namespace.start(['iperf3', '-s']);
    const sink = await udpSocket(pod.namespace.path, '0.0.0.0', SINK);
    lab.defer(() => sink.close());
    pod.namespace.start([generator, String(SINK)]);
    namespace.sysctl({ 'netfilter.nf_conntrack_udp_timeout': 1 });
  }
  const rule = 'table inet track { chain c { type filter hook prerouting priority 0; ct state invalid drop; }; }';
  await tracked.namespace.run(['nft', rule]);
  await pointAt(client.namespace, VIP, signpost.namespace);
  return [
    { name: 'plain', address: plain.pods[0]?.v4 ?? '', node: plain },
    { name: 'tracked', address: tracked.pods[0]?.v4 ?? '', node: tracked },
    { name: 'VIP', address: VIP, node: signpost },
  ];
}

/** One VIP:port for iperf3 and the generators, and `size` others; three endpoints each, all the one pod. */
function planOf(size: number, { pods }: Node): ForwardingPlan {
  const address = pods[0]?.v4 ?? '';
  const used = [
    entry(VIP, 'TCP', 5201, [`${address}:5201`]),
    entry(VIP, 'TCP', SINK, [`${address}:${SINK}`]),
    entry(VIP, 'UDP', SINK, [`${address}:${SINK}`]),
  ];
  return plan([...used, ...Array.from({ length: size - used.length }, (_, i) => otherEntry(i, [1, 2, 3]))]);
}

function otherEntry(i: number, endpoints: readonly number[]): ForwardingEntry {
  return entry(
    `198.18.${i >> 8}.${i & 0xff}`,
    'TCP',
    443,
    endpoints.map((e) => `10.${e}.${i >> 8}.${i & 0xff}:8443`),
  );
}

type Row = readonly [throughput: number, udp: number, tcp: number];

interface Measured {
  /** Of the first path, in absolute numbers. */
  readonly plain: Row;
  /** Of each other path, as the median of its share of the first in the same round. */
  readonly ratios: readonly Row[];
}

async function measurePaths([plain, ...others]: readonly [Path, ...Path[]]): Promise<Measured> {
  const rounds: { reference: Row; values: Row[] }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const reference = await measurePath(plain);
    const values: Row[] = [];
    for (const path of others) values.push(await measurePath(path));
    rounds.push({ reference, values });
  }
  const columns = [0, 1, 2] as const;
  const row = (cell: (column: 0 | 1 | 2) => number[]) => columns.map((c) => median(cell(c))) as unknown as Row;
  return {
    plain: row((c) => rounds.map(({ reference }) => reference[c])),
    ratios: others.map((_, i) =>
      row((c) => rounds.map(({ reference, values }) => (values[i]?.[c] ?? 0) / reference[c])),
    ),
  };
}

async function measurePath(path: Path): Promise<Row> {
  return [await throughput(lan.client.namespace, path.address), await flows('udp', path), await flows('tcp', path)];
}

/** New flows a second. */
async function flows(protocol: 'udp' | 'tcp', { address, node }: Path): Promise<number> {
  const count = protocol === 'udp' ? FLOWS : FLOWS / 6;
  try {
    return await flowRate(lan.client.namespace, generator, { protocol, address, port: SINK, count });
  } finally {
    await node.namespace.run(['conntrack', '-F'], { mayFail: true });
  }
}

/** Each change takes away or gives back one endpoint of one entry. */
async function changeTimes(base: ForwardingPlan): Promise<number[]> {
  const times: number[] = [];
  let current = base;
  for (let i = 0; i < CHANGES; i++) {
    const changed = otherEntry(0, i % 2 === 0 ? [1, 2] : [1, 2, 3]);
    current = { ...current, entries: current.entries.set(forwardingKey(changed), changed) };
    times.push(await milliseconds(() => applied(forwarding, current)));
  }
  return times.sort((a, b) => a - b);
}
