import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseIp } from '../../net/ip.ts';
import type { Vip } from '../../net/names.ts';
import { must } from '../../net/result.ts';
import { Table } from '../../net/table.ts';
import type { Forwarding } from '../../src/act/forwarding/forwarding.ts';
import { readCounters } from '../../src/act/forwarding/readings.ts';
import type { ForwardingEntry, ForwardingKey } from '../../src/decide/types.ts';
import { httpBackend, tcpBackend, udpBackend } from '../harness/backends.ts';
import { askHttp, askUdp, EchoConnection, UdpFlow } from '../harness/clients.ts';
import { eventually } from '../harness/eventually.ts';
import { Lab } from '../harness/lab.ts';
import { type Node, type NodeLan, nodeLan, type Pod } from '../harness/nodes.ts';
import { udpSocket } from '../harness/sockets.ts';
import { applied, ETH0, entry, forwardingOf, plan, pointAt } from './forwarding-fixture.ts';

const VIP = { v4: '192.168.50.100', v6: 'fd50::100' } as const;
/** More addresses of the client, to be many clients. */
const CLIENTS = Array.from({ length: 40 }, (_, i) => `192.168.50.${150 + i}`);

/** One datagram to each of so many ports: as many connections to track. */
const FLOWS = `
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in range(1, int(sys.argv[2]) + 1): s.sendto(b'x', (sys.argv[1], port))
`;

let lab: Lab;
let lan: NodeLan;
let node: Node;
let pods: readonly [Pod, Pod, Pod];
let forwarding: Forwarding;

beforeAll(async () => {
  lab = await Lab.open();
  lan = await nodeLan(lab, { nodes: 3, podsPerNode: 3 });
  node = lan.nodes[0] as Node;
  pods = node.pods as unknown as typeof pods;
  await lan.client.namespace.ip(...CLIENTS.map((address) => `address add ${address}/24 dev eth0`));
  for (const { namespace } of pods) {
    await httpBackend(lab, namespace, 8080);
    await udpBackend(lab, namespace, 8080);
    await tcpBackend(lab, namespace, 7);
  }
  for (const vip of Object.values(VIP)) await pointAt(lan.client.namespace, vip, node.namespace);
});
afterAll(() => lab[Symbol.asyncDispose]());

beforeEach(async () => {
  forwarding = forwardingOf(lab, node.namespace);
  await applied(forwarding, plan([]));
});
afterEach(() => forwarding[Symbol.asyncDispose]());

const http = (...weights: number[]) => weights.map((weight, i) => `${(pods[i] as Pod).v4}:8080*${weight}`);
const ask = (options = {}) => askHttp(lan.client.namespace, VIP.v4, 80, options);

/** Datagrams from the node to its own port 9. */
async function flood(count: number): Promise<void> {
  const socket = await udpSocket(node.namespace.path, '0.0.0.0');
  await new Promise<void>((done) => socket.connect(9, '127.0.0.1', done));
  for (let sent = 0; sent < count; sent += 500) {
    await Promise.all(Array.from({ length: 500 }, () => new Promise<void>((done) => socket.send('', () => done()))));
  }
  socket.close();
}

async function shares(count: number, askOnce: () => Promise<{ backend: string }>): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (let done = 0; done < count; done += 50) {
    for (const { backend } of await Promise.all(Array.from({ length: 50 }, askOnce))) {
      found[backend] = (found[backend] ?? 0) + 1 / count;
    }
  }
  return found;
}

describe('weights', () => {
  test('shares follow the weights; weight 0 takes none', async () => {
    await applied(forwarding, plan([entry(VIP.v4, 'TCP', 80, http(3, 1, 0))]));
    const found = await shares(1_000, ask);
    expect(Object.keys(found).sort()).toEqual(['p11', 'p12']);
    // Four standard deviations of 1,000 draws.
    expect(Math.abs((found.p11 ?? 0) - 0.75)).toBeLessThan(0.055);
  });

  test('100,000 random draws of the kernel are within 1 % of the weights', async () => {
    await applied(forwarding, plan([entry(VIP.v4, 'UDP', 80, http(7, 2, 1))]));
    const { stdout } = await node.namespace.run(['nft', 'list', 'chain', 'inet', 'signpost', 'random4-7x1-2x1-1x1']);
    const spread = /numgen .*\}/.exec(stdout)?.[0] ?? '';
    const draw = spread.replaceAll(/jump endpoint4-(\d)/g, 'jump s$1');
    // The same rule on the loopback's input, where 100,000 datagrams are sent in a second.
    const chains = [0, 1, 2].map((slot) => `chain s${slot} { counter; drop; }`).join('\n');
    const input = `table ip draws {\n${chains}\nchain in { type filter hook input priority 0; udp dport 9 ${draw}; }\n}\n`;
    await node.namespace.run(['nft', '-f', '-'], { input });
    await flood(100_000);
    const listed = (await node.namespace.run(['nft', 'list', 'table', 'ip', 'draws'])).stdout;
    const counts = [...listed.matchAll(/counter packets (\d+)/g)].map((match) => Number(match[1]));
    await node.namespace.run(['nft', 'delete', 'table', 'ip', 'draws']);
    const total = counts.reduce((sum, count) => sum + count, 0);
    expect(total).toBe(100_000);
    counts.forEach((count, i) => expect(Math.abs(count / total - ([0.7, 0.2, 0.1][i] ?? 0))).toBeLessThan(0.01));
  });
});

describe('a change of endpoints', () => {
  test('leaves open connections alone: drained, and removed', async () => {
    const tcp = (...weights: number[]) => weights.map((weight, i) => `${(pods[i] as Pod).v4}:7*${weight}`);
    await applied(forwarding, plan([entry(VIP.v4, 'TCP', 7, tcp(1))]));
    const open = await EchoConnection.open(lan.client.namespace, VIP.v4, 7);
    await applied(forwarding, plan([entry(VIP.v4, 'TCP', 7, tcp(0, 1))]));
    expect((await EchoConnection.open(lan.client.namespace, VIP.v4, 7)).backend).toBe('p12');
    expect(await open.exchange('drained')).toBe('drained');
    await applied(forwarding, plan([entry(VIP.v4, 'TCP', 7, [`${pods[1].v4}:7`])]));
    expect(await open.exchange('removed')).toBe('removed');
    await applied(forwarding, plan([], [VIP.v4]));
    expect(await open.exchange('without a route')).toBe('without a route');
    open.close();
  });

  test('cuts UDP flows of what was removed, and no others', async () => {
    const flow = await udpSocket(lan.client.namespace.path, '0.0.0.0');
    const next = () =>
      new Promise<string>((resolve) =>
        flow.once('message', (m) => resolve((JSON.parse(String(m)) as { backend: string }).backend)),
      );
    const send = async () => {
      const answer = next();
      flow.send('x', 80, VIP.v4);
      return answer;
    };
    await applied(forwarding, plan([entry(VIP.v4, 'UDP', 80, http(1))]));
    expect(await send()).toBe('p11');
    // Drained: the flow stays.
    await applied(forwarding, plan([entry(VIP.v4, 'UDP', 80, http(0, 1))]));
    expect(await send()).toBe('p11');
    await applied(forwarding, plan([entry(VIP.v4, 'UDP', 80, [`${pods[1].v4}:8080`])]));
    await eventually('the flow moves', send, (backend) => backend === 'p12');
    flow.close();
  });
});

test('a UDP flow leaves an endpoint that has gone within 100 ms, among 50,000 others', async () => {
  const [first, second, third] = pods;
  await applied(forwarding, plan([entry(VIP.v4, 'UDP', 80, [`${first.v4}:8080`])]));
  const flow = await UdpFlow.open(lan.client.namespace, VIP.v4, 80);
  expect(await flow.ask()).toMatchObject({ backend: 'p11' });
  await third.namespace.run(['python3', '-c', FLOWS, lan.client.v4, '50000']);
  const { stdout } = await node.namespace.run(['conntrack', '-C']);
  expect(Number(stdout)).toBeGreaterThan(45_000);
  const times: number[] = [];
  for (const pod of [second, first, second]) {
    const gone = performance.now();
    await applied(forwarding, plan([entry(VIP.v4, 'UDP', 80, [`${pod.v4}:8080`])]));
    const moved = async () => (await flow.ask({ timeout: 100 })).backend;
    await eventually('the flow moves', moved, (backend) => backend === pod.name, { every: 1 });
    times.push(performance.now() - gone);
  }
  const [, median = Number.POSITIVE_INFINITY] = times.sort((a, b) => a - b);
  console.log(`a UDP flow moved ${median.toFixed(1)} ms after its endpoint went, among ${stdout.trim()} connections`);
  expect(median).toBeLessThan(100);
  flow.close();
});

test('a UDP flow that began before its entry was there is translated within half a second', async () => {
  // To have gone anywhere, it needs a route.
  await node.namespace.ip(`route add default via ${lan.nodes[1]?.v4}`);
  const flow = await udpSocket(pods[1].namespace.path, '0.0.0.0');
  const answered = new Promise<string>((resolve) => flow.once('message', (message) => resolve(message.toString())));
  const sending = setInterval(() => flow.send('x', 80, '192.168.50.109'), 20);
  try {
    await eventually('the flow goes astray', async () => {
      const { stdout } = await node.namespace.run(['conntrack', '-L', '--orig-dst', '192.168.50.109']);
      return stdout.includes('UNREPLIED');
    });
    await applied(forwarding, plan([entry('192.168.50.109', 'UDP', 80, http(1))]));
    const late = new Promise<string>((resolve) => setTimeout(() => resolve('no answer'), 500));
    expect(await Promise.race([answered, late])).toContain('p11');
  } finally {
    clearInterval(sending);
    flow.close();
    await node.namespace.ip('route del default');
  }
});

describe('session affinity', () => {
  const from = (address: string) => askHttp(lan.client.namespace, VIP.v4, 80, { localAddress: address });
  const where = async () =>
    Object.fromEntries(await Promise.all(CLIENTS.map(async (c) => [c, (await from(c)).backend] as const)));
  const wanted = (affinity: ForwardingEntry['affinity'], ...weights: number[]) =>
    plan([
      entry(
        VIP.v4,
        'TCP',
        80,
        http(...weights).filter((_, i) => weights[i] !== -1),
        { affinity },
      ),
    ]);

  test.each([[{ type: 'ClientIP', timeoutSeconds: 60 }], [{ type: 'Hash' }]] as const)(
    '%o: a client keeps its endpoint; one that goes moves its own clients',
    async (affinity) => {
      await applied(forwarding, wanted(affinity, 1, 1, 1));
      const before = await where();
      expect(new Set(Object.values(before)).size).toBe(3);
      expect(await where()).toEqual(before);
      await applied(
        forwarding,
        plan([entry(VIP.v4, 'TCP', 80, [`${pods[0].v4}:8080`, `${pods[2].v4}:8080`], { affinity })]),
      );
      const after = await where();
      const moved = CLIENTS.filter((client) => before[client] !== after[client]);
      const orphans = CLIENTS.filter((client) => before[client] === 'p12');
      expect(moved.length).toBeLessThanOrEqual(orphans.length + 2);
      for (const client of orphans) expect(moved).toContain(client);
      expect(await where()).toEqual(after);
    },
  );

  test('ClientIP is forgotten after its timeout, which each connection renews', async () => {
    await applied(forwarding, wanted({ type: 'ClientIP', timeoutSeconds: 1 }, 1, 1, 1));
    const [client = ''] = CLIENTS;
    const { backend } = await from(client);
    const renewals = 6;
    for (let i = 0; i < renewals; i++) {
      await new Promise((done) => setTimeout(done, 300));
      expect((await from(client)).backend).toBe(backend);
    }
    const places = await eventually(
      'another endpoint',
      async () => {
        await new Promise((done) => setTimeout(done, 1_300));
        return (await from(client)).backend;
      },
      (now) => now !== backend,
      { within: 15_000 },
    );
    expect(places).not.toBe(backend);
  });

  test('ClientIP: who comes after a hole does not inherit clients that have moved on', async () => {
    const affinity = { type: 'ClientIP', timeoutSeconds: 60 } as const;
    await applied(forwarding, wanted(affinity, 1, 1, 1));
    await where();
    await applied(
      forwarding,
      plan([entry(VIP.v4, 'TCP', 80, [`${pods[0].v4}:8080`, `${pods[2].v4}:8080`], { affinity })]),
    );
    const settled = await where();
    await applied(forwarding, wanted(affinity, 1, 1, 1));
    expect(await where()).toEqual(settled);
  });
});

describe('source ranges', () => {
  test('admit the clients named and refuse others at once, TCP and UDP', async () => {
    const sourceRanges = ['192.168.50.150/31', '192.168.50.150/32', '192.168.50.152/30'];
    await applied(
      forwarding,
      plan([
        entry(VIP.v4, 'TCP', 80, http(1), { sourceRanges }),
        entry(VIP.v4, 'UDP', 80, http(1), { sourceRanges }),
        entry(VIP.v4, 'TCP', 81, http(1)),
        entry(VIP.v6, 'TCP', 80, [`[${pods[0].v6}]:8080`], { sourceRanges: ['fd51::/64'] }),
      ]),
    );
    const inside = { localAddress: '192.168.50.155' };
    const outside = { localAddress: '192.168.50.156' };
    expect(await ask(inside)).toHaveProperty('backend');
    await expect(ask(outside)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(await askUdp(lan.client.namespace, VIP.v4, 80, inside)).toHaveProperty('backend');
    await expect(askUdp(lan.client.namespace, VIP.v4, 80, outside)).rejects.toMatchObject({
      code: /EHOSTUNREACH|ECONNREFUSED|EACCES/,
    });
    expect(await askHttp(lan.client.namespace, VIP.v4, 81, outside)).toHaveProperty('backend');
    await expect(askHttp(lan.client.namespace, VIP.v6, 80)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('bind pods and processes of the node too', async () => {
    await applied(forwarding, plan([entry(VIP.v4, 'TCP', 80, http(1), { sourceRanges: [`${pods[1].v4}/32`] })]));
    expect(await askHttp(pods[1].namespace, VIP.v4, 80)).toHaveProperty('backend');
    await expect(askHttp(pods[2].namespace, VIP.v4, 80)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await expect(askHttp(node.namespace, VIP.v4, 80)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('that are no networks admit nobody', async () => {
    await applied(forwarding, plan([entry(VIP.v4, 'TCP', 80, http(1), { sourceRanges: ['anybody'] })]));
    await expect(ask()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

test('connections and refusals are counted by VIP and port', async () => {
  await applied(
    forwarding,
    plan([entry(VIP.v4, 'TCP', 80, http(1, 1)), entry(VIP.v6, 'TCP', 80, [`[${pods[0].v6}]:8080`])]),
  );
  for (let i = 0; i < 3; i++) await ask();
  await askHttp(lan.client.namespace, VIP.v6, 80);
  await expect(askHttp(lan.client.namespace, VIP.v4, 4444)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  const counters = must(await readCounters((program) => node.namespace.command(program)));
  expect(counters.connections.get(`${VIP.v4}|TCP|80` as ForwardingKey)).toBe(3);
  expect(counters.connections.get(`${VIP.v6}|TCP|80` as ForwardingKey)).toBe(1);
  expect(counters.refused.get(`${VIP.v4}|TCP|4444` as ForwardingKey)).toBe(1);
});

test.each(['v4', 'v6'] as const)('%s: open connections go on at former holders after two moves', async (family) => {
  const [n1, n2, n3] = lan.nodes as [Node, Node, Node];
  const vip = VIP[family];
  const entries = [
    entry(
      vip,
      'TCP',
      7,
      pods.map((pod) => `[${pod[family]}]:7`),
    ),
  ];
  const bounces = (...nodes: readonly Node[]) => ({
    bounces: Table.from([[vip as Vip, nodes.map((to) => ({ to: must(parseIp(to[family])), device: ETH0 }))]]),
  });
  const openSome = (count: number) =>
    Promise.all(Array.from({ length: count }, () => EchoConnection.open(lan.client.namespace, vip, 7)));
  await applied(forwarding, plan(entries));
  await using second = forwardingOf(lab, n2.namespace);
  await using third = forwardingOf(lab, n3.namespace);
  await applied(second, { ...plan(entries), ...bounces(n1) });
  const open = await openSome(20);
  try {
    await pointAt(lan.client.namespace, vip, n2.namespace);
    for (const connection of open) expect(await connection.exchange('moved')).toBe('moved');
    open.push(...(await openSome(20)));
    await applied(third, { ...plan(entries), ...bounces(n2, n1) });
    // Who asks back, as two that both believe to hold the VIP would, makes no storm of it.
    await applied(second, { ...plan(entries), ...bounces(n3, n1) });
    await pointAt(lan.client.namespace, vip, n3.namespace);
    for (const connection of open) expect(await connection.exchange('moved again')).toBe('moved again');
    const [fresh] = await openSome(1);
    expect(await fresh?.exchange('new')).toBe('new');
    fresh?.close();
    // After the drain time the table is gone, and what still comes is reset.
    await applied(third, plan(entries));
    expect((await n3.namespace.run(['nft', 'list', 'tables'])).stdout).toBe('table inet signpost\n');
    await expect(open[0]?.exchange('late')).rejects.toThrow();
  } finally {
    for (const connection of open) connection.close();
    await pointAt(lan.client.namespace, vip, n1.namespace);
  }
});
