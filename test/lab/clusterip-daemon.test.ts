import { expect, test } from 'vitest';
import { askHttp, fetchFrom } from '../harness/clients.ts';
import { eventually } from '../harness/eventually.ts';
import { route, rule, service } from '../harness/manifests.ts';
import type { NodeLan } from '../harness/nodes.ts';
import { serviceProxy } from '../harness/service-proxy.ts';
import { conditionOf, programmed, type Speaker } from '../harness/speaker.ts';
import { daemonLab, POOL, VIP, WEB } from './daemon-fixture.ts';

const RELAYED = '192.168.50.105';
const CLUSTER_IP = { v4: '10.96.7.9', v6: 'fd96::7:9' };
const SHOP = route('shop', [rule('http', 'TCP', 80, 'shop')], { addresses: [RELAYED], forwarding: 'ClusterIP' });

/** A folder /run/netns of its own, as every host has: nodes of a lab share their files. */
const OWN_FOLDER = ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs netns /run/netns && exec "$@"', '--'];

/** One node with the routes `web` of mode Endpoints and `shop` of mode ClusterIP. */
async function open(through: readonly string[] = []) {
  const lab = await daemonLab({
    nodes: 1,
    files: { 'pool.yaml': [POOL], 'web.yaml': [WEB], 'shop.yaml': [SHOP] },
    prepare: ({ nodes }) => proxies(nodes),
    settle: false,
    flags: ['--metrics', '0.0.0.0:7946'],
    through: [...OWN_FOLDER, ...through],
  });
  const ports = [{ name: 'http', port: 80, targetPort: 8080 }];
  const pods = lab.nodes.flatMap((node) => node.pods);
  await lab.manifests.write('shop-service.yaml', ...service('shop', ports, pods, { clusterIPs: [CLUSTER_IP.v4] }));
  return lab;
}

async function proxies(nodes: NodeLan['nodes']): Promise<void> {
  const shop = { name: 'shop', protocols: ['TCP'] as const, clusterIP: CLUSTER_IP, port: 80, targetPort: 8080 };
  await Promise.all(nodes.map((node) => serviceProxy(node, [{ ...shop, endpoints: node.pods }])));
}

test('a route of mode ClusterIP is served through the service proxy', async () => {
  await using lab = await open();
  const [speaker] = lab.speakers as [Speaker];
  await programmed(speaker);
  expect(await askHttp(lab.client.namespace, RELAYED, 80)).toMatchObject({ backend: 'p11' });
  expect(await askHttp(lab.client.namespace, VIP, 80)).toMatchObject({ backend: 'p11' });
  await expect(askHttp(lab.client.namespace, RELAYED, 81)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  const scrape = async () =>
    (await fetchFrom(lab.client.namespace, speaker.node.v4, 7946, { path: '/metrics' })).toString();
  const labels = (vip: string, port: number) => `{vip="${vip}",protocol="TCP",port="${port}"} 1\n`;
  const counted = await eventually('both modes are counted', scrape, (text) => text.includes(labels(RELAYED, 81)));
  for (const vip of [RELAYED, VIP]) expect(counted).toContain(`signpost_vip_connections_total${labels(vip, 80)}`);
  expect(counted).toContain(`signpost_vip_refused_packets_total${labels(RELAYED, 81)}`);
});

test('without SYS_ADMIN its condition names the overlay, its VIP is left alone, and other routes are served', async () => {
  await using lab = await open(['setpriv', '--bounding-set=-sys_admin', '--inh-caps=-sys_admin']);
  const [speaker] = lab.speakers as [Speaker];
  const condition = await eventually(
    'the route says why',
    async () => conditionOf(await speaker.route('shop'), 'Programmed'),
    (c) => c?.reason === 'RulesNotInstalled',
    { within: 10_000 },
  );
  expect(condition?.message).toContain('apply daemonset/clusterip-forwarding');
  await eventually(
    'the other is programmed',
    async () => conditionOf(await speaker.route('web'), 'Programmed')?.status,
    (status) => status === 'True',
    { within: 10_000 },
  );
  expect(await askHttp(lab.client.namespace, VIP, 80)).toMatchObject({ backend: 'p11' });
  await expect(askHttp(lab.client.namespace, RELAYED, 80, { timeout: 5_000 })).rejects.toMatchObject({
    code: 'EHOSTUNREACH',
  });
});
