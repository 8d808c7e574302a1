import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Problem } from '../../net/result.ts';
import { removeForwarding } from '../../src/act/forwarding/cleanup.ts';
import type { Forwarding, ForwardingReport } from '../../src/act/forwarding/forwarding.ts';
import type { ForwardingPlan } from '../../src/decide/types.ts';
import { httpBackend, tcpBackend } from '../harness/backends.ts';
import { askHttp, EchoConnection } from '../harness/clients.ts';
import { eventually } from '../harness/eventually.ts';
import { Lab } from '../harness/lab.ts';
import { type Node, type NodeLan, nodeLan, type Pod } from '../harness/nodes.ts';
import { applied, at, entry, forwardingOf, plan, pointAt } from './forwarding-fixture.ts';

const VIP = '192.168.50.100';
const FOREIGN = 'table inet firewall { set blocked { type ipv4_addr; elements = { 192.0.2.1 }; }; }';

let lab: Lab;
let lan: NodeLan;
let node: Node;
let pods: readonly [Pod, Pod];
let forwarding: Forwarding;
let drifts: Problem[];
let reports: ForwardingReport[];
let wanted: ForwardingPlan;

beforeEach(async () => {
  lab = await Lab.open();
  lan = await nodeLan(lab, { nodes: 1 });
  node = lan.nodes[0] as Node;
  pods = node.pods as unknown as [Pod, Pod];
  for (const { namespace } of pods) {
    await httpBackend(lab, namespace, 8080);
    await tcpBackend(lab, namespace, 7);
  }
  await pointAt(lan.client.namespace, VIP, node.namespace);
  drifts = [];
  reports = [];
  forwarding = forwardingOf(lab, node.namespace, {
    checkInterval: 200,
    onDrift: (problem) => drifts.push(problem),
    onReport: (report) => reports.push(report),
  });
  wanted = plan([
    entry(VIP, 'TCP', 80, [`${pods[0].v4}:8080`, `${pods[1].v4}:8080`]),
    entry(VIP, 'TCP', 7, [`${pods[0].v4}:7`]),
  ]);
  await applied(forwarding, wanted);
});

afterEach(() => lab[Symbol.asyncDispose]());

const nft = async (...args: string[]) => (await node.namespace.run(['nft', ...args])).stdout;
const table = () => nft('-s', 'list', 'table', 'inet', 'signpost');
const served = () => askHttp(lan.client.namespace, VIP, 80, { timeout: 300 });

/** The pids of the `nft -i` that serves the actuator. */
async function nftPids(): Promise<number[]> {
  const { stdout } = await node.namespace.run(['ip', 'netns', 'pids', node.namespace.path]);
  return stdout
    .split('\n')
    .filter(Boolean)
    .map(Number)
    .filter((pid) => pid !== process.pid);
}

/** What a table lists, without the order in which its sets came to be. */
function sorted(listing: string): string[] {
  return listing
    .split('\n')
    .map((line) =>
      line
        .trim()
        .replace(/,$/, '')
        .replace(/^elements = \{ |( \})$/g, ''),
    )
    .sort();
}

test('rules flushed by somebody else come back, and an open connection goes on', async () => {
  const before = await table();
  const open = await EchoConnection.open(lan.client.namespace, VIP, 7);
  await nft('flush', 'ruleset');
  await eventually('served again', served);
  expect(drifts).toHaveLength(1);
  expect(await open.exchange('still here')).toBe('still here');
  expect(sorted(await table())).toEqual(sorted(before));
  open.close();
});

test('a change that meets a deleted table makes the whole table', async () => {
  await nft('delete', 'table', 'inet', 'signpost');
  await applied(forwarding, plan([entry(VIP, 'TCP', 80, [`${pods[1].v4}:8080`])]));
  expect(await served()).toMatchObject({ backend: pods[1].name });
});

test('rules flushed within the table come back', async () => {
  await nft('flush', 'table', 'inet', 'signpost');
  await eventually('served again', served);
});

test('elements deleted from the table and added to it are put right', async () => {
  const map = () => nft('-s', 'list', 'map', 'inet', 'signpost', 'service4');
  const before = await map();
  await nft('delete', 'element', 'inet', 'signpost', 'service4', `{ ${VIP} . tcp . 80 }`);
  await nft('add', 'element', 'inet', 'signpost', 'service4', `{ ${VIP} . tcp . 8 : goto random4-1x1 }`);
  await eventually('the map is as it was', map, (now) => now === before);
  expect(drifts).toHaveLength(1);
});

test('SIGKILL of nft costs nothing, before and amid a change', async () => {
  const [pid] = await nftPids();
  process.kill(pid as number, 'SIGKILL');
  await applied(forwarding, plan([entry(VIP, 'TCP', 80, [`${pods[1].v4}:8080`])]));
  expect(await served()).toMatchObject({ backend: pods[1].name });

  const many = plan(Array.from({ length: 3_000 }, (_, i) => entry(VIP, 'TCP', 1_000 + i, [`${pods[0].v4}:8080`])));
  const applying = forwarding.apply(many);
  const [second] = await eventually('nft works', nftPids, (pids) => pids.length > 0, { every: 1 });
  process.kill(second as number, 'SIGKILL');
  await applying;
  await eventually(
    'all is applied',
    () => reports.at(-1),
    (report) => report?.applied === many,
    { within: 10_000 },
  );
  expect(await askHttp(lan.client.namespace, VIP, 3_999)).toMatchObject({ backend: pods[0].name });
});

test('the next run starts from the table of the last: nothing is removed, open connections go on', async () => {
  const before = await table();
  const open = await EchoConnection.open(lan.client.namespace, VIP, 7);
  await forwarding[Symbol.asyncDispose]();
  expect(await served()).toHaveProperty('backend');

  await using monitor = node.namespace.start(['nft', 'monitor', 'elements']);
  await using next = forwardingOf(lab, node.namespace);
  await eventually('the monitor listens', async () => {
    await nft('add', 'table', 'inet', 'other');
    await nft('add', 'set', 'inet', 'other', 's', '{ type mark; }');
    await nft('add', 'element', 'inet', 'other', 's', '{ 1 }');
    await nft('delete', 'table', 'inet', 'other');
    return monitor.lines.some((line) => line.includes('inet other s'));
  });
  await applied(next, wanted);
  expect(await table()).toBe(before);
  expect(monitor.lines.filter((line) => line.includes('inet signpost'))).toEqual([]);
  expect(await open.exchange('over the restart')).toBe('over the restart');
  open.close();
});

test('the next run mends what changed meanwhile, with as few edits', async () => {
  await forwarding[Symbol.asyncDispose]();
  const changed = plan([
    entry(VIP, 'TCP', 80, [`${pods[1].v4}:8080`]),
    entry('192.168.50.101', 'TCP', 81, [`${pods[0].v4}:8080`], { affinity: { type: 'Hash' } }),
  ]);
  const second = forwardingOf(lab, node.namespace);
  await applied(second, changed);
  await second[Symbol.asyncDispose]();
  const mended = await table();
  await removeForwarding(at(node.namespace));
  await applied(forwardingOf(lab, node.namespace), changed);
  expect(sorted(mended)).toEqual(sorted(await table()));
});

test('a table of another layout is replaced in one transaction, and an open connection goes on', async () => {
  const open = await EchoConnection.open(lan.client.namespace, VIP, 7);
  await forwarding[Symbol.asyncDispose]();
  await nft(
    'delete table inet signpost; add table inet signpost { comment "signpost layout 0"; }; add chain inet signpost nat-prerouting { type filter hook input priority 5; }; add set inet signpost vips4 { type mark; }',
  );
  await applied(forwardingOf(lab, node.namespace), wanted);
  expect(await served()).toHaveProperty('backend');
  expect(await open.exchange('over the upgrade')).toBe('over the upgrade');
  open.close();
});

test('tables of others are never touched', async () => {
  await node.namespace.run(['nft', '-f', '-'], { input: FOREIGN });
  const foreign = await nft('-a', 'list', 'table', 'inet', 'firewall');
  await applied(forwarding, plan([]));
  await applied(forwarding, wanted);
  await forwarding[Symbol.asyncDispose]();
  expect((await removeForwarding(at(node.namespace))).problem).toBeUndefined();
  expect(await nft('list', 'tables')).toBe('table inet firewall\n');
  expect(await nft('-a', 'list', 'table', 'inet', 'firewall')).toBe(foreign);
  // Nothing left to remove is no failure.
  expect((await removeForwarding(at(node.namespace))).problem).toBeUndefined();
});

test('what nft cannot do is said in a sentence, and tried again', async () => {
  await using broken = forwardingOf(lab, node.namespace, { launch: () => ['/nonexistent/nft'] });
  const report = await broken.apply(wanted);
  expect(report).toMatchObject({ applied: undefined, problem: { message: 'nft is not installed' } });

  await using refused = forwardingOf(lab, node.namespace, {
    launch: (program) =>
      node.namespace.command('setpriv', '--bounding-set=-net_admin', '--inh-caps=-net_admin', program),
  });
  expect((await refused.apply(wanted)).problem?.fix).toContain('NET_ADMIN');
});

test('the latest plan wins, and each caller hears of its own or a later one', async () => {
  const plans = Array.from({ length: 20 }, (_, i) => plan([entry(VIP, 'TCP', 80 + i, [`${pods[0].v4}:8080`])]));
  reports.length = 0;
  const answers = await Promise.all(plans.map((one) => forwarding.apply(one)));
  answers.forEach((report, i) => expect(plans.indexOf(report.applied as ForwardingPlan)).toBeGreaterThanOrEqual(i));
  expect(reports.length).toBeLessThan(5);
  expect(await askHttp(lan.client.namespace, VIP, 99)).toHaveProperty('backend');
  await expect(askHttp(lan.client.namespace, VIP, 80)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});
