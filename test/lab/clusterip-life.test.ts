import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Problem } from '../../net/result.ts';
import { removeForwarding } from '../../src/act/forwarding/cleanup.ts';
import type { Forwarding } from '../../src/act/forwarding/forwarding.ts';
import type { ForwardingPlan } from '../../src/decide/types.ts';
import { httpBackend, tcpBackend, udpBackend } from '../harness/backends.ts';
import { askHttp, askUdp, EchoConnection, UdpFlow } from '../harness/clients.ts';
import { eventually } from '../harness/eventually.ts';
import { Lab } from '../harness/lab.ts';
import { type Node, type NodeLan, nodeLan, type Pod } from '../harness/nodes.ts';
import { type ProxiedService, serviceProxy } from '../harness/service-proxy.ts';
import { applied, at, entry, forwardingOf, plan, pointAt } from './forwarding-fixture.ts';

const VIP = '192.168.50.100';
const VIP6 = 'fd50::100';
const OTHER = '192.168.50.101';
const RELAYED = { relayed: true } as const;

let lab: Lab;
let lan: NodeLan;
let node: Node;
let pod: Pod;
let forwarding: Forwarding;
let drifts: Problem[];

const service = (name: string, number: number, protocol: 'TCP' | 'UDP', targetPort: number): ProxiedService => ({
  name,
  protocols: [protocol],
  clusterIP: { v4: `10.96.7.${number}`, v6: `fd96::7:${number}` },
  port: 800 + number,
  endpoints: [pod],
  targetPort,
});

beforeEach(async () => {
  lab = await Lab.open();
  lan = await nodeLan(lab, { nodes: 1, podsPerNode: 1 });
  node = lan.nodes[0] as Node;
  pod = node.pods[0] as Pod;
  await httpBackend(lab, pod.namespace, 8080);
  await tcpBackend(lab, pod.namespace, 7);
  await udpBackend(lab, pod.namespace, 5353, [pod.v4, pod.v6]);
  await serviceProxy(node, [
    service('web', 1, 'TCP', 8080),
    service('echo', 2, 'TCP', 7),
    service('dns', 3, 'UDP', 5353),
  ]);
  for (const vip of [VIP, VIP6, OTHER]) await pointAt(lan.client.namespace, vip, node.namespace);
  drifts = [];
  forwarding = forwardingOf(lab, node.namespace, { checkInterval: 100, onDrift: (problem) => drifts.push(problem) });
});

afterEach(() => lab[Symbol.asyncDispose]());

const clusterIp = () =>
  plan([
    entry(VIP, 'TCP', 80, ['10.96.7.1:801'], RELAYED),
    entry(VIP, 'TCP', 7, ['10.96.7.2:802'], RELAYED),
    entry(VIP, 'UDP', 53, ['10.96.7.3:803'], RELAYED),
    entry(VIP6, 'TCP', 80, ['[fd96::7:1]:801'], RELAYED),
  ]);
const endpoints = () =>
  plan([
    entry(VIP, 'TCP', 80, [`${pod.v4}:8080`]),
    entry(VIP, 'TCP', 7, [`${pod.v4}:7`]),
    entry(VIP, 'UDP', 53, [`${pod.v4}:5353`]),
    entry(VIP6, 'TCP', 80, [`[${pod.v6}]:8080`]),
  ]);

const client = () => lan.client.namespace;
const served = () => askHttp(client(), VIP, 80, { timeout: 300 });
const bothServed = async () => [await served(), await askHttp(client(), VIP6, 80, { timeout: 300 })];
const inPrivate = () => at(node.namespace).privateNamespace;
const ip = async (...args: string[]) => (await node.namespace.run(['ip', ...args])).stdout;
const inside = async (...args: string[]) =>
  (await node.namespace.run(['nsenter', `--net=/run/netns/${inPrivate()}`, ...args])).stdout;
/** Connections that went through the private namespace so far. */
const relayedConnections = async () => Number(await inside('conntrack', '-C'));

test('the way through the private namespace has the MTU of the node, both families and no more', async () => {
  await node.namespace.ip('link set eth0 mtu 1400');
  await applied(forwarding, clusterIp());
  await bothServed();
  expect(await relayedConnections()).toBe(2);
  expect(await ip('link', 'show', 'signpost0')).toContain('mtu 1400');
  expect(await inside('ip', 'link', 'show', 'host0')).toContain('mtu 1400');
  // The MTU follows the node's.
  await node.namespace.ip('link set eth0 mtu 1500');
  await eventually(
    'the MTU is the new one',
    () => ip('link', 'show', 'signpost0'),
    (text) => text.includes('mtu 1500'),
  );
  // Nothing is forwarded in there but what the table translates.
  await expect(askHttp(client(), VIP, 81)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test.each<[string, () => Promise<unknown>]>([
  ['a route', () => ip('route', 'del', VIP, 'dev', 'signpost0')],
  ['the IPv6 routes', () => ip('-6', 'route', 'flush', 'proto', '83')],
  ['the way back', () => inside('ip', 'route', 'del', 'default')],
  ['an address', () => ip('address', 'flush', 'dev', 'signpost0')],
  ['the link', () => ip('link', 'set', 'signpost0', 'down')],
  ['the other end', () => inside('ip', 'link', 'set', 'host0', 'down')],
  ['the device', () => ip('link', 'del', 'signpost0')],
  ['the private table', () => inside('nft', 'flush', 'ruleset')],
])('%s that somebody takes away is put back', async (_, take) => {
  await applied(forwarding, clusterIp());
  await bothServed();
  await take();
  await eventually('both families are served', bothServed);
});

test('a namespace whose name somebody takes away is made anew', async () => {
  await applied(forwarding, clusterIp());
  await ip('netns', 'del', inPrivate());
  await eventually(
    'there is one',
    () => ip('netns', 'list'),
    (names) => names.includes(inPrivate()),
  );
  await eventually('both families are served', bothServed);
});

test('without the way nothing is forwarded elsewhere', async () => {
  await node.namespace.ip(`route add default via ${lan.client.v4}`);
  await using slow = forwardingOf(lab, node.namespace, { checkInterval: 60_000 });
  await forwarding[Symbol.asyncDispose]();
  await applied(slow, clusterIp());
  await ip('link', 'del', 'signpost0');
  await using capture = await client().capture(
    `src host ${VIP} or (dst host ${VIP} and ether src ${await node.namespace.mac()})`,
  );
  await expect(served()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  const forwarded = (await capture.stop()).filter(({ text }) => text.includes(`> ${VIP}`));
  expect(forwarded).toEqual([]);
});

test('a route changes its mode live: open connections live on, new ones take the new way', async () => {
  await applied(forwarding, endpoints());
  const first = await EchoConnection.open(client(), VIP, 7);
  const firstFlow = await UdpFlow.open(client(), VIP, 53);
  const firstPort = (await firstFlow.ask()).clientPort;

  await applied(forwarding, clusterIp());
  expect(await first.exchange('still here')).toBe('still here');
  expect((await firstFlow.ask()).clientPort).toBe(firstPort);
  const before = await relayedConnections();
  const second = await EchoConnection.open(client(), VIP, 7);
  const secondFlow = await UdpFlow.open(client(), VIP, 53);
  const secondPort = (await secondFlow.ask()).clientPort;
  expect(await relayedConnections()).toBeGreaterThan(before);

  await applied(forwarding, endpoints());
  expect(await first.exchange('and here')).toBe('and here');
  expect(await second.exchange('here too')).toBe('here too');
  expect((await firstFlow.ask()).clientPort).toBe(firstPort);
  expect((await secondFlow.ask()).clientPort).toBe(secondPort);
  const settled = await relayedConnections();
  await served();
  await askUdp(client(), VIP, 53);
  expect(await relayedConnections()).toBe(settled);
  for (const connection of [first, second, firstFlow, secondFlow]) connection.close();
});

test('two routes of different modes share a VIP', async () => {
  await applied(
    forwarding,
    plan([entry(VIP, 'TCP', 80, ['10.96.7.1:801'], RELAYED), entry(VIP, 'TCP', 81, [`${pod.v4}:8080`])]),
  );
  expect(await askHttp(client(), VIP, 80)).toMatchObject({ backend: pod.name });
  expect(await askHttp(client(), VIP, 81)).toMatchObject({ backend: pod.name });
});

test('source ranges hold before the private namespace', async () => {
  await applied(
    forwarding,
    plan([
      entry(VIP, 'TCP', 80, ['10.96.7.1:801'], { ...RELAYED, sourceRanges: ['192.168.50.0/28'] }),
      entry(VIP, 'TCP', 7, ['10.96.7.2:802'], { ...RELAYED, sourceRanges: ['10.0.0.0/8'] }),
    ]),
  );
  expect(await served()).toHaveProperty('backend');
  await expect(askHttp(client(), VIP, 7)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('the next run takes over what the last one left: open connections go on', async () => {
  await applied(forwarding, clusterIp());
  const open = await EchoConnection.open(client(), VIP, 7);
  await forwarding[Symbol.asyncDispose]();
  expect(await open.exchange('without a daemon')).toBe('without a daemon');
  const second = forwardingOf(lab, node.namespace, { onDrift: (problem) => drifts.push(problem) });
  await applied(second, clusterIp());
  expect(await open.exchange('with the next')).toBe('with the next');
  expect(drifts).toEqual([]);
  open.close();
});

test('all of it goes with the last VIP, and comes again', async () => {
  await applied(forwarding, clusterIp());
  await applied(forwarding, plan([entry(OTHER, 'TCP', 80, [`${pod.v4}:8080`])]));
  expect(await ip('netns', 'list')).not.toContain(inPrivate());
  expect(await ip('link')).not.toContain('signpost0');
  expect(await ip('route')).not.toContain(VIP);
  await applied(forwarding, clusterIp());
  expect(await served()).toHaveProperty('backend');
});

test('cleanup removes the namespace, the link and the routes, and nothing of others', async () => {
  await node.namespace.ip('link add other type veth peer name rehto', `route add 192.0.2.0/24 via ${lan.client.v4}`);
  const before = [await ip('link', 'show', 'other'), await ip('route')];
  await applied(forwarding, clusterIp());
  await forwarding[Symbol.asyncDispose]();
  expect((await removeForwarding(at(node.namespace))).problem).toBeUndefined();
  expect(await ip('netns', 'list')).not.toContain(inPrivate());
  expect([await ip('link', 'show', 'other'), await ip('route')]).toEqual(before);
  expect(await ip('link')).not.toContain('signpost0');
  // Nothing left to remove is no failure.
  expect((await removeForwarding(at(node.namespace))).problem).toBeUndefined();
});

test('where namespaces are refused the other mode works, and it is said what to do', async () => {
  const wanted: ForwardingPlan = plan([
    entry(VIP, 'TCP', 80, ['10.96.7.1:801'], RELAYED),
    entry(OTHER, 'TCP', 80, [`${pod.v4}:8080`]),
  ]);
  // A name that cannot be made stands in for a kernel that refuses.
  const refused = forwardingOf(lab, node.namespace, { privateNamespace: 'no/such/folder' });
  const { applied: carried, problem, clusterIp: trouble } = await refused.apply(wanted);
  expect(problem).toBeUndefined();
  expect(trouble?.fix).toContain('daemonset/clusterip-forwarding');
  expect([...(carried?.vips.keys() ?? [])]).toEqual([OTHER]);
  expect(await askHttp(client(), OTHER, 80)).toHaveProperty('backend');
  await expect(served()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});
