import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../test/harness/command.ts';
import { Lab } from '../test/harness/lab.ts';
import { type Node, nodeLan, type Pod } from '../test/harness/nodes.ts';
import { serviceProxy } from '../test/harness/service-proxy.ts';
import { udpSocket } from '../test/harness/sockets.ts';
import { applied, at, entry, forwardingOf, plan, pointAt } from '../test/lab/forwarding-fixture.ts';
import { flowRate, median, row, throughput } from './measure.ts';

/** Modes Endpoints and ClusterIP beside plain routing by the same kind of node, in turns: the ratios are firm. */
const ROUNDS = 7;
const FLOWS = 10_000;

const SINK = 9;
const VIP = { Endpoints: '192.168.50.100', ClusterIP: '192.168.50.110' };
const CLUSTER_IP = { v4: '10.96.7.1', v6: 'fd96::7:1' };
const PORTS = [
  ['TCP', 5201],
  ['TCP', SINK],
  ['UDP', SINK],
] as const;

await using lab = await Lab.open();
const folder = await mkdtemp(join(tmpdir(), 'signpost-bench-'));
lab.defer(() => rm(folder, { recursive: true }));
const generator = join(folder, 'flows');
await run(['gcc', '-O2', '-o', generator, new URL('flows.c', import.meta.url).pathname]);

const { client, nodes } = await nodeLan(lab, { nodes: 3, podsPerNode: 1 });
const [plain, endpoints, clusterIp] = nodes as [Node, Node, Node];
for (const { pods, v4 } of nodes) {
  const { namespace, v4: pod } = pods[0] as Pod;
  await client.namespace.ip(`route add ${pod}/32 via ${v4}`);
  namespace.start(['iperf3', '-s']);
  const sink = await udpSocket(namespace.path, '0.0.0.0', SINK);
  lab.defer(() => sink.close());
  namespace.start([generator, String(SINK)]);
}
await serviceProxy(
  clusterIp,
  PORTS.map(([protocol, port], i) => ({
    name: `s${i}`,
    protocols: [protocol],
    clusterIP: CLUSTER_IP,
    port,
    endpoints: clusterIp.pods,
    targetPort: port,
  })),
);
await install(endpoints, VIP.Endpoints, endpoints.pods[0]?.v4 ?? '', {});
await install(clusterIp, VIP.ClusterIP, CLUSTER_IP.v4, { relayed: true });

const paths = [
  { name: 'plain routing', node: plain, address: plain.pods[0]?.v4 ?? '' },
  { name: 'Endpoints', node: endpoints, address: VIP.Endpoints },
  { name: 'ClusterIP', node: clusterIp, address: VIP.ClusterIP },
];
const rounds: number[][][] = [];
for (let round = 0; round < ROUNDS; round++) {
  const values: number[][] = [];
  for (const path of paths) values.push(await measure(path.node, path.address));
  rounds.push(values);
}

console.log(`of plain routing in the same round (median of ${ROUNDS})\n`);
row('', 'iperf3 TCP', 'UDP flows', 'TCP connections');
for (const [i, { name }] of paths.entries()) {
  const cells = [0, 1, 2].map((column) =>
    median(rounds.map((values) => (values[i]?.[column] ?? 0) / (values[0]?.[column] ?? 1))).toFixed(2),
  );
  row(name, ...cells);
}

async function install(node: Node, vip: string, target: string, settings: { relayed?: true }): Promise<void> {
  const entries = PORTS.map(([protocol, port]) => entry(vip, protocol, port, [`${target}:${port}`], settings));
  await applied(forwardingOf(lab, node.namespace), plan(entries));
  await pointAt(client.namespace, vip, node.namespace);
}

/** Bits a second of one stream, new UDP flows and new TCP connections a second. */
async function measure(node: Node, address: string): Promise<number[]> {
  const values = [await throughput(client.namespace, address)];
  for (const protocol of ['udp', 'tcp'] as const) {
    const count = protocol === 'udp' ? FLOWS : FLOWS / 4;
    values.push(await flowRate(client.namespace, generator, { protocol, address, port: SINK, count }));
    await node.namespace.run(['conntrack', '-F'], { mayFail: true });
    const inside = ['nsenter', `--net=/run/netns/${at(node.namespace).privateNamespace}`, 'conntrack', '-F'];
    await node.namespace.run(inside, { mayFail: true });
  }
  return values;
}
