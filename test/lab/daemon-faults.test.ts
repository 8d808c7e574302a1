import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askHttp } from '../harness/clients.ts';
import { eventually } from '../harness/eventually.ts';
import { route, rule } from '../harness/manifests.ts';
import { Probe } from '../harness/probe.ts';
import { conditionOf, leaderOf, programmed, type Speaker } from '../harness/speaker.ts';
import { type DaemonLab, daemonLab, POOL, VIP, VIP6, WEB } from './daemon-fixture.ts';

let lab: DaemonLab;
let first: Speaker;

beforeAll(async () => {
  lab = await daemonLab();
  first = lab.speakers[0] as Speaker;
});
afterAll(() => lab[Symbol.asyncDispose]());

const serves = (vip = VIP, port = 80) => askHttp(lab.client.namespace, vip, port);

/** Runs a fault under 500 probes a second and says what was lost until the fault is over. */
async function underProbes(fault: () => Promise<void>) {
  const probe = await Probe.start(lab.client.namespace, VIP, 53, 500);
  await eventually(
    'probes are answered',
    () => probe.answered,
    (count) => count > 50,
  );
  await fault();
  return probe.stop();
}

test('both families are served', async () => {
  expect((await serves(VIP)).backend).toMatch(/^p/);
  expect((await serves(VIP6)).backend).toMatch(/^p/);
});

test('SIGKILL of the leading daemon: the VIP moves or stays, traffic goes on within 1 s, and it is served after the restart', async () => {
  const leader = await leaderOf(lab.speakers, VIP);
  const { outage } = await underProbes(async () => {
    await leader.stop('SIGKILL');
    await sleep(1000);
    leader.restart();
    await programmed(leader);
  });
  expect(outage).toBeLessThan(1000);
  await leaderOf(lab.speakers, VIP);
});

test("the leader's link is cut: another leads, and the node that comes back takes nothing", async () => {
  const leader = await leaderOf(lab.speakers, VIP);
  const others = lab.speakers.filter((speaker) => speaker !== leader);
  const { outage } = await underProbes(async () => {
    await lab.lan.unplug(leader.node.namespace);
    await eventually(
      'another leader',
      () => leaderOf(others, VIP),
      (next) => next !== leader,
    );
    await sleep(300);
  });
  expect(outage).toBeLessThan(1000);
  const next = await leaderOf(others, VIP);
  await lab.lan.plug(leader.node.namespace);
  await eventually(
    'the node is back',
    () => leader.status(),
    (status) => status.leases.every(({ held }) => held),
    { within: 10_000 },
  );
  expect((await leaderOf(lab.speakers, VIP)).name).toBe(next.name);
});

test('SIGKILL of nft loses nothing, and a later change is installed', async () => {
  const leader = await leaderOf(lab.speakers, VIP);
  const { lost } = await underProbes(async () => {
    for (const pid of await childrenOf(leader.pid)) process.kill(pid, 'SIGKILL');
    await lab.manifests.write(
      'extra.yaml',
      route('extra', [rule('http', 'TCP', 8081, 'web', 80)], { addresses: [VIP] }),
    );
    await eventually('port 8081 is served', () => serves(VIP, 8081));
  });
  expect(lost).toBe(0);
  await lab.manifests.remove('extra.yaml');
});

test('nft flush ruleset by somebody else is repaired within 5 s', async () => {
  const leader = await leaderOf(lab.speakers, VIP);
  await leader.node.namespace.run(['nft', 'flush', 'ruleset']);
  await eventually('the VIP is served again', () => serves());
});

test('a manifest replaced by garbage or by nothing leaves what was right in force and is reported', async () => {
  const { lost } = await underProbes(async () => {
    for (const text of [
      'kind: [',
      '',
      'apiVersion: signpost.dev/v1alpha1\nkind: ServiceRoute\nmetadata: {name: web}\nspec: {}\n',
    ]) {
      await lab.manifests.writeText('web.yaml', text);
      await eventually(
        `${JSON.stringify(text)} is reported`,
        async () => (await first.status()).source.problems,
        (problems) => problems.some((problem) => problem.startsWith('web.yaml')),
      );
    }
    await lab.manifests.write('web.yaml', WEB);
    await eventually(
      'it is right again',
      async () => (await first.status()).source.problems,
      (problems) => problems.length === 0,
    );
  });
  expect(lost).toBe(0);
});

test('a manifest deleted and restored: the route goes and comes back with its address', async () => {
  await lab.manifests.remove('web.yaml');
  await eventually(
    'the VIP is not answered',
    () => lab.client.namespace.pings(VIP, { timeout: 0.2 }),
    (answered) => !answered,
  );
  await lab.manifests.write('web.yaml', WEB);
  await eventually('the VIP is served again', () => serves());
});

test('a drained leader hands over without a lost packet, and SIGTERM does the same', async () => {
  await eventually('no move is under way', () => leaderOf(lab.speakers, VIP));
  await sleep(500);
  const leader = await leaderOf(lab.speakers, VIP);
  const drained = await underProbes(async () => {
    await leader.command('drain');
    await eventually(
      'another leader',
      () => leaderOf(lab.speakers, VIP),
      (next) => next !== leader,
    );
    await sleep(200);
  });
  expect(drained.lost).toBe(0);
  await leader.command('undrain');
  const next = await leaderOf(lab.speakers, VIP);
  const survivors = lab.speakers.filter((speaker) => speaker !== next);
  const stopped = await underProbes(async () => {
    const began = performance.now();
    const { code } = await next.stop('SIGTERM');
    expect(code).toBe(0);
    expect(performance.now() - began).toBeLessThan(2000);
    await eventually(
      'another leader',
      () => leaderOf(survivors, VIP),
      (candidate) => candidate !== next,
    );
    await sleep(200);
  });
  expect(stopped.lost).toBe(0);
  const table = await next.node.namespace.run(['nft', 'list', 'tables']);
  expect(table.stdout).toContain('table inet signpost');
  next.restart();
  await programmed(next);
});

test('a pool that goes leaves its routes without an address and says so', async () => {
  await lab.manifests.remove('pool.yaml');
  const lacking = await eventually(
    'the route lost its address',
    async () => conditionOf(await first.route('web'), 'Programmed'),
    (condition) => condition?.status === 'False',
  );
  expect(lacking?.reason).toBe('AddressNotUsable');
  await lab.manifests.write('pool.yaml', POOL);
  await programmed(first);
});

async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(join('/proc', String(pid), 'task', String(pid), 'children'), 'utf8');
  return text.trim().split(' ').filter(Boolean).map(Number);
}
