import type { Lab } from './lab.ts';
import { assign, type Lan } from './lan.ts';
import type { Namespace } from './namespace.ts';

/** Addresses of one host, without prefix length. */
export interface Dual {
  readonly v4: string;
  readonly v6: string;
}

export interface Pod extends Dual {
  readonly name: string;
  readonly namespace: Namespace;
  readonly node: Node;
}

/** A node with a bridge for its pods, as the bridge CNI makes it, and routes to the other nodes' pods. */
export interface Node extends Dual {
  readonly name: string;
  readonly namespace: Namespace;
  readonly pods: readonly Pod[];
}

export interface NodeLan {
  readonly lan: Lan;
  readonly client: Dual & { readonly namespace: Namespace };
  readonly nodes: readonly Node[];
}

/**
 * Nodes n1, n2, ... at 192.168.50.11.. and fd50::11.. with pods p11, p12, ... (node, number) at 10.244.N.5.. and
 * fd10:244:N::5.., and a client at 192.168.50.2 and fd50::2. VIPs are free from 192.168.50.100 and fd50::100.
 */
export async function nodeLan(lab: Lab, { nodes: count = 3, podsPerNode = 2 } = {}): Promise<NodeLan> {
  const lan = await lab.lan('lan');
  const client = { v4: '192.168.50.2', v6: 'fd50::2' };
  const [clientSpace, ...nodes] = await Promise.all([
    lab.host('client', lan, [`${client.v4}/24`, `${client.v6}/64`]),
    ...Array.from({ length: count }, (_, i) => makeNode(lab, lan, i + 1, podsPerNode)),
  ]);
  await Promise.all(nodes.map((node) => node.namespace.ip(...nodes.filter((n) => n !== node).flatMap(podRoutes))));
  return { lan, client: { ...client, namespace: clientSpace }, nodes };
}

async function makeNode(lab: Lab, lan: Lan, number: number, podCount: number): Promise<Node> {
  const address = { v4: `192.168.50.${10 + number}`, v6: `fd50::${10 + number}` };
  const namespace = await lab.namespace(`n${number}`);
  namespace.sysctl({
    'ipv4.ip_forward': 1,
    'ipv6.conf.all.forwarding': 1,
    // Redirects count against the client's allowance of ICMP errors, and tests await each of those.
    'ipv4.icmp_ratelimit': 0,
    'ipv6.icmp.ratelimit': 0,
  });
  await lan.attach(namespace, [`${address.v4}/24`, `${address.v6}/64`]);
  await namespace.ip(
    'link add cni0 type bridge stp_state 0 forward_delay 0',
    'link set cni0 up',
    assign(`10.244.${number}.1/24`, 'cni0'),
    assign(`fd10:244:${number}::1/64`, 'cni0'),
  );
  const pods: Pod[] = [];
  const node = { ...address, name: namespace.name, namespace, pods };
  for (let i = 1; i <= podCount; i++) pods.push(await makePod(lab, node, number, i));
  return node;
}

async function makePod(lab: Lab, node: Node, nodeNumber: number, number: number): Promise<Pod> {
  const address = { v4: `10.244.${nodeNumber}.${4 + number}`, v6: `fd10:244:${nodeNumber}::${4 + number}` };
  const namespace = await lab.namespace(`p${nodeNumber}${number}`);
  await node.namespace.ip(
    `link add ${namespace.name} type veth peer name eth0 netns ${namespace.path}`,
    `link set ${namespace.name} master cni0 up`,
    // As the bridge CNI's hairpinMode: a pod may reach itself through a VIP.
    `link set ${namespace.name} type bridge_slave hairpin on`,
  );
  await namespace.ip(
    'link set eth0 up',
    assign(`${address.v4}/24`, 'eth0'),
    assign(`${address.v6}/64`, 'eth0'),
    `route add default via 10.244.${nodeNumber}.1`,
    `route add ::/0 via fd10:244:${nodeNumber}::1`,
  );
  return { ...address, name: namespace.name, namespace, node };
}

function podRoutes(node: Node): string[] {
  const number = node.name.slice(1);
  return [`route add 10.244.${number}.0/24 via ${node.v4}`, `route add fd10:244:${number}::/64 via ${node.v6}`];
}
