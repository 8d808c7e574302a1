import type { Lab } from './lab.ts';
import type { Namespace } from './namespace.ts';
import type { Dual, NodeLan } from './nodes.ts';
import type { PeerConfig, Router, RouterKind } from './routers/router.ts';
import { startRouter } from './routers.ts';

/** A top-of-rack router of a `nodeLan`. */
export interface TopOfRack extends Dual {
  readonly router: Router;
  readonly namespace: Namespace;
}

export interface TopOfRackOptions {
  readonly kind: RouterKind;
  /** Last part of its addresses: 254 is 192.168.50.254 and fd50::254. */
  readonly host: number;
  readonly asn?: number;
  /** Of every node's session, by default an eBGP one with AS 65001. */
  readonly peer?: Partial<PeerConfig>;
}

/** A router on the LAN that peers with every node, over IPv4 alone for both families. */
export async function topOfRack(lab: Lab, net: NodeLan, options: TopOfRackOptions): Promise<TopOfRack> {
  const { kind, host, asn = 65000, peer } = options;
  const address = { v4: `192.168.50.${host}`, v6: `fd50::${host}` };
  const namespace = await lab.host(`tor${host}`, net.lan, [`${address.v4}/24`, `${address.v6}/64`]);
  namespace.sysctl({ 'ipv4.fib_multipath_hash_policy': 1, 'ipv6.fib_multipath_hash_policy': 1 });
  const peers = net.nodes.map(({ v4 }) => ({ address: v4, asn: 65001, ...peer }));
  const router = await startRouter(lab, namespace, kind, { asn, routerId: `10.203.0.${host}`, peers });
  return { ...address, router, namespace };
}

/** A client behind the routers, 198.51.100.2 and 2001:db8:99::2, which sends to VIPs by the first of them. */
export async function outsideClient(lab: Lab, net: NodeLan, routers: readonly TopOfRack[]): Promise<Namespace> {
  const lan = await lab.lan('outside');
  const client = await lab.host('outsider', lan, ['198.51.100.2/24', '2001:db8:99::2/64']);
  for (const [i, { namespace }] of routers.entries()) {
    await lan.attach(namespace, [`198.51.100.${100 + i}/24`, `2001:db8:99::${100 + i}/64`], 'out');
  }
  const [first] = routers;
  if (first === undefined) throw new Error('a client behind routers needs a router');
  await client.ip('route add default via 198.51.100.100', 'route add ::/0 via 2001:db8:99::100');
  for (const { namespace } of net.nodes) {
    await namespace.ip(`route add default via ${first.v4}`, `route add ::/0 via ${first.v6}`);
  }
  return client;
}
