import { readFile } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { Table } from '../net/table.ts';
import { createForwarding, type ForwardingReport } from '../src/act/forwarding/forwarding.ts';
import { type Plan, plan } from '../src/decide/plan.ts';
import { after, freshWorld, links, put, pool as worldPool } from '../src/decide/testing/worlds.ts';
import type { World } from '../src/world/types.ts';
import { askHttp } from '../test/harness/clients.ts';
import { eventually } from '../test/harness/eventually.ts';
import { Lab } from '../test/harness/lab.ts';
import { pool, route, rule } from '../test/harness/manifests.ts';
import { programmed, type Speaker } from '../test/harness/speaker.ts';
import { daemonLab, POOL, WEB } from '../test/lab/daemon-fixture.ts';

/** The daemon as a whole: from a manifest to a served connection, from an event to the kernel, and its memory. */
await fromManifestToConnection();
await fromEventToKernel();
await memory();

/** Reference: MetalLB with kube-proxy, from a Service created to the first connection of a cold client: 820 ms. */
async function fromManifestToConnection(): Promise<void> {
  const RUNS = 15;
  await using lab = await daemonLab();
  const times: number[] = [];
  for (let i = 0; i < RUNS; i++) {
    const vip = `192.168.50.${101 + (i % 8)}`;
    const started = performance.now();
    await lab.manifests.write('new.yaml', route(`new-${i}`, [rule('http', 'TCP', 80, 'web')], { addresses: [vip] }));
    const served = () => askHttp(lab.client.namespace, vip, 80, { timeout: 50 });
    await eventually('the new route is served', served, undefined, { every: 1 });
    times.push(performance.now() - started);
    await lab.manifests.remove('new.yaml');
    await eventually(
      'it is gone',
      () => lab.client.namespace.pings(vip, { timeout: 0.2 }),
      (answered) => !answered,
    );
    await lab.client.namespace.run(['ip', 'neigh', 'flush', 'all']);
  }
  console.log(`a new route's manifest written to its first served connection, cold client, ${RUNS} runs`);
  console.log(
    `  median ${ms(median(times))}, worst ${ms(Math.max(...times))}: ${(median(times) / 820).toFixed(2)} of MetalLB with kube-proxy (820 ms)\n`,
  );
}

async function fromEventToKernel(): Promise<void> {
  const CHANGES = 200;
  await using lab = await Lab.open();
  const host = await lab.namespace('node');
  const results = new Map<number, number>();
  for (const size of [10, 10_000]) {
    const { launch } = { launch: (name: string) => host.command(name) };
    await using forwarding = createForwarding({ launch });
    let world = manyRoutes(size);
    let made: Plan = plan(world);
    await installed(forwarding.apply(made.forwarding));
    const times: number[] = [];
    for (let i = 0; i < CHANGES; i++) {
      const changed = i % size;
      const event = put(sliceOf(changed, [`10.1.${i >> 8}.${i & 255}`, `10.2.${i >> 8}.${i & 255}`]));
      const started = performance.now();
      world = after(world, event);
      made = plan(world, made);
      await installed(forwarding.apply(made.forwarding));
      times.push(performance.now() - started);
    }
    results.set(size, median(times));
    const p99 = times.sort((a, b) => a - b)[Math.floor(CHANGES * 0.99)] ?? 0;
    console.log(
      `one changed EndpointSlice at ${size} routes, event to kernel: median ${ms(median(times))}, p99 ${ms(p99)}`,
    );
  }
  console.log(`  ratio of 10,000 to 10: ${((results.get(10_000) ?? 0) / (results.get(10) ?? 1)).toFixed(2)}\n`);
}

async function installed(report: Promise<ForwardingReport>): Promise<void> {
  const { problem } = await report;
  if (problem !== undefined) throw new Error(problem.message);
}

function manyRoutes(count: number): World {
  const numbers = Array.from({ length: count }, (_, i) => i);
  const routes = numbers.map((i) =>
    put({
      apiVersion: 'signpost.dev/v1alpha1',
      kind: 'ServiceRoute',
      metadata: { name: `r${i}`, namespace: 'default' },
      spec: { rules: [{ name: 'http', protocol: 'TCP', port: 80, backendRefs: [{ name: `s${i}`, port: 80 }] }] },
    }),
  );
  const services = numbers.map((i) =>
    put({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: `s${i}`, namespace: 'default' },
      spec: { ports: [{ name: 'http', port: 80 }] },
    }),
  );
  const slices = numbers.map((i) => put(sliceOf(i, [`10.1.${i >> 8}.${i & 255}`])));
  return after(
    freshWorld(Table.empty()),
    { type: 'links', links: links() },
    put(worldPool('p', ['10.64.0.0/16'])),
    ...routes,
    ...services,
    ...slices,
  );
}

function sliceOf(i: number, addresses: readonly string[]) {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `s${i}`, namespace: 'default', labels: { 'kubernetes.io/service-name': `s${i}` } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: addresses.map((address) => ({ addresses: [address], nodeName: 'n1', conditions: { ready: true } })),
  };
}

/** Reference: MetalLB's speaker has 91 MB at 1,000 services. */
async function memory(): Promise<void> {
  const SIZE = 1000;
  const services = Array.from({ length: SIZE }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: `s${i}` },
    spec: { ports: [{ name: 'http', port: 80 }] },
  }));
  const slices = Array.from({ length: SIZE }, (_, i) => ({
    ...sliceOf(i, [`10.1.${i >> 8}.${i & 255}`]),
    metadata: { name: `s${i}`, labels: { 'kubernetes.io/service-name': `s${i}` } },
  }));
  const routes = Array.from({ length: SIZE }, (_, i) =>
    route(`r${i}`, [rule('http', 'TCP', 80, `s${i}`)], { addressPool: 'big' }),
  );
  await using lab = await daemonLab({
    files: {
      'pool.yaml': [POOL, pool('big', ['10.64.0.0/16'], { l2: { interfaces: ['eth0'] } })],
      'web.yaml': [WEB],
      'many.yaml': [...services, ...slices, ...routes],
    },
    settle: false,
  });
  const first = lab.speakers[0] as Speaker;
  const started = performance.now();
  await programmed(first, { within: 120_000, every: 500 });
  console.log(`${SIZE} routes programmed ${ms(performance.now() - started)} after the start`);
  await new Promise((resolve) => setTimeout(resolve, 5000));
  const rss = await Promise.all(lab.speakers.map(({ pid }) => residentMegabytes(pid)));
  console.log(
    `resident memory at ${SIZE} routes, Services and slices: ${rss.map((mb) => `${mb} MB`).join(', ')}: ${(Math.max(...rss) / 91).toFixed(2)} of MetalLB's speaker (91 MB)\n`,
  );
}

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 0)} ms`;
}
