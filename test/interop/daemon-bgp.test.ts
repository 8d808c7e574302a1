import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import { callDaemon } from '../../src/cli/control-client.ts';
import type { BgpStatus } from '../../src/observability/bgp-status.ts';
import { outsideClient, type TopOfRack, topOfRack } from '../harness/bgp-lan.ts';
import { askHttp } from '../harness/clients.ts';
import { eventually } from '../harness/eventually.ts';
import { pool, route, rule, service, temporaryFolder } from '../harness/manifests.ts';
import type { Namespace } from '../harness/namespace.ts';
import { Probe } from '../harness/probe.ts';
import { kernelRoutes } from '../harness/routers/router.ts';
import { conditionOf, type Speaker } from '../harness/speaker.ts';
import { type DaemonLab, daemonLab } from '../lab/daemon-fixture.ts';

const VIP = '203.0.113.10';
const VIP6 = '2001:db8:5::10';
const PASSWORD = randomBytes(12).toString('hex');
const SOON = { within: 20_000, every: 100 };

const peer = (spec: object = {}) => ({
  apiVersion: 'signpost.dev/v1alpha1',
  kind: 'BGPPeer',
  metadata: { name: 'tor', labels: { role: 'tor' } },
  spec: {
    localASN: 65001,
    peerASN: 65000,
    address: '192.168.50.254',
    passwordSecretRef: { name: 'tor' },
    bfd: {},
    gracefulRestart: {},
    ...spec,
  },
});
const bgpPool = (advertisement: object = {}) =>
  pool('bgp', ['203.0.113.0/28', '2001:db8:5::/120'], { l2: undefined, bgp: [advertisement] });
const web = (spec: object = {}) =>
  route('web', [rule('http', 'TCP', 80, 'web'), rule('dns', 'UDP', 53, 'web')], {
    addresses: [VIP, VIP6],
    ipFamilyPolicy: 'PreferDualStack',
    ...spec,
  });

let daemons: DaemonLab;
let tor: TopOfRack;
let client: Namespace;
let passwords: string;

const nextHops = async (vip: string) => {
  const family = vip.includes(':') ? 'ipv6' : 'ipv4';
  const prefix = `${vip}/${vip.includes(':') ? 128 : 32}`;
  return (await kernelRoutes(tor.namespace, family)).find((known) => known.prefix === prefix)?.nextHops ?? [];
};
const reaches = (vip: string, count: number) =>
  eventually(
    `${vip} by ${count} nodes in the router's kernel`,
    () => nextHops(vip),
    ({ length }) => length === count,
    SOON,
  );
const bgpOf = async (speaker: Speaker) => {
  const reply = await callDaemon(speaker.socket, 'GET', '/bgp');
  if (reply.problem !== undefined) throw new Error(reply.problem.message);
  return reply.ok.body as BgpStatus;
};
const timesUp = async () => {
  const all = await Promise.all(daemons.speakers.map(bgpOf));
  return all.map(({ sessions }) => sessions[0]?.established);
};

beforeAll(async () => {
  daemons = await daemonLab({
    files: { 'pool.yaml': [bgpPool()], 'peer.yaml': [peer()], 'web.yaml': [web()] },
    flags: async (lab) => {
      passwords = await temporaryFolder(lab, 'bgp');
      await writeFile(join(passwords, 'tor'), PASSWORD, { mode: 0o600 });
      return ['--bgp-password-dir', passwords];
    },
    async prepare(net, lab) {
      const bfd = { transmit: 100, receive: 100, multiplier: 3 };
      tor = await topOfRack(lab, net, { kind: 'frr', host: 254, peer: { password: PASSWORD, bfd } });
      client = await outsideClient(lab, net, [tor]);
    },
  });
});

afterAll(() => daemons[Symbol.asyncDispose]());

beforeEach(async () => {
  onTestFailed(() => {
    for (const { name, log } of daemons.speakers) console.log(name, log.slice(-30).join('\n'));
    console.log(tor.router.log.slice(-20).join('\n'));
  });
  await reaches(VIP, 3);
  await reaches(VIP6, 3);
});

test('three nodes announce both families, a client behind the router is served, and status says so', async () => {
  await askHttp(client, VIP, 80);
  await askHttp(client, VIP6, 80);
  const [first] = daemons.speakers;
  const view = await first?.route('web');
  expect(conditionOf(view, 'Programmed')?.message).toMatch(/203\.0\.113\.10 by n1 to tor/);
  expect(view?.mode).toBe('BGP');
});

test('communities, MED and local preference change without a new session', async () => {
  const before = await timesUp();
  await daemons.manifests.write('pool.yaml', bgpPool({ communities: ['65000:100'], med: 50 }));
  await eventually(
    'the community at the router',
    () => tor.router.paths('ipv4'),
    (paths) =>
      paths.length === 3 && paths.every(({ communities, med }) => communities.includes('65000:100') && med === 50),
    SOON,
  );
  await daemons.manifests.write('pool.yaml', bgpPool());
  await eventually(
    'gone again',
    () => tor.router.paths('ipv4'),
    (paths) => paths.every(({ med }) => med !== 50),
    SOON,
  );
  expect(await timesUp()).toEqual(before);
});

test('an aggregate beside the host routes', async () => {
  const both = pool('bgp', ['203.0.113.0/28', '2001:db8:5::/120'], {
    l2: undefined,
    bgp: [{ aggregationLength: 28 }, { aggregationLength: 32 }],
  });
  await daemons.manifests.write('pool.yaml', both);
  const prefixes = async () => [...new Set((await tor.router.paths('ipv4')).map(({ prefix }) => prefix))].sort();
  await eventually('both', prefixes, (all) => all.join() === '203.0.113.0/28,203.0.113.10/32', SOON);
  await daemons.manifests.write('pool.yaml', bgpPool());
  await eventually('the host route alone', prefixes, (all) => all.join() === '203.0.113.10/32', SOON);
});

test('what an aggregate attracts and no VIP has is refused by the node, and does not go back to the router', async () => {
  await daemons.manifests.write('pool.yaml', bgpPool({ aggregationLength: 28, aggregationLengthV6: 120 }));
  const prefixes = async () => [...new Set((await tor.router.paths('ipv4')).map(({ prefix }) => prefix))].sort();
  await eventually('the aggregate alone', prefixes, (all) => all.join() === '203.0.113.0/28', SOON);
  await askHttp(client, VIP, 80);
  for (const unused of ['203.0.113.5', '2001:db8:5::5']) {
    await using capture = await tor.namespace.capture(`host ${unused} and tcp`);
    const outcome = await askHttp(client, unused, 80).then(
      () => 'answered',
      (error: unknown) => (error as NodeJS.ErrnoException).code,
    );
    expect(outcome).toBe('ECONNREFUSED');
    // The SYN towards a node, and the node's RST: it does not come back for another round.
    const passed = (await capture.stop()).map(({ text }) => /Flags \[(?<flags>[^\]]+)\]/.exec(text)?.groups?.flags);
    expect(passed).toEqual(['S', 'R.']);
  }
  await daemons.manifests.write('pool.yaml', bgpPool());
  await eventually('the host route alone', prefixes, (all) => all.join() === '203.0.113.10/32', SOON);
});

test('one peer is drained and undrained: the session stays, the VIP says why', async () => {
  const [first] = daemons.speakers;
  if (first === undefined) throw new Error('there are three speakers');
  const before = await timesUp();
  await expect(first.command('drain', { peer: 'nobody' })).rejects.toThrow(/no session with a BGPPeer nobody/);
  await first.command('drain', { peer: 'tor' });
  const own = async () => (await tor.router.paths('ipv4')).filter(({ nextHop }) => nextHop === first.node.v4);
  await eventually('no route of the node', own, (paths) => paths.length === 0, SOON);
  const why = async () => conditionOf(await first.route('web'), 'Programmed')?.message;
  await eventually('it says why', why, (message) => /n1: drained from tor/.test(message ?? ''), SOON);
  expect((await bgpOf(first)).sessions[0]).toMatchObject({ state: 'Established', draining: 'withdrawn' });
  await first.command('undrain', { peer: '192.168.50.254' });
  await reaches(VIP, 3);
  expect(await timesUp()).toEqual(before);
});

test('with traffic policy Local only nodes with an endpoint announce', async () => {
  const own = daemons.nodes[1]?.pods ?? [];
  const ports = [
    { name: 'http', port: 80, targetPort: 8080 },
    { name: 'dns', protocol: 'UDP' as const, port: 53, targetPort: 5353 },
  ];
  await daemons.manifests.write('local.yaml', ...service('one', ports, own));
  const rules = [rule('http', 'TCP', 80, 'one')];
  await daemons.manifests.write(
    'web.yaml',
    route('web', rules, { addresses: [VIP, VIP6], ipFamilyPolicy: 'PreferDualStack', trafficPolicy: 'Local' }),
  );
  const hops = await reaches(VIP, 1);
  expect(hops).toEqual([daemons.nodes[1]?.v4]);
  expect((await askHttp(client, VIP, 80)).client).toBe('198.51.100.2');
  await daemons.manifests.write('web.yaml', web());
  await daemons.manifests.remove('local.yaml');
});

test('a daemon that restarts leaves no gap in the router nor in the traffic', async () => {
  const first = daemons.speakers[0] as Speaker;
  const probe = await Probe.start(client, VIP, 53, 500);
  await eventually(
    'answers',
    () => probe.answered,
    (count) => count > 200,
  );
  let fewest = 3;
  const watching = new AbortController();
  const watch = (async () => {
    while (!watching.signal.aborted) fewest = Math.min(fewest, (await nextHops(VIP)).length);
  })();
  await first.stop();
  first.restart();
  await eventually(
    'the session is back',
    async () => (await bgpOf(first)).sessions[0]?.state,
    (state) => state === 'Established',
    SOON,
  );
  watching.abort();
  await watch;
  const { lost, sent } = await probe.stop();
  expect({ fewest, lost, of: sent > 500 }).toEqual({ fewest: 3, lost: 0, of: true });
});

test('a node that is lost is gone from the router when BFD says so', async () => {
  const [, , last] = daemons.nodes;
  if (last === undefined) throw new Error('there are three nodes');
  const started = performance.now();
  await daemons.lan.block(last.namespace);
  await reaches(VIP, 2);
  expect(performance.now() - started).toBeLessThan(3_000);
  await daemons.lan.unblock(last.namespace);
  await reaches(VIP, 3);
});

test('a drained node says that it leaves, then withdraws, and comes back', async () => {
  const [first] = daemons.speakers;
  const probe = await Probe.start(client, VIP, 53, 500);
  await first?.command('drain');
  await eventually(
    'GRACEFUL_SHUTDOWN',
    () => tor.router.paths('ipv4'),
    (paths) => paths.some(({ communities }) => communities.includes('65535:0')),
    SOON,
  );
  await reaches(VIP, 2);
  expect((await probe.stop()).lost).toBe(0);
  await first?.command('undrain');
  await reaches(VIP, 3);
});

test('a wrong password is explained, and the VIP does not claim to be announced', async () => {
  await writeFile(join(passwords, 'wrong'), 'not the one', { mode: 0o600 });
  await daemons.manifests.write('peer.yaml', peer({ passwordSecretRef: { name: 'wrong' } }));
  const [first] = daemons.speakers;
  const condition = async () => conditionOf(await first?.route('web'), 'Programmed');
  const shown = await eventually(
    'it says why',
    condition,
    (now) => now?.reason === 'NotAnnounced' && /password|key/i.test(now.message),
    SOON,
  );
  expect(shown?.message).toMatch(/no session with tor/);
  await daemons.manifests.write('peer.yaml', peer());
});
