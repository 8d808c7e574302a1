import { readFile } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { askHttp } from '../test/harness/clients.ts';
import { ClusterLab } from '../test/harness/cluster/cluster-lab.ts';
import { serviceOf } from '../test/harness/cluster/objects.ts';
import { findPrograms } from '../test/harness/cluster/programs.ts';
import { eventually } from '../test/harness/eventually.ts';
import { pool, route, rule } from '../test/harness/manifests.ts';
import type { Speaker } from '../test/harness/speaker.ts';

/** The daemon in a real cluster of three nodes with kube-proxy. References were measured on the same lab. */
const METALLB_SERVED_MS = 820;
const METALLB_SPEAKER_MB = 91;
const API = '/apis/signpost.dev/v1alpha1';
const ROUTES = `${API}/namespaces/default/serviceroutes`;
const MANY = 1000;

const programs = await findPrograms();
if (programs === undefined) process.exit(0);
await using cluster = await ClusterLab.open(programs);
const { plane, net } = cluster;
await plane.apply(
  pool('public', ['192.168.50.100-192.168.50.199']),
  pool('big', ['10.64.0.0/16'], { l2: { interfaces: ['eth0'] } }),
  serviceOf('web', { app: 'web' }),
);
const speakers = await cluster.startSpeakers();
await plane.apply(route('first', [rule('http', 'TCP', 80, 'web')], { addresses: ['192.168.50.199'] }));
await served('192.168.50.199');

await fromApiToConnection(15);
await writesWhenIdle(20);
await manyRoutes();

async function fromApiToConnection(runs: number): Promise<void> {
  const times: number[] = [];
  for (let i = 0; i < runs; i++) {
    const vip = `192.168.50.${100 + i}`;
    await net.client.namespace.run(['ip', 'neigh', 'flush', 'all']);
    const started = performance.now();
    await plane.send('POST', ROUTES, route(`r${i}`, [rule('http', 'TCP', 80, 'web')], { addresses: [vip] }));
    await served(vip);
    times.push(performance.now() - started);
  }
  console.log(`a ServiceRoute created through the API to its first served connection, cold client, ${runs} runs`);
  const middle = median(times);
  console.log(
    `  median ${ms(middle)}, worst ${ms(Math.max(...times))}: ${(middle / METALLB_SERVED_MS).toFixed(2)} of MetalLB with kube-proxy (${METALLB_SERVED_MS} ms)\n`,
  );
}

async function writesWhenIdle(seconds: number): Promise<void> {
  await sleep(5_000);
  const before = await writes();
  await sleep(seconds * 1000);
  const after = await writes();
  const kinds = [...after].map(([kind, count]) => [kind, count - (before.get(kind) ?? 0)] as const);
  const shown = kinds.filter(([, count]) => count > 0).map(([kind, count]) => `${kind} ${(count * 60) / seconds}`);
  console.log(`writes of Signpost a minute when idle, by kind: ${shown.join(', ') || 'none'}\n`);
}

/** Requests that change something of what only Signpost writes, as the API server counts them. */
async function writes(): Promise<Map<string, number>> {
  const { stdout } = await plane.kubectl(['get', '--raw', '/metrics']);
  const counts = new Map<string, number>();
  const line = /^apiserver_request_total\{(.*)\} (\S+)$/gm;
  for (const [, labels = '', value] of stdout.matchAll(line)) {
    const label = (name: string) => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const ours = label('group') === 'signpost.dev' || label('resource') === 'leases' || label('resource') === 'events';
    if (!ours || !['PUT', 'POST', 'PATCH', 'APPLY', 'DELETE'].includes(label('verb'))) continue;
    const kind = `${label('verb')} ${label('resource')}/${label('subresource')}`;
    counts.set(kind, (counts.get(kind) ?? 0) + Number(value));
  }
  return counts;
}

async function manyRoutes(): Promise<void> {
  const numbers = Array.from({ length: MANY }, (_, i) => i);
  const objects = numbers.map((i) => route(`many-${i}`, [rule('http', 'TCP', 80, 'web')], { addressPool: 'big' }));
  const started = performance.now();
  for (let i = 0; i < MANY; i += 20)
    await Promise.all(objects.slice(i, i + 20).map((object) => plane.send('POST', ROUTES, object)));
  const created = performance.now() - started;
  const count = async () => {
    const { items } = (await plane.send('GET', `${ROUTES}?resourceVersion=0`)) as { items: Route[] };
    return items.filter(({ status }) => status?.conditions?.some(isProgrammed)).length;
  };
  await eventually('all are programmed', count, (done) => done >= MANY, { within: 120_000, every: 500 });
  console.log(
    `${MANY} ServiceRoutes created in ${ms(created)}; all programmed and written ${ms(performance.now() - started)} after the first`,
  );
  await sleep(5_000);
  const rss = await Promise.all(speakers.map(residentMegabytes));
  console.log(
    `  resident memory then: ${rss.map((mb) => `${mb} MB`).join(', ')}: ${(Math.max(...rss) / METALLB_SPEAKER_MB).toFixed(2)} of MetalLB's speaker (${METALLB_SPEAKER_MB} MB)\n`,
  );
}

interface Condition {
  readonly type: string;
  readonly status: string;
}

interface Route {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

function isProgrammed({ type, status }: Condition): boolean {
  return type === 'Programmed' && status === 'True';
}

function served(vip: string) {
  const ask = () => askHttp(net.client.namespace, vip, 80, { timeout: 50 });
  return eventually(`${vip} is served`, ask, undefined, { every: 1, within: 10_000 });
}

async function residentMegabytes({ pid }: Speaker): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 0)} ms`;
}
