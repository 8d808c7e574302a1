import { setTimeout as sleep } from 'node:timers/promises';
import { askHttp } from '../harness/clients.ts';
import { ClusterLab } from '../harness/cluster/cluster-lab.ts';
import { serviceOf } from '../harness/cluster/objects.ts';
import { findPrograms } from '../harness/cluster/programs.ts';
import { eventually } from '../harness/eventually.ts';
import { pool, route, rule } from '../harness/manifests.ts';
import { echoBackend, Probe } from '../harness/probe.ts';
import { leaderOf, type Speaker } from '../harness/speaker.ts';
import type { Report } from './report.ts';

const VIP = '192.168.50.100';
const SECOND = '192.168.50.101';
const SOON = { within: 20_000, every: 20 };

/** The whole job in a cluster: a real API server, kube-proxy on every node, and `kubectl` as an admin uses it. */
export async function tell(report: Report, keep: boolean): Promise<void> {
  const programs = await findPrograms();
  if (programs === undefined) {
    report.heading('There is no Kubernetes control plane to show it on');
    await report.step('the programs are there', () =>
      Promise.resolve({ ok: false, detail: 'set KUBEBUILDER_ASSETS, or install Go to build them' }),
    );
    return;
  }
  report.heading('A cluster: API server, controllers, three nodes with kube-proxy (nftables mode), pods, a client');
  await using cluster = await ClusterLab.open(programs);
  const { plane, net, lab } = cluster;
  const client = net.client.namespace;
  for (const pod of cluster.nodes.flatMap((node) => node.pods)) await echoBackend(lab, pod.namespace, 8080);
  const kubectl = async (...args: readonly string[]) => {
    const { stdout } = await plane.kubectl(args);
    return stdout;
  };
  const show = async (...args: readonly string[]) =>
    report.evidence(`kubectl ${args.join(' ')}`, await kubectl(...args));
  report.note('kubectl apply -k daemonset: CustomResourceDefinitions, rights, DaemonSet; there is no kubelet, so the');
  report.note('speakers are started here, each under the ServiceAccount of the DaemonSet');
  await show('get', 'nodes');

  report.heading('Three speakers');
  const speakers = await cluster.startSpeakers();
  await report.step('each has written its Speaker', async () => {
    const started = performance.now();
    const ready = async () => (await kubectl('get', 'speakers', '--no-headers')).match(/True/g)?.length ?? 0;
    await eventually('three are ready', ready, (count) => count === 3, SOON);
    return { ok: true, ms: since(started), detail: 'from the start of the daemons' };
  });

  report.heading('A pool, two Services, and a route that gives one VIP two ports');
  const dns = serviceOf(
    'dns',
    { app: 'web' },
    { ports: [{ name: 'dns', protocol: 'UDP', port: 53, targetPort: 8080 }] },
  );
  await plane.apply(pool('public', ['192.168.50.100-192.168.50.109', 'fd50::100-fd50::109']));
  await plane.apply(serviceOf('web', { app: 'web' }), dns);
  const rules = [rule('http', 'TCP', 80, 'web'), rule('dns', 'UDP', 53, 'dns')];
  await eventually(
    'endpoints',
    () => kubectl('get', 'endpointslices', '-o', 'name'),
    (text) => text.includes('web'),
    SOON,
  );
  await report.step('created through the API, served to a client that has never seen the VIP', async () => {
    const started = performance.now();
    const path = '/apis/signpost.dev/v1alpha1/namespaces/default/serviceroutes';
    await plane.send('POST', path, route('shop', rules, { addresses: [VIP] }));
    const ask = () => askHttp(client, VIP, 80, { timeout: 50 });
    const { backend } = await eventually('it is served', ask, undefined, { within: 10_000, every: 2 });
    return { ok: true, ms: since(started), detail: `from the request to the first answer, by ${backend}` };
  });
  await report.step('kubectl says so', async () => {
    const row = () => kubectl('get', 'serviceroute', 'shop', '--no-headers');
    const line = await eventually('Programmed is True', row, (text) => / True /.test(text), SOON);
    return { ok: true, detail: line.trim().replaceAll(/\s+/g, ' ') };
  });
  await show('get', 'serviceroutes', '-o', 'wide');
  await show('get', 'addresspools,speakers');
  await show('describe', 'serviceroute', 'shop');

  report.heading('What cannot be says why');
  await report.step('a younger route that asks for the same port', async () => {
    await plane.apply(route('late', [rule('http', 'TCP', 80, 'web')], { addresses: [VIP] }));
    const why = () =>
      kubectl('get', 'sr', 'late', '-o', 'jsonpath={.status.conditions[?(@.type=="Programmed")].message}');
    const message = await eventually('the reason', why, (text) => text.includes('older'), SOON);
    return { ok: true, detail: message };
  });
  await kubectl('delete', 'sr', 'late');

  const lead = () => leaderOf(speakers, VIP);
  report.heading('The leader is drained, as before maintenance');
  await report.step('its VIP moves and no packet is lost', async () => {
    const current = await lead();
    const probe = await started(client, VIP);
    await kubectl('patch', 'speaker', current.name, '--type=merge', '-p', '{"spec":{"drain":true}}');
    const next = await eventually('another leader', lead, (candidate) => candidate !== current, SOON);
    await sleep(500);
    const { sent, lost } = await probe.stop();
    await kubectl('patch', 'speaker', current.name, '--type=merge', '-p', '{"spec":{"drain":false}}');
    return { ok: lost === 0, lost, detail: `of ${sent} at 500/s; from ${current.name} to ${next.name}` };
  });

  report.heading("The leader's node is lost without warning");
  await report.step('another node takes the VIP', async () => {
    const current = await lead();
    const others = speakers.filter((speaker) => speaker !== current);
    const probe = await started(client, VIP, 32);
    await net.lan.block(current.node.namespace);
    const next = await eventually(
      'another leader',
      () => leaderOf(others, VIP),
      (speaker) => speaker !== current,
      SOON,
    );
    await sleep(500);
    const { outage, lost } = await probe.stop();
    await net.lan.unblock(current.node.namespace);
    return {
      ok: outage < 1000,
      ms: outage,
      lost,
      detail: `without an answer; ${next.name} leads now; flows to its pods are lost with it`,
    };
  });

  report.heading('The API server is killed');
  await report.step('traffic and leaders do not mind', async () => {
    const probe = await started(client, VIP);
    await plane.stop('kube-apiserver', 'SIGKILL');
    const stale = async () => (await (speakers[0] as Speaker).status()).source.staleSince;
    await eventually('status says stale', stale, (at) => at !== undefined, SOON);
    await sleep(1500);
    const { sent, lost } = await probe.stop();
    return { ok: lost === 0, lost, detail: `of ${sent} packets while there was no API server` };
  });
  await report.step('it comes back, and a new route is served', async () => {
    await plane.startApiServer();
    const begun = performance.now();
    await plane.apply(route('second', [rule('http', 'TCP', 80, 'web')], { addresses: [SECOND] }));
    await eventually('it is served', () => askHttp(client, SECOND, 80, { timeout: 50 }), undefined, SOON);
    return { ok: true, ms: since(begun), detail: 'after the API server was ready' };
  });
  await show('get', 'serviceroutes');

  if (keep) {
    report.heading('Left running; look around, and end it with Ctrl-C');
    report.note(`ip netns exec ${lab.prefix}-cp kubectl --kubeconfig ${plane.kubeconfig} get serviceroutes`);
    report.note(`ip netns exec ${client.path} curl http://${VIP}/`);
    await new Promise((resolve) => process.once('SIGINT', resolve));
  }
  await Promise.all(speakers.map((speaker) => speaker.stop()));
}

/** A probe whose answers come. */
async function started(from: Parameters<typeof Probe.start>[0], vip: string, flows = 1): Promise<Probe> {
  const probe = await Probe.start(from, vip, 53, 500, flows);
  await eventually(
    'probes are answered',
    () => probe.answered,
    (count) => count > 100,
  );
  return probe;
}

function since(start: number): number {
  return Math.round(performance.now() - start);
}
