import { symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest';
import { ClusterLab } from '../harness/cluster/cluster-lab.ts';
import { serviceOf } from '../harness/cluster/objects.ts';
import { describeOnCluster } from '../harness/cluster/programs.ts';
import { type Output, run } from '../harness/command.ts';
import { eventually } from '../harness/eventually.ts';
import { pool, route, rule, temporaryFolder } from '../harness/manifests.ts';
import { leaderOf, type Speaker } from '../harness/speaker.ts';

const PROGRAM = resolve(import.meta.dirname, '../../dist/signpost.mjs');
const VIP = '192.168.50.100';
const SOON = { within: 10_000, every: 100 };

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
    readonly spec: { readonly nodeName?: string; readonly affinity: { readonly nodeAffinity: object } };
  }[];
}

await describeOnCluster('kubectl signpost', (programs) => {
  let cluster: ClusterLab;
  let speakers: readonly Speaker[];
  let program: string;

  const kubectl = async (...args: readonly string[]) => (await cluster.plane.kubectl(args)).stdout;
  /** From a host that has nothing but the program and a kubeconfig. */
  const plugin = (...args: readonly string[]): Promise<Output> => {
    const line = [process.execPath, program, '--kubeconfig', cluster.plane.kubeconfig, ...args];
    return run(cluster.net.client.namespace.command(...line), { mayFail: true, timeout: 40_000 });
  };
  const says = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await plugin(...args);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    return stdout;
  };
  const tables = async ({ node }: Speaker) => (await node.namespace.run(['nft', 'list', 'tables'])).stdout;
  const names = () => kubectl('get', 'speakers', '-o', 'name');
  const selectNodes = (selector: object) => {
    const patch = { spec: { template: { spec: { nodeSelector: selector } } } };
    return kubectl('-n', 'signpost', 'patch', 'ds', 'signpost', '--type=merge', '-p', JSON.stringify(patch));
  };

  beforeAll(async () => {
    cluster = await ClusterLab.open(programs, { proxy: 'none', flags: ['--daemonset', 'signpost'] });
    program = join(await temporaryFolder(cluster.lab, 'plugin'), 'kubectl-signpost');
    await symlink(PROGRAM, program);
    const wanted = route('web', [rule('http', 'TCP', 80, 'web')], { addresses: [VIP] });
    const refused = route('astray', [rule('http', 'TCP', 80, 'web')], { addresses: ['192.168.51.1'] });
    await cluster.plane.apply(pool('public', ['192.168.50.100-192.168.50.103']), serviceOf('web', { app: 'web' }));
    await cluster.plane.apply(wanted, refused);
    speakers = await cluster.startSpeakers();
    const shown = () => kubectl('get', 'sr', 'web', '--no-headers');
    await eventually('the route is programmed', shown, (text) => text.includes('True'), { within: 30_000 });
  });

  afterAll(() => cluster[Symbol.asyncDispose]());

  const logOnFailure = () =>
    onTestFailed(() => {
      for (const { name, log } of speakers) console.log(name, log.slice(-8).join('\n'));
    });

  test('shows what the speakers tell, and what is wrong', async () => {
    logOnFailure();
    const leader = await leaderOf(speakers, VIP);
    const status = await eventually(
      'status',
      () => says('status'),
      (text) => /3 of 3 ready/.test(text),
      SOON,
    );
    expect(status).toMatch(/^n1 +True +\d +\S+ +held +no/m);
    expect(status).toMatch(new RegExp(`default +web +${VIP} +80/TCP +web:80 +${leader.name} +True`));
    expect(status).toMatch(/! ServiceRoute default\/astray: Programmed=False AddressNotUsable/);
    expect(await says('get', 'vips')).toMatch(new RegExp(`${VIP} +public +L2 +${leader.name} +eth0 +default/web`));
    expect(await says('leaders', VIP)).toMatch(new RegExp(`${VIP} +${leader.name} +eth0 +20`));
    expect((await plugin('leaders', '192.0.2.1')).code).toBe(1);
    const events = () => says('events', '-n', 'default');
    await eventually('its Event', events, (text) => /Normal +Programmed +ServiceRoute default\/web/.test(text), SOON);
    expect((await plugin('sessions')).stderr).toBe('there are no BGPPeers\n');
  });

  test('describes a route, with what to do', async () => {
    const good = await says('describe', 'route', 'web');
    expect(good).toMatch(/http +80\/TCP +web:80/);
    expect(good).toMatch(new RegExp(`${VIP} +L2 +n\\d +eth0`));
    const bad = await says('describe', 'route', 'astray', '-n', 'default');
    expect(bad).toMatch(/Programmed +False +AddressNotUsable/);
    expect(bad).toMatch(/! Programmed: Ask for another address/);
    const json = JSON.parse(await says('describe', 'route', 'web', '-o', 'json')) as { route: { kind: string } };
    expect(json.route.kind).toBe('ServiceRoute');
    expect((await plugin('describe', 'route', 'none')).stderr).toMatch(/there is no ServiceRoute none/);
  });

  test('what cannot be is told in words', async () => {
    expect(await plugin('--context', 'nowhere', 'status')).toMatchObject({ code: 78 });
    expect((await plugin('drain', 'n9')).stderr).toBe('node n9 has no speaker; those that have one: n1, n2, n3\n');
    expect((await plugin('uninstall')).stderr).toMatch(/nothing was removed/);
    expect(await plugin('nonsense')).toMatchObject({ code: 2 });
  });

  test('drains a node, and returns when it announces nothing', async () => {
    logOnFailure();
    const leader = await leaderOf(speakers, VIP);
    expect(await says('drain', leader.name)).toBe(
      `${leader.name} handed over its VIP and takes none until 'kubectl signpost undrain ${leader.name}'\n`,
    );
    expect(await leaderOf(speakers, VIP)).not.toBe(leader);
    expect(await says('status')).toMatch(new RegExp(`^${leader.name} .* held +yes`, 'm'));
    await says('undrain', leader.name);
    expect(await kubectl('get', 'speaker', leader.name, '-o', 'jsonpath={.spec.drain}')).toBe('false');
  });

  test('a speaker that ends leaves its table, unless none comes back to its node', async () => {
    logOnFailure();
    const [speaker] = speakers;
    if (speaker === undefined) throw new Error('no speaker');
    await speaker.stop();
    expect(await tables(speaker)).toContain('table inet signpost');
    expect(await names()).toContain(`/${speaker.name}`);
    speaker.restart();
    const ready = async () => (await speaker.status()).source.synced && (await speaker.status()).forwarding.applied;
    await eventually('it runs again', ready, Boolean, SOON);
    await selectNodes({ lb: 'true' });
    await speaker.stop();
    expect(speaker.log.join('\n')).toContain('no longer selects this node: the nftables tables are removed');
    expect(await tables(speaker)).not.toContain('signpost');
    expect(await names()).not.toContain(`/${speaker.name}\n`);
    await selectNodes({ lb: null });
    speaker.restart();
    await eventually('it runs again', ready, Boolean, SOON);
    await eventually('its Speaker', names, (text) => text.includes(`/${speaker.name}\n`), SOON);
  });

  test('a speaker that cannot ask leaves its table, and ends in time', async () => {
    logOnFailure();
    const [speaker] = speakers;
    if (speaker === undefined) throw new Error('no speaker');
    await selectNodes({ lb: 'true' });
    await cluster.plane.stop('kube-apiserver', 'SIGKILL');
    const started = performance.now();
    await speaker.stop();
    expect(performance.now() - started).toBeLessThan(2_500);
    expect(await tables(speaker)).toContain('table inet signpost');
    await cluster.plane.startApiServer();
    await selectNodes({ lb: null });
    speaker.restart();
    const synced = async () => (await speaker.status()).source.synced;
    await eventually('it runs again', synced, Boolean, { within: 40_000 });
  });

  test('uninstalls: the speakers clean up, and nothing is left', async () => {
    logOnFailure();
    const pods = async () =>
      (JSON.parse(await kubectl('-n', 'signpost', 'get', 'pods', '-o', 'json')) as PodList).items;
    const three = await eventually('pods of the DaemonSet', pods, ({ length }) => length === 3, { within: 30_000 });
    const nodeOf = (pod: PodList['items'][number]) => /"(n\d)"/.exec(JSON.stringify(pod.spec.affinity))?.[1] ?? '';
    for (const pod of three.filter(({ spec }) => spec.nodeName === undefined)) {
      const target = { apiVersion: 'v1', kind: 'Node', name: nodeOf(pod) };
      const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: pod.metadata.name }, target };
      await cluster.plane.kubectl(['-n', 'signpost', 'create', '-f', '-'], { input: JSON.stringify(binding) });
    }
    const running = plugin('uninstall', '--crds', '--yes');
    // In the place of the kubelets.
    const marked = (all: PodList['items']) => all.every(({ metadata }) => metadata.deletionTimestamp !== undefined);
    const ending = await eventually('pods are to end', pods, marked, SOON);
    expect(ending).toHaveLength(3);
    for (const speaker of speakers) await speaker.stop();
    for (const { metadata } of ending) {
      await kubectl('-n', 'signpost', 'delete', 'pod', metadata.name, '--force', '--grace-period=0');
    }
    const { code, stdout, stderr } = await running;
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(/with which ServiceRoutes \(2\), AddressPools \(1\) and BGPPeers \(0\) go/);
    for (const speaker of speakers) expect(await tables(speaker)).not.toContain('signpost');
    const kinds = 'crd,clusterrole,clusterrolebinding';
    await eventually(
      'nothing is left',
      () => kubectl('get', kinds, '-l', 'app.kubernetes.io/name=signpost', '-o', 'name'),
      (text) => text === '',
      SOON,
    );
    const left = await kubectl('-n', 'signpost', 'get', 'ds,lease,secret,role,rolebinding', '-o', 'name');
    expect(left).toBe('');
  });
});
