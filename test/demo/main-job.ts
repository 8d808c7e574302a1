import { setTimeout as sleep } from 'node:timers/promises';
import { renderStatus } from '../../src/cli/status.ts';
import { httpBackend } from '../harness/backends.ts';
import { askHttp } from '../harness/clients.ts';
import { eventually } from '../harness/eventually.ts';
import { Lab } from '../harness/lab.ts';
import { ManifestFolder, pool, route, rule, service } from '../harness/manifests.ts';
import { nodeLan } from '../harness/nodes.ts';
import { echoBackend, Probe } from '../harness/probe.ts';
import { leaderOf, makeKeyFile, programmed, Speaker } from '../harness/speaker.ts';
import { lookAround } from './look-around.ts';
import type { Report } from './report.ts';

const PUBLIC = '192.168.50.100';
const PUBLIC_V6 = 'fd50::100';

/** The main job: from manifests to served connections, over the loss of a leader, a hand-over and a live change. */
export async function tell(report: Report, keep: boolean): Promise<void> {
  await using lab = await Lab.open();
  report.heading('A LAN of three nodes with pods behind them, and a client');
  const { lan, client, nodes } = await nodeLan(lab);
  const pods = nodes.flatMap((node) => node.pods);
  for (const pod of pods) {
    await httpBackend(lab, pod.namespace, 8080, `web on ${pod.name}`);
    await httpBackend(lab, pod.namespace, 8443, `shop on ${pod.name}`);
    await echoBackend(lab, pod.namespace, 5353);
  }
  const manifests = await ManifestFolder.make(lab);
  await manifests.write(
    'pools.yaml',
    pool('public', ['192.168.50.100-192.168.50.109', 'fd50::100-fd50::109']),
    pool('internal', ['192.168.50.200/29'], { autoAssign: false }),
  );
  await manifests.write(
    'services.yaml',
    ...service('web', [{ name: 'http', port: 80, targetPort: 8080 }], pods),
    ...service('shop', [{ name: 'https', port: 8443, targetPort: 8443 }], pods),
    ...service('dns', [{ name: 'dns', protocol: 'UDP', port: 53, targetPort: 5353 }], pods),
  );
  const mainRules = [
    rule('http', 'TCP', 80, 'web'),
    rule('https', 'TCP', 443, 'shop', 8443),
    rule('dns', 'UDP', 53, 'dns'),
  ];
  const main = (rules: readonly ReturnType<typeof rule>[]) => route('main', rules, { addresses: [PUBLIC] });
  await manifests.write(
    'routes.yaml',
    main(mainRules),
    route('dual', [rule('http', 'TCP', 80, 'web'), rule('dns', 'UDP', 53, 'dns')], {
      ipFamilyPolicy: 'PreferDualStack',
      addresses: ['192.168.50.101', PUBLIC_V6],
    }),
    route('inside', [rule('http', 'TCP', 80, 'web')], { addressPool: 'internal' }),
  );
  report.note(
    `nodes n1 to n3 at 192.168.50.11-13 and fd50::11-13, client at ${client.v4}; manifests in ${manifests.path}`,
  );

  report.heading('Three speakers');
  const keyFile = await makeKeyFile(lab);
  const speakers = await Promise.all(
    nodes.map((node) => Speaker.start(lab, node, { manifests, peers: nodes, keyFile })),
  );
  await report.step('every route has its VIP, its rules and a leader', async () => {
    const started = performance.now();
    const status = await programmed(speakers[0] as Speaker);
    return {
      ok: true,
      ms: since(started),
      detail: `from the start of the daemons; ${status.routes.length} routes, ${status.vips.length} VIPs`,
    };
  });
  const status = async () => {
    const output = { out: () => undefined, err: () => undefined, colour: process.stdout.isTTY };
    report.evidence('signpost status', renderStatus(await (speakers[0] as Speaker).status(), 'table', output));
  };
  await status();

  report.heading('What the client sees');
  await report.step('one VIP, two ports, two Services', async () => {
    const web = await askHttp(client.namespace, PUBLIC, 80);
    const shop = await askHttp(client.namespace, PUBLIC, 443);
    return {
      ok: web.backend.startsWith('web') && shop.backend.startsWith('shop'),
      detail: `:80 ${web.backend}; :443 ${shop.backend}`,
    };
  });
  await report.step('UDP', async () => {
    const probe = await Probe.start(client.namespace, PUBLIC, 53, 100);
    await sleep(200);
    const { sent, lost } = await probe.stop();
    return { ok: lost === 0, lost, detail: `of ${sent} datagrams` };
  });
  await report.step('IPv6', async () => {
    const { backend } = await askHttp(client.namespace, PUBLIC_V6, 80);
    return { ok: backend.startsWith('web'), detail: `[${PUBLIC_V6}]:80 ${backend}` };
  });
  await report.step('a port that no route has is refused', async () => {
    const refused = await askHttp(client.namespace, PUBLIC, 81).then(
      () => 'answered',
      (error: unknown) => (error as NodeJS.ErrnoException).code,
    );
    return { ok: refused === 'ECONNREFUSED', detail: String(refused) };
  });
  const curl = await client.namespace.run(['curl', '-s', '--max-time', '2', `http://${PUBLIC}/`], { mayFail: true });
  report.evidence(`curl http://${PUBLIC}/`, curl.stdout);
  const neighbours = await client.namespace.run(['ip', 'neigh', 'show', PUBLIC]);
  report.evidence(`ip neigh show ${PUBLIC}`, neighbours.stdout);
  const leader = await leaderOf(speakers, PUBLIC);
  await report.step("the client's neighbour entry is the leader's MAC address", async () => {
    const mac = await leader.node.namespace.mac();
    return { ok: neighbours.stdout.includes(mac), detail: `${mac} is ${leader.name}` };
  });
  const rules = await leader.node.namespace.run(['nft', 'list', 'map', 'inet', 'signpost', 'service4']);
  report.evidence(`nft list map inet signpost service4   (on ${leader.name})`, rules.stdout);

  report.heading(`The leader's node is lost without warning (${leader.name})`);
  await report.step('another node takes the VIP', async () => {
    const probe = await Probe.start(client.namespace, PUBLIC, 53, 500, 32);
    await eventually(
      'probes are answered',
      () => probe.answered,
      (count) => count > 100,
    );
    await lan.block(leader.node.namespace);
    const survivors = speakers.filter((speaker) => speaker !== leader);
    await eventually(
      'another leader',
      () => leaderOf(survivors, PUBLIC),
      (next) => next !== leader,
    );
    await sleep(500);
    const { outage, lost, sent } = await probe.stop();
    const next = await leaderOf(survivors, PUBLIC);
    return { ok: outage < 1000 && lost < sent, ms: outage, lost, detail: `without an answer; ${next.name} leads now` };
  });
  await lan.unblock(leader.node.namespace);
  await report.step('the node comes back and takes nothing', async () => {
    const next = await leaderOf(speakers, PUBLIC);
    await sleep(1000);
    const still = await leaderOf(speakers, PUBLIC);
    return { ok: still === next && still !== leader, detail: `${still.name} still leads` };
  });

  report.heading('A leader is drained');
  await report.step('the VIP moves and no packet is lost', async () => {
    const current = await leaderOf(speakers, PUBLIC);
    const probe = await Probe.start(client.namespace, PUBLIC, 53, 1000);
    await eventually(
      'probes are answered',
      () => probe.answered,
      (count) => count > 200,
    );
    await current.command('drain');
    const next = await eventually(
      'another leader',
      () => leaderOf(speakers, PUBLIC),
      (candidate) => candidate !== current,
    );
    await sleep(500);
    const { sent, lost, outage } = await probe.stop();
    await current.command('undrain');
    return { ok: lost === 0, ms: outage, lost, detail: `of ${sent} at 1,000/s; from ${current.name} to ${next.name}` };
  });

  report.heading('A port is added to the VIP');
  await report.step('it is served', async () => {
    const started = performance.now();
    const changed = [main([...mainRules, rule('alt', 'TCP', 8080, 'web', 80)])];
    await manifests.write(
      'routes.yaml',
      ...changed,
      route('dual', [rule('http', 'TCP', 80, 'web'), rule('dns', 'UDP', 53, 'dns')], {
        ipFamilyPolicy: 'PreferDualStack',
        addresses: ['192.168.50.101', PUBLIC_V6],
      }),
      route('inside', [rule('http', 'TCP', 80, 'web')], { addressPool: 'internal' }),
    );
    const { backend } = await eventually(
      'port 8080 is served',
      () => askHttp(client.namespace, PUBLIC, 8080),
      undefined,
      { every: 2 },
    );
    return {
      ok: backend.startsWith('web'),
      ms: since(started),
      detail: 'from the manifest written to the first answer',
    };
  });
  await status();

  if (keep) await lookAround(report, speakers, client.namespace, PUBLIC);
  await Promise.all(speakers.map((speaker) => speaker.stop()));
}

function since(started: number): number {
  return Math.round(performance.now() - started);
}
