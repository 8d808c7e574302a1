import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { callDaemon } from '../../src/cli/control-client.ts';
import type { BgpSessionView, BgpStatus } from '../../src/observability/bgp-status.ts';
import { httpBackend } from '../harness/backends.ts';
import { outsideClient, type TopOfRack, topOfRack } from '../harness/bgp-lan.ts';
import { askHttp } from '../harness/clients.ts';
import { run } from '../harness/command.ts';
import { eventually } from '../harness/eventually.ts';
import { Lab } from '../harness/lab.ts';
import { ManifestFolder, pool, route, rule, service, temporaryFolder } from '../harness/manifests.ts';
import type { Namespace } from '../harness/namespace.ts';
import { type NodeLan, nodeLan } from '../harness/nodes.ts';
import { echoBackend, Probe, type ProbeResult } from '../harness/probe.ts';
import { kernelRoutes } from '../harness/routers/router.ts';
import { conditionOf, makeKeyFile, programmed, Speaker } from '../harness/speaker.ts';
import { lookAround } from './look-around.ts';
import type { Report } from './report.ts';

/** The client sends to the first by FRR, to the second by BIRD. */
const BY_FRR = '203.0.113.10';
const BY_BIRD = '203.0.113.11';
const V6 = '2001:db8:5::10';
const PROGRAM = resolve(import.meta.dirname, '../../dist/signpost.mjs');
const PASSWORD = randomBytes(12).toString('hex');
/** Milliseconds. */
const BFD = { transmit: 100, receive: 100, multiplier: 3 };
/** So many that some of them pass each node. */
const FLOWS = 16;
const SOON = { within: 30_000, every: 100 };

/** VIPs by BGP from three nodes to an FRR and a BIRD: ECMP, a lost node, a rolling restart, a wrong password. */
export async function tell(report: Report, keep: boolean): Promise<void> {
  await using lab = await Lab.open();
  report.heading('Three nodes, two top-of-rack routers, and a client behind these');
  const net = await nodeLan(lab, { podsPerNode: 1 });
  const peer = { password: PASSWORD, bfd: BFD };
  const frr = await topOfRack(lab, net, { kind: 'frr', host: 254, peer });
  const bird = await topOfRack(lab, net, { kind: 'bird', host: 253, peer });
  const client = await outsideClient(lab, net, [frr, bird]);
  await client.ip(`route add ${BY_BIRD} via 198.51.100.101`);
  const { manifests, passwords } = await prepare(lab, net);
  report.note(`nodes at 192.168.50.11-13 in AS 65001; FRR at ${frr.v4} and BIRD at ${bird.v4} in AS 65000`);
  report.note(`client at 198.51.100.2 sends to ${BY_FRR} by FRR and to ${BY_BIRD} by BIRD`);

  report.heading('Three speakers');
  const keyFile = await makeKeyFile(lab);
  const flags = ['--bgp-password-dir', passwords];
  const start = (node: (typeof net.nodes)[number]) =>
    Speaker.start(lab, node, { manifests, peers: net.nodes, keyFile, flags });
  const speakers = await Promise.all(net.nodes.map(start));
  const scene: Scene = { report, net, frr, bird, client, speakers, manifests };
  await report.step('six sessions with TCP MD5 and BFD, every VIP announced', async () => {
    const started = performance.now();
    await Promise.all(speakers.map((speaker) => programmed(speaker, SOON)));
    await allUp(speakers);
    return { ok: true, ms: since(started), detail: 'from the start of the daemons' };
  });
  await tellBgp(scene, 'summary');
  await seeRoutes(scene);
  await seeClient(scene);
  await drainNode(scene);
  await loseNode(scene);
  await restartAll(scene);
  await mistakePassword(scene);
  if (keep) await lookAround(report, speakers, client, BY_FRR);
  await Promise.all(speakers.map((speaker) => speaker.stop()));
}

interface Scene {
  readonly report: Report;
  readonly net: NodeLan;
  readonly frr: TopOfRack;
  readonly bird: TopOfRack;
  readonly client: Namespace;
  readonly speakers: readonly Speaker[];
  readonly manifests: ManifestFolder;
}

async function prepare(lab: Lab, { nodes }: NodeLan) {
  const pods = nodes.flatMap((node) => node.pods);
  for (const pod of pods) {
    await httpBackend(lab, pod.namespace, 8080, `web on ${pod.name}`);
    await echoBackend(lab, pod.namespace, 5353);
  }
  const manifests = await ManifestFolder.make(lab);
  const ports = [
    { name: 'http', port: 80, targetPort: 8080 },
    { name: 'dns', protocol: 'UDP' as const, port: 53, targetPort: 5353 },
  ];
  const rules = [rule('http', 'TCP', 80, 'web'), rule('dns', 'UDP', 53, 'web')];
  await manifests.write('services.yaml', ...service('web', ports, pods));
  await manifests.write(
    'pool.yaml',
    pool('public', ['203.0.113.0/26', '2001:db8:5::/120'], { l2: undefined, bgp: [{ communities: ['65001:100'] }] }),
  );
  await manifests.write('peers.yaml', bgpPeer('tor-frr', 254), bgpPeer('tor-bird', 253));
  await manifests.write(
    'routes.yaml',
    route('web', rules, { addresses: [BY_FRR, V6], ipFamilyPolicy: 'PreferDualStack' }),
    route('shop', rules, { addresses: [BY_BIRD] }),
  );
  const passwords = await temporaryFolder(lab, 'passwords');
  await writeFile(join(passwords, 'tor'), PASSWORD, { mode: 0o600 });
  await writeFile(join(passwords, 'mistaken'), 'not the one', { mode: 0o600 });
  return { manifests, passwords };
}

function bgpPeer(name: string, host: number, password = 'tor') {
  const { transmit, receive, multiplier } = BFD;
  return {
    apiVersion: 'signpost.dev/v1alpha1',
    kind: 'BGPPeer',
    metadata: { name },
    spec: {
      localASN: 65001,
      peerASN: 65000,
      address: `192.168.50.${host}`,
      passwordSecretRef: { name: password },
      bfd: { transmit: `${transmit}ms`, receive: `${receive}ms`, multiplier },
    },
  };
}

async function seeRoutes(scene: Scene): Promise<void> {
  const { report, frr, bird, client } = scene;
  report.heading('What the routers have');
  for (const [router, name, vip] of [
    [frr, 'FRR', BY_FRR],
    [bird, 'BIRD', BY_BIRD],
    [frr, 'FRR', V6],
  ] as const) {
    await report.step(`${vip} over three nodes in the kernel of the ${name} router`, async () => {
      const hops = await reaches(router, vip, 3);
      return { ok: hops.length === 3, detail: hops.join(', ') };
    });
  }
  const table = await frr.namespace.run(['ip', 'route', 'show', BY_FRR]);
  report.evidence(`ip route show ${BY_FRR}   (on the FRR router)`, table.stdout);
  report.evidence('vtysh -c "show bgp ipv4 unicast"', await frr.router.cli('show bgp ipv4 unicast'));
  await tellBgp(scene, 'routes', '--peer', 'tor-frr');
  await report.step('an address that no VIP has is not announced', async () => {
    const answered = await client.pings('203.0.113.60');
    const known = (await kernelRoutes(frr.namespace, 'ipv4')).map(({ prefix }) => prefix);
    return { ok: !answered && !known.includes('203.0.113.60/32'), detail: `known are ${known.join(', ')}` };
  });
}

async function seeClient({ report, client }: Scene): Promise<void> {
  report.heading('What the client sees');
  for (const vip of [BY_FRR, BY_BIRD, V6]) {
    await report.step(`http to ${vip}`, async () => {
      const answers = await Promise.all(Array.from({ length: 24 }, () => askHttp(client, vip, 80)));
      const backends = [...new Set(answers.map(({ backend }) => backend))].sort();
      return { ok: backends.length === 3, detail: `24 connections, served by ${backends.join(', ')}` };
    });
  }
  const curl = await client.run(['curl', '-s', '--max-time', '2', `http://${BY_FRR}/`], { mayFail: true });
  report.evidence(`curl http://${BY_FRR}/`, curl.stdout);
}

async function drainNode({ report, frr, client, speakers }: Scene): Promise<void> {
  const [speaker] = speakers;
  if (speaker === undefined) return;
  report.heading(`A node is drained (${speaker.name})`);
  await report.step('its routes carry GRACEFUL_SHUTDOWN, then go, and no packet is lost', async () => {
    const probes = await flows(client);
    await speaker.command('drain');
    const ofNode = async () => (await frr.router.paths('ipv4')).filter(({ nextHop }) => nextHop === speaker.node.v4);
    const isLeaving = (path: { readonly communities: readonly string[] }) => path.communities.includes('65535:0');
    await eventually('65535:0', ofNode, (paths) => paths.length > 0 && paths.every(isLeaving), SOON);
    await eventually('no route of the node', ofNode, (paths) => paths.length === 0, SOON);
    await sleep(500);
    const { lost, sent } = await stopAll(probes);
    return { ok: lost === 0, lost, detail: `of ${sent}` };
  });
  await speaker.command('undrain');
  await reaches(frr, BY_FRR, 3);
}

async function loseNode({ report, net, frr, bird, client }: Scene): Promise<void> {
  const [, , node] = net.nodes;
  if (node === undefined) return;
  report.heading(`A node falls silent without warning (${node.name}): BFD`);
  for (const [router, vip] of [
    [frr, BY_FRR],
    [bird, BY_BIRD],
  ] as const) {
    await report.step(`the ${router.router.kind} router sends to the other two`, async () => {
      const probes = await flows(client, [vip]);
      await net.lan.block(node.namespace);
      const hops = await reaches(router, vip, 2);
      await sleep(500);
      const { outage, lost, sent } = await stopAll(probes);
      await net.lan.unblock(node.namespace);
      await Promise.all([reaches(frr, BY_FRR, 3), reaches(bird, BY_BIRD, 3)]);
      const ok = lost > 0 && outage < 2000 && !hops.includes(node.v4);
      return { ok, ms: outage, lost, detail: `of ${sent} in ${FLOWS} flows; the longest time without an answer` };
    });
  }
}

async function restartAll({ report, frr, bird, client, speakers }: Scene): Promise<void> {
  report.heading('A rolling restart of all daemons');
  await report.step('no packet is lost', async () => {
    const probes = await flows(client);
    for (const speaker of speakers) {
      const started = performance.now();
      await speaker.stop();
      speaker.restart();
      await allUp([speaker]);
      await Promise.all([reaches(frr, BY_FRR, 3), reaches(bird, BY_BIRD, 3)]);
      report.note(`${speaker.name} ended and was back with both routers after ${since(started)} ms`);
    }
    const { lost, sent } = await stopAll(probes);
    return { ok: lost === 0, lost, detail: `of ${sent} to both routers` };
  });
}

async function mistakePassword(scene: Scene): Promise<void> {
  const { report, manifests, speakers } = scene;
  const [speaker] = speakers;
  report.heading('One peer gets a wrong password');
  await manifests.write('peers.yaml', bgpPeer('tor-frr', 254), bgpPeer('tor-bird', 253, 'mistaken'));
  await report.step('signpost says why the session is down', async () => {
    const session = await eventually(
      'the session is down with a reason',
      async () => (await sessions(speaker)).find(({ peer }) => peer === 'tor-bird'),
      (view) => /password/.test(view?.lastError?.text ?? '') && view?.state !== 'Established',
      SOON,
    );
    return { ok: true, detail: session?.lastError?.text ?? '' };
  });
  await tellBgp(scene, 'summary');
  await report.step('the VIPs are announced to the other router alone, and status says so', async () => {
    const message = conditionOf(await speaker?.route('web'), 'Programmed')?.message ?? '';
    return { ok: /by n1 to tor-frr(?!.*tor-bird)/.test(message), detail: message };
  });
  await manifests.write('peers.yaml', bgpPeer('tor-frr', 254), bgpPeer('tor-bird', 253));
  await report.step('the right one brings it back', async () => {
    const started = performance.now();
    await allUp(speakers);
    return { ok: true, ms: since(started), detail: 'all six sessions' };
  });
  await tellBgp(scene, 'events', '--peer', 'tor-bird');
}

async function sessions(speaker: Speaker | undefined): Promise<readonly BgpSessionView[]> {
  return (await bgpOf(speaker)).sessions;
}

async function bgpOf(speaker: Speaker | undefined): Promise<BgpStatus> {
  const reply = await callDaemon(speaker?.socket ?? '', 'GET', '/bgp');
  if (reply.problem !== undefined) throw new Error(reply.problem.message);
  return reply.ok.body as BgpStatus;
}

/** What the program of the first node's operator prints. */
async function tellBgp({ report, speakers }: Scene, ...words: readonly string[]): Promise<void> {
  const [speaker] = speakers;
  if (speaker === undefined) return;
  const { stdout } = await run([process.execPath, PROGRAM, 'bgp', ...words, '--socket', speaker.socket]);
  report.evidence(`signpost bgp ${words.join(' ')}   (on ${speaker.name})`, stdout);
}

async function allUp(speakers: readonly Speaker[]): Promise<void> {
  await eventually(
    'every session and its BFD are up',
    async () => (await Promise.all(speakers.map(sessions))).flat(),
    (all) => all.length === 2 * speakers.length && all.every((s) => s.state === 'Established' && s.bfd?.state === 'Up'),
    SOON,
  );
}

function reaches({ namespace }: TopOfRack, vip: string, count: number): Promise<readonly string[]> {
  const isV6 = vip.includes(':');
  return eventually(
    `${vip} over ${count} nodes in the router's kernel`,
    async () => {
      const routes = await kernelRoutes(namespace, isV6 ? 'ipv6' : 'ipv4');
      return routes.find(({ prefix }) => prefix === `${vip}/${isV6 ? 128 : 32}`)?.nextHops ?? [];
    },
    ({ length }) => length === count,
    SOON,
  );
}

/** Probes over many flows, all of which are answered. */
async function flows(client: Namespace, vips: readonly string[] = [BY_FRR, BY_BIRD]): Promise<readonly Probe[]> {
  const each = FLOWS / vips.length;
  const probes = await Promise.all(
    vips.flatMap((vip) => Array.from({ length: each }, () => Probe.start(client, vip, 53, 50))),
  );
  await eventually(
    'every flow is answered',
    () => probes.map(({ answered }) => answered),
    (counts) => counts.every((count) => count > 10),
  );
  return probes;
}

async function stopAll(probes: readonly Probe[]): Promise<Pick<ProbeResult, 'sent' | 'lost' | 'outage'>> {
  const results = await Promise.all(probes.map((probe) => probe.stop()));
  const sum = (pick: (result: ProbeResult) => number) => results.reduce((total, result) => total + pick(result), 0);
  return {
    sent: sum(({ sent }) => sent),
    lost: sum(({ lost }) => lost),
    outage: Math.max(...results.map(({ outage }) => outage)),
  };
}

function since(started: number): number {
  return Math.round(performance.now() - started);
}
