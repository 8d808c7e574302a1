import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callDaemon } from '../../src/cli/control-client.ts';
import { askHttp, EchoConnection, fetchFrom } from '../harness/clients.ts';
import { eventually } from '../harness/eventually.ts';
import type { Namespace } from '../harness/namespace.ts';
import { conditionOf, leaderOf } from '../harness/speaker.ts';
import { VIP, VIP6 } from './daemon-fixture.ts';
import { type DirectLab, directLab } from './direct-fixture.ts';

let lab: DirectLab;

beforeAll(async () => {
  lab = await directLab();
});
afterAll(() => lab[Symbol.asyncDispose]());

const ask = (count: number, vip: string) =>
  Promise.all(Array.from({ length: count }, () => askHttp(lab.client.namespace, vip, 80, { timeout: 5_000 })));

describe.each([
  ['v4', VIP],
  ['v6', VIP6],
] as const)('IP%s', (family, vip) => {
  test('each node has its share of new connections, and pods see the client', async () => {
    const answers = await ask(120, vip);
    expect(new Set(answers.map(({ client }) => client))).toEqual(new Set([lab.client[family]]));
    for (const { name } of lab.pods) {
      expect(answers.filter(({ backend }) => backend === name).length).toBeGreaterThan(20);
    }
  });

  test('a client reaches its slot by any node that its frames come to', async () => {
    try {
      for (const { namespace } of lab.nodes) {
        await lab.client.namespace.ip(
          `neighbour replace ${vip} lladdr ${await namespace.mac()} dev eth0 nud permanent`,
        );
        // A node that does not lead may still learn where the others are.
        const answers = await eventually(
          `every endpoint by way of ${namespace.name}`,
          () => ask(30, vip),
          (some) => new Set(some.map(({ backend }) => backend)).size === lab.pods.length,
        );
        expect(new Set(answers.map(({ client }) => client))).toEqual(new Set([lab.client[family]]));
      }
    } finally {
      await lab.client.namespace.ip(`neighbour del ${vip} dev eth0`);
    }
  });

  test('the daemon explains who gets a connection', async () => {
    const [speaker] = lab.speakers;
    const socket = (address: string, port: number) => (family === 'v4' ? `${address}:${port}` : `[${address}]:${port}`);
    for (let i = 0; i < 30; i++) {
      const connection = await EchoConnection.open(lab.client.namespace, vip, 7);
      const flow = { client: socket(lab.client[family], connection.localPort), vip: socket(vip, 7) };
      const reply = await callDaemon(speaker?.socket ?? '', 'POST', '/explain', flow);
      connection.close();
      const pod = lab.pods.find(({ name }) => name === connection.backend);
      expect(reply.ok?.body).toMatchObject({
        mode: 'Direct',
        node: pod?.node.name,
        endpoints: [socket(pod?.[family] ?? '', 7)],
      });
    }
  });

  test('what a switch floods is not taken up, let alone multiplied', async () => {
    const stranger = '02:00:00:00:00:99';
    await using capture = await lab.client.namespace.capture('tcp port 80');
    await lab.client.namespace.ip(`neighbour replace ${vip} lladdr ${stranger} dev eth0 nud permanent`);
    try {
      await expect(askHttp(lab.client.namespace, vip, 80, { timeout: 500 })).rejects.toThrow('no answer');
    } finally {
      await lab.client.namespace.ip(`neighbour del ${vip} dev eth0`);
    }
    const frames = await capture.stop();
    expect(frames.length).toBeGreaterThan(0);
    expect(frames.filter(({ text }) => !text.includes(stranger))).toEqual([]);
  });

  test("a router's word that packets are too big reaches the pod, whichever node it is on", async () => {
    const far = await farClient(family);
    const bodies = await Promise.all(
      Array.from({ length: 24 }, () => fetchFrom(far, vip, 80, { path: '/bytes/100000', timeout: 10_000 })),
    );
    expect(bodies.map((body) => body.length)).toEqual(bodies.map(() => 100_000));
    for (const { namespace } of lab.pods) {
      const { stdout } = await namespace.run(['ip', family === 'v4' ? '-4' : '-6', 'route', 'show', 'cache']);
      expect(stdout).toContain('mtu 1300');
    }
  });
});

test('each node knows the hardware addresses of the others, and of nobody else', async () => {
  const macs = new Map<string, string>();
  for (const { name, namespace } of lab.nodes) macs.set(name, await namespace.mac());
  for (const { name, namespace } of lab.nodes) {
    const others = lab.nodes.filter((node) => node.name !== name).map((node) => macs.get(node.name) ?? '');
    for (const table of ['netdev signpost', 'ip signpost-direct', 'ip6 signpost-direct']) {
      const { stdout } = await namespace.run(['nft', 'list', 'set', ...table.split(' '), 'members']);
      expect(stdout.match(/(?:[0-9a-f]{2}:){5}[0-9a-f]{2}/g)?.sort()).toEqual(others.sort());
    }
  }
});

test('the status tells of mode and shares', async () => {
  const view = await lab.speakers[0]?.route('web');
  const shares = { n1: 0.333, n2: 0.333, n3: 0.333 };
  const ports = { '80/TCP': shares, '7/TCP': shares, '53/UDP': shares };
  expect(view?.forwarding).toEqual([VIP, VIP6].map((address) => ({ address, mode: 'Direct', shares: ports })));
  expect(conditionOf(view, 'Direct')).toMatchObject({ status: 'True', reason: 'InForce' });
});

test('with client affinity one address has one endpoint, whatever its port', async () => {
  await lab.forwardBy('Direct', { sessionAffinity: { type: 'ClientIP' } });
  await eventually(
    'one endpoint',
    () => ask(30, VIP),
    (answers) => new Set(answers.map(({ backend }) => backend)).size === 1,
  );
  expect(new Set((await ask(30, VIP)).map(({ client }) => client))).toEqual(new Set([lab.client.v4]));
  await lab.forwardBy('Direct');
});

test('source ranges refuse at the node of the slot', async () => {
  await lab.forwardBy('Direct', { sourceRanges: ['192.168.50.77/32'] });
  await eventually('refused', () =>
    askHttp(lab.client.namespace, VIP, 80).then(
      () => false,
      (error: unknown) => (error as { code?: string }).code === 'ECONNREFUSED',
    ),
  );
  await lab.forwardBy('Direct');
  await eventually('served', () => ask(10, VIP));
});

test('a route that goes leaves no table behind', async () => {
  const leader = await leaderOf(lab.speakers, VIP);
  const tables = async () => (await leader.node.namespace.run(['nft', 'list', 'tables'])).stdout;
  expect(await tables()).toContain('table netdev signpost');
  await lab.manifests.remove('web.yaml');
  await eventually('no table', tables, (text) => !text.includes('netdev') && !text.includes('signpost-direct'));
});

/** A client behind a router whose link to it takes packets of 1,300 bytes. */
async function farClient(family: 'v4' | 'v6'): Promise<Namespace> {
  const v4 = family === 'v4';
  const router = await lab.lab.host(`router${family}`, lab.lan, [v4 ? '192.168.50.3/24' : 'fd50::3/64']);
  router.sysctl({
    'ipv4.ip_forward': 1,
    'ipv6.conf.all.forwarding': 1,
    'ipv4.icmp_ratelimit': 0,
    'ipv6.icmp.ratelimit': 0,
  });
  const far = await lab.lab.namespace(`far${family}`);
  await router.ip(
    `link add far type veth peer name eth0 netns ${far.path}`,
    'link set far mtu 1300 up',
    v4 ? 'address add 198.51.100.1/24 dev far' : 'address add fd51::1/64 dev far nodad',
  );
  await far.ip(
    'link set eth0 up',
    v4 ? 'address add 198.51.100.2/24 dev eth0' : 'address add fd51::2/64 dev eth0 nodad',
    v4 ? 'route add default via 198.51.100.1' : 'route add ::/0 via fd51::1',
  );
  const route = v4 ? 'route add 198.51.100.0/24 via 192.168.50.3' : 'route add fd51::/64 via fd50::3';
  for (const { namespace } of lab.nodes) await namespace.ip(route);
  return far;
}
