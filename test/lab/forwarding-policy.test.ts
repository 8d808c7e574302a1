import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { RuleOptions } from '../../src/act/forwarding/skeleton.ts';
import { httpBackend } from '../harness/backends.ts';
import { askHttp } from '../harness/clients.ts';
import { Lab } from '../harness/lab.ts';
import { type Node, type NodeLan, nodeLan, type Pod } from '../harness/nodes.ts';
import { serviceProxy } from '../harness/service-proxy.ts';
import { applied, entry, forwardingOf, plan, pointAt } from './forwarding-fixture.ts';

const VIP = '192.168.50.100';
const VIP6 = 'fd50::100';

/** As iptables' FORWARD policy DROP with the rule by which kube-proxy accepts what it marked. */
const POLICY = `table inet firewall {
  chain forward { type filter hook forward priority 0; policy drop; meta mark & 0x4000 == 0x4000 accept; }
  chain last { type filter hook forward priority 20; meta mark & 0x4000 == 0x4000 counter; }
}`;

let lab: Lab;
let lan: NodeLan;
let node: Node;
let pod: Pod;

beforeAll(async () => {
  lab = await Lab.open();
  lan = await nodeLan(lab, { nodes: 1, podsPerNode: 1 });
  node = lan.nodes[0] as Node;
  pod = node.pods[0] as Pod;
  await httpBackend(lab, pod.namespace, 8080);
  for (const vip of [VIP, VIP6]) await pointAt(lan.client.namespace, vip, node.namespace);
  const clusterIP = { v4: '10.96.7.1', v6: 'fd96::7:1' };
  await serviceProxy(node, [
    { name: 'web', protocols: ['TCP'], clusterIP, port: 801, endpoints: [pod], targetPort: 8080 },
  ]);
});
afterAll(() => lab[Symbol.asyncDispose]());
beforeEach(() => node.namespace.run(['nft', 'flush ruleset inet']));

const withRules = (rules: Partial<RuleOptions>) =>
  forwardingOf(lab, node.namespace, { rules: { refusedSources: 'reject', forwardMark: 0, ...rules } });
const ask = (port: number, vip = VIP) => askHttp(lan.client.namespace, vip, port, { timeout: 500 });

test('a FORWARD policy of DROP lets pass what carries the mark that it accepts, in both modes and families', async () => {
  const wanted = plan([
    entry(VIP, 'TCP', 80, [`${pod.v4}:8080`], { keepClientAddress: true }),
    entry(VIP, 'TCP', 81, ['10.96.7.1:801'], { relayed: true }),
    entry(VIP6, 'TCP', 80, [`[${pod.v6}]:8080`]),
    entry(VIP6, 'TCP', 81, ['[fd96::7:1]:801'], { relayed: true }),
  ]);
  const all = [[80, VIP] as const, [81, VIP] as const, [80, VIP6] as const, [81, VIP6] as const];
  await node.namespace.run(['nft', POLICY]);
  await using plain = withRules({});
  await applied(plain, wanted);
  for (const [port, vip] of all) await expect(ask(port, vip)).rejects.toThrow('no answer');
  await plain[Symbol.asyncDispose]();
  await using marked = withRules({ forwardMark: 0x4000 });
  await applied(marked, wanted);
  for (const [port, vip] of all) expect(await ask(port, vip)).toMatchObject({ backend: pod.name });
  // A mark that stayed would make kube-proxy masquerade what must keep its address.
  expect(await ask(80)).toMatchObject({ client: lan.client.v4 });
  const { stdout } = await node.namespace.run(['nft', 'list', 'chain', 'inet', 'firewall', 'last']);
  expect(stdout).toContain('counter packets 0 ');
});

test('clients outside of the source ranges get no answer where they are dropped', async () => {
  await using dropping = withRules({ refusedSources: 'drop' });
  const outside = { sourceRanges: ['192.0.2.0/24'] };
  await applied(
    dropping,
    plan([entry(VIP, 'TCP', 80, [`${pod.v4}:8080`], outside), entry(VIP, 'TCP', 81, [`${pod.v4}:8080`])]),
  );
  expect(await ask(81)).toMatchObject({ backend: pod.name });
  await using capture = await lan.client.namespace.capture(`tcp port 80 or icmp`);
  await expect(ask(80)).rejects.toThrow('no answer');
  expect((await capture.stop()).filter(({ text }) => !text.includes(`> ${VIP}.80`))).toEqual([]);
  // The ports that nothing serves are still refused.
  await expect(ask(82)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});
