import { ms } from '../net/clock.ts';
import type { NodeName, Vip } from '../net/names.ts';
import { encodeBody } from '../src/membership/body.ts';
import { TAG_BYTES } from '../src/membership/datagram.ts';
import { Cluster } from '../test/simulation/cluster.ts';

/**
 * Figures of the leader election in virtual time (0.1 to 0.3 ms delay with a tail, the default profile, 4 VIPs a
 * node): how long VIPs have no answerer, and what the heartbeats cost.
 */
const SIZES = [3, 20, 100] as const;
const RUNS: Readonly<Record<(typeof SIZES)[number], number>> = { 3: 60, 20: 30, 100: 12 };
const IP_AND_UDP = 28;

function warm(nodes: number): Cluster {
  const cluster = new Cluster({
    seed: 1,
    nodes,
    vips: 4 * nodes,
    fencing: 'Require',
    firstClaim: 'written',
    drift: 0.001,
  });
  cluster.startAll();
  cluster.run(ms(4000));
  return cluster;
}

function heldBy(cluster: Cluster, node: NodeName): Vip[] {
  return cluster.vips.filter((vip) => cluster.holders(vip)[0] === node);
}

/** Milliseconds that each VIP of the node goes without an answerer after `happen`. */
function outages(cluster: Cluster, node: NodeName, happen: () => void): number[] {
  const dark = new Map(heldBy(cluster, node).map((vip) => [vip, cluster.now]));
  const took: number[] = [];
  cluster.onEffect = (_node, effect) => {
    if (effect.type === 'stopAnswering' && dark.has(effect.vip)) dark.set(effect.vip, cluster.now);
    if (effect.type !== 'answer') return;
    const since = dark.get(effect.vip);
    if (since === undefined) return;
    took.push((cluster.now - since) / 1e6);
    dark.delete(effect.vip);
  };
  happen();
  cluster.runFor(ms(2000));
  cluster.onEffect = undefined;
  return [...took, ...Array.from(dark, () => Number.POSITIVE_INFINITY)];
}

function quantile(values: readonly number[], share: number): string {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN).toFixed(1);
}

/** One node after the other, at all phases of the heartbeat, in one cluster. */
function eachNode(
  nodes: number,
  happen: (cluster: Cluster, node: NodeName) => void,
  undo: typeof happen,
  loss = 0,
): number[] {
  const cluster = warm(nodes);
  cluster.loss = loss;
  return Array.from({ length: RUNS[nodes as (typeof SIZES)[number]] }, (_, run) => {
    const node = cluster.names[run % nodes] ?? ('n1' as NodeName);
    cluster.runFor(ms(3000 + ((37 * run) % 100)));
    const took = outages(cluster, node, () => happen(cluster, node));
    undo(cluster, node);
    return took;
  }).flat();
}

function lossOf(nodes: number, loss: number): number[] {
  return eachNode(
    nodes,
    (cluster, node) => cluster.crash(node),
    (cluster, node) => cluster.start(node),
    loss,
  );
}

function drainOf(nodes: number): number[] {
  return eachNode(
    nodes,
    (cluster, node) => cluster.handle(cluster.node(node), { type: 'drain' }),
    (cluster, node) => cluster.handle(cluster.node(node), { type: 'undrain' }),
  );
}

function traffic(nodes: number): { packets: number; bytes: number } {
  const cluster = warm(nodes);
  let packets = 0;
  let bytes = 0;
  cluster.onMessage = (from, _to, message) => {
    packets++;
    bytes += IP_AND_UDP + 19 + from.length + encodeBody(message).bytes.length + TAG_BYTES;
  };
  const seconds = 5;
  cluster.runFor(ms(1000 * seconds));
  return { packets: packets / seconds / nodes, bytes: bytes / seconds / nodes };
}

console.log('nodes | node loss p50/p99 ms | at 10 % loss | drain p50/p99 ms | packets/s, bytes/s per node');
for (const nodes of SIZES) {
  const lost = lossOf(nodes, 0);
  const lossy = lossOf(nodes, 0.1);
  const drained = drainOf(nodes);
  const { packets, bytes } = traffic(nodes);
  const pair = (values: readonly number[]) => `${quantile(values, 0.5)}/${quantile(values, 0.99)}`;
  console.log(
    `${String(nodes).padStart(5)} | ${pair(lost).padStart(20)} | ${pair(lossy).padStart(12)} | ${pair(drained).padStart(16)} | ${packets.toFixed(0)}, ${bytes.toFixed(0)}`,
  );
}
