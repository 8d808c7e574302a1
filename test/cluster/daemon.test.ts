import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import { askHttp } from '../harness/clients.ts';
import { ClusterLab } from '../harness/cluster/cluster-lab.ts';
import { serviceOf } from '../harness/cluster/objects.ts';
import { describeOnCluster } from '../harness/cluster/programs.ts';
import { eventually } from '../harness/eventually.ts';
import { pool, route, rule } from '../harness/manifests.ts';
import { leaderOf, type Speaker } from '../harness/speaker.ts';

const VIP = '192.168.50.100';
const SOON = { within: 10_000, every: 50 };
const HTTP = [rule('http', 'TCP', 80, 'web')];

await describeOnCluster('the daemon in a cluster', (programs) => {
  let cluster: ClusterLab;
  let speakers: readonly Speaker[];

  const kubectl = async (...args: readonly string[]) => (await cluster.plane.kubectl(args)).stdout;
  const ask = (vip: string, port = 80) => askHttp(cluster.net.client.namespace, vip, port);
  const served = (vip: string, port = 80) =>
    eventually(`${vip}:${port} is served`, () => ask(vip, port), undefined, SOON);
  const row = (name: string) => kubectl('get', 'serviceroute', name, '--no-headers');
  const condition = (name: string, type: string) =>
    kubectl('get', 'sr', name, '-o', `jsonpath={.status.conditions[?(@.type=="${type}")]['reason','message']}`);
  const address = (name: string) => kubectl('get', 'sr', name, '-o', 'jsonpath={.status.addresses[*].value}');

  beforeAll(async () => {
    cluster = await ClusterLab.open(programs);
    await cluster.plane.apply(pool('public', ['192.168.50.100-192.168.50.103']), serviceOf('web', { app: 'web' }));
    speakers = await cluster.startSpeakers();
  });

  afterAll(() => cluster[Symbol.asyncDispose]());

  beforeEach(async () => {
    onTestFailed(() => {
      for (const { name, log } of speakers) console.log(name, log.slice(-40).join('\n'));
    });
    await kubectl('delete', 'serviceroutes', '--all', '-A');
  });

  test('a route gets its VIP and is served, and kubectl says so', async () => {
    await cluster.plane.apply(route('web', HTTP, { addresses: [VIP] }));
    await served(VIP);
    const shown = await eventually(
      'its row',
      () => row('web'),
      (text) => text.includes('True'),
      SOON,
    );
    expect(shown).toMatch(/^web +192\.168\.50\.100 +80\/TCP +web:80 +n\d +True/);
    expect(await kubectl('get', 'addresspools', '--no-headers')).toMatch(/^public +4 +1 +true/);
    const events = () => kubectl('get', 'events', '--field-selector', 'reason=Programmed', '--no-headers');
    expect(await eventually('its Event', events, Boolean, SOON)).toMatch(/Normal +Programmed +serviceroute\/web/);
    const leader = await leaderOf(speakers, VIP);
    const proven = () => condition('web', 'Reachable');
    expect(await eventually('another node proves it', proven, (text) => text.startsWith('Proven'), SOON)).toMatch(
      /^Proven n\d got the answer of the leader's MAC address/,
    );
    const rows = () => kubectl('get', 'speakers', '--no-headers');
    const tells = new RegExp(`${leader.name} +1 +True`);
    await eventually('the leader tells', rows, (text) => tells.test(text), SOON);
  });

  test('the oldest route has the port, and the next gets it when that goes', async () => {
    const { plane } = cluster;
    await plane.apply(route('older', HTTP, { addresses: [VIP] }));
    await eventually(
      'older is programmed',
      () => row('older'),
      (text) => text.includes('True'),
      SOON,
    );
    await plane.apply(route('younger', HTTP, { addresses: [VIP] }));
    const why = await eventually('the conflict', () => condition('younger', 'Programmed'), Boolean, SOON);
    expect(why).toMatch(/PortConflict default\/older is older and has 80\/TCP/);
    await kubectl('delete', 'sr', 'older');
    await eventually(
      'younger is programmed',
      () => row('younger'),
      (text) => text.includes('True'),
      SOON,
    );
    await served(VIP);
  });

  test('what cannot be given says why, and gets it once it can', async () => {
    const { plane } = cluster;
    for (const name of ['a', 'b', 'c', 'd', 'e']) await plane.apply(route(name, HTTP));
    const refusal = await eventually(
      'one is refused',
      async () => Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => condition(name, 'Programmed'))),
      (all) => all.filter((text) => /^AddressNotAssigned no free IPv4 address in pool public/.test(text)).length === 1,
      SOON,
    );
    expect(new Set(await Promise.all(['a', 'b', 'c', 'd', 'e'].map(address))).size).toBe(5);
    const loser = ['a', 'b', 'c', 'd', 'e'][refusal.findIndex((text) => text.startsWith('AddressNotAssigned'))] ?? '';
    const winner = loser === 'a' ? 'b' : 'a';
    const freed = await address(winner);
    await kubectl('delete', 'sr', winner);
    await eventually(
      'the freed address',
      () => address(loser),
      (value) => value === freed,
      SOON,
    );
    await served(freed);
  });

  test("another implementation's route is left alone, down to its status", async () => {
    const { plane } = cluster;
    await plane.apply(route('other', HTTP, { controllerName: 'example.org/other', addresses: [VIP] }));
    await plane.apply(route('ours', HTTP, { addresses: [VIP] }));
    await eventually(
      'ours is programmed',
      () => row('ours'),
      (text) => text.includes('True'),
      SOON,
    );
    expect(await kubectl('get', 'sr', 'other', '-o', 'jsonpath={.status}')).toBe('');
  });

  test('`spec.drain` of a Speaker hands its VIPs over', async () => {
    await cluster.plane.apply(route('web', HTTP, { addresses: [VIP] }));
    await served(VIP);
    const leader = await leaderOf(speakers, VIP);
    await kubectl('patch', 'speaker', leader.name, '--type=merge', '-p', '{"spec":{"drain":true}}');
    const next = await eventually(
      'another leader',
      () => leaderOf(speakers, VIP),
      (speaker) => speaker !== leader,
      SOON,
    );
    await kubectl('patch', 'speaker', leader.name, '--type=merge', '-p', '{"spec":{"drain":false}}');
    await eventually(
      'the row',
      () => row('web'),
      (text) => text.includes(` ${next.name} `),
      SOON,
    );
    await served(VIP);
  });

  test('addresses stay over a new coordinator, which assigns at once', async () => {
    const { plane } = cluster;
    for (const name of ['a', 'b']) await plane.apply(route(name, HTTP));
    const before = await eventually(
      'both have an address',
      () => Promise.all(['a', 'b'].map(address)),
      (all) => all.every(Boolean),
      SOON,
    );
    const holder = async () =>
      (
        await kubectl('-n', 'signpost', 'get', 'lease', 'signpost-coordinator', '-o', 'jsonpath={.spec.holderIdentity}')
      ).split('_')[0];
    const coordinator = speakers.find(({ name }) => name === 'n1') && (await holder());
    const first = speakers.find(({ name }) => name === coordinator);
    await first?.stop();
    await plane.apply(route('c', HTTP));
    await eventually('c has an address', () => address('c'), Boolean, SOON);
    expect(await holder()).not.toBe(coordinator);
    expect(await Promise.all(['a', 'b'].map(address))).toEqual(before);
    first?.restart();
    for (const vip of before) await served(vip);
  });

  test('without the API server traffic, fail-over and readiness go on, and what was missed is caught up', async () => {
    const { plane } = cluster;
    await plane.apply(route('web', HTTP, { addresses: [VIP] }));
    await served(VIP);
    const leader = await leaderOf(speakers, VIP);
    await plane.stop('kube-apiserver', 'SIGKILL');
    const others = speakers.filter((speaker) => speaker !== leader);
    const stale = async () => (await others[0]?.status())?.source.staleSince;
    await eventually('status says stale', stale, Boolean, SOON);
    await cluster.net.lan.block(leader.node.namespace);
    await eventually('another leader', () => leaderOf(others, VIP), Boolean, SOON);
    await served(VIP);
    await cluster.net.lan.unblock(leader.node.namespace);
    await plane.startApiServer();
    await eventually('status is fresh', stale, (since) => since === undefined, { within: 60_000 });
    await plane.apply(route('late', HTTP, { addresses: ['192.168.50.101'] }));
    await served('192.168.50.101');
  });
});
