import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeForwarding } from '../../src/act/forwarding/cleanup.ts';
import { askHttp } from '../harness/clients.ts';
import { ControlPlane } from '../harness/cluster/control-plane.ts';
import { createNode } from '../harness/cluster/objects.ts';
import { describeOnCluster } from '../harness/cluster/programs.ts';
import { eventually } from '../harness/eventually.ts';
import type { Dual, Node, NodeLan, Pod } from '../harness/nodes.ts';
import type { ProxiedService } from '../harness/service-proxy.ts';
import { checkForwarding } from '../lab/forwarding-checks.ts';
import { at } from '../lab/forwarding-fixture.ts';
import { openStage, type Stage, type StartProxy } from '../lab/forwarding-stage.ts';

const MODES = ['Endpoints', 'Direct', 'ClusterIP'] as const;
const PROXY_MODES = ['nftables', 'iptables'] as const;

await describeOnCluster('forwarding', (programs) => {
  describe.each(PROXY_MODES)('beside kube-proxy in mode %s', (proxyMode) => {
    let stage: Stage;
    let before: readonly string[];

    beforeAll(async () => {
      const startProxy: StartProxy = async (lab, lan, services) => {
        const host = await lab.host('cp', lan.lan, ['192.168.50.3/24', 'fd50::3/64']);
        const plane = await ControlPlane.start(programs, {
          at: { namespace: host, address: '192.168.50.3' },
          serviceCidr: '10.96.0.0/16,fd96::/108',
          controllers: false,
        });
        lab.use(plane);
        for (const { name, v4, v6 } of lan.nodes) await createNode(plane, { name, addresses: [v4, v6] });
        await plane.apply(...services.flatMap(objectsOf));
        for (const { namespace, name } of lan.nodes) plane.startProxy(namespace, name, proxyMode);
        for (const node of lan.nodes) await proxied(node, services);
        before = await rulesOf(lan, proxyMode);
      };
      stage = await openStage(MODES, startProxy);
    }, 120_000);

    afterAll(() => stage[Symbol.asyncDispose]());

    describe.each(MODES)('%s', (mode) => checkForwarding(mode, () => stage));

    test('its rules are the same, byte by byte, with ours and without', async () => {
      expect(before.join()).toContain('10.96.7.');
      expect(await rulesOf(stage.lan, proxyMode)).toEqual(before);
      for (const { namespace } of stage.lan.nodes) {
        expect((await removeForwarding(at(namespace))).problem).toBeUndefined();
      }
      expect(await rulesOf(stage.lan, proxyMode)).toEqual(before);
    });
  });
});

/** A Service, and its endpoints in both families. */
function objectsOf({ name, protocols, clusterIP, port, endpoints, targetPort }: ProxiedService): object[] {
  const metadata = { name, namespace: 'default' };
  const portsOf = (number: number) =>
    protocols.map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: number }));
  const slices = (['IPv4', 'IPv6'] as const).map((addressType) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${name}-${addressType.toLowerCase()}`,
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': name },
    },
    addressType,
    ports: portsOf(targetPort),
    endpoints: endpoints.map((endpoint) => ({
      addresses: [addressType === 'IPv4' ? endpoint.v4 : endpoint.v6],
      conditions: { ready: true, serving: true, terminating: false },
    })),
  }));
  const spec = {
    clusterIP: clusterIP.v4,
    clusterIPs: [clusterIP.v4, clusterIP.v6],
    ipFamilyPolicy: 'RequireDualStack',
    ports: portsOf(port),
  };
  return [{ apiVersion: 'v1', kind: 'Service', metadata, spec }, ...slices];
}

/** Waits until pods of the node reach every Service of TCP by its ClusterIP. */
async function proxied({ pods }: Node, services: readonly ProxiedService[]): Promise<void> {
  const web = services.filter(({ protocols }) => protocols.includes('TCP'));
  // A pod that reaches itself is a matter of kube-proxy's own.
  const other = ({ endpoints }: ProxiedService) => (pods.find((pod) => !endpoints.includes(pod)) ?? pods[1]) as Pod;
  const families = ['v4', 'v6'] satisfies (keyof Dual)[];
  await Promise.all(
    web.flatMap((service) =>
      families.map((family) =>
        eventually(
          `kube-proxy serves ${service.name} by ${family}`,
          () => askHttp(other(service).namespace, service.clusterIP[family], service.port, { timeout: 500 }),
          undefined,
          { within: 30_000, every: 200 },
        ),
      ),
    ),
  );
}

/** Of kube-proxy alone, on each node; chains' counters are not rules. */
async function rulesOf({ nodes }: NodeLan, mode: (typeof PROXY_MODES)[number]): Promise<string[]> {
  const commands = {
    nftables: [
      ['nft', '-s', 'list', 'table', 'ip', 'kube-proxy'],
      ['nft', '-s', 'list', 'table', 'ip6', 'kube-proxy'],
    ],
    iptables: [['iptables-save'], ['ip6tables-save']],
  } as const;
  const listings = nodes.flatMap(({ namespace }) => commands[mode].map((command) => namespace.run(command)));
  return (await Promise.all(listings)).map(({ stdout }) => stdout.replace(/^#.*\n|\[\d+:\d+\]/gm, ''));
}
