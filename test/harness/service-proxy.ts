import type { Dual, Node } from './nodes.ts';

/** A Service as a service proxy of the cluster knows it. */
export interface ProxiedService {
  /** Lower-case letters and digits. */
  readonly name: string;
  readonly protocols: readonly ('TCP' | 'UDP' | 'SCTP')[];
  readonly clusterIP: Dual;
  /** Of the ClusterIP. */
  readonly port: number;
  /** Hosts and the port that they listen on. */
  readonly endpoints: readonly Dual[];
  readonly targetPort: number;
}

const FAMILIES = [
  { table: 'ip', family: 'v4', pods: '10.244.0.0/16' },
  { table: 'ip6', family: 'v6', pods: 'fd10:244::/32' },
] as const;

/**
 * Gives a node a service proxy of the shape that kube-proxy has in nftables mode: ClusterIP:port to a random endpoint
 * at priority -100, masquerading of what is marked at 100, ports of ClusterIPs that nothing serves rejected.
 */
export async function serviceProxy(node: Node, services: readonly ProxiedService[]): Promise<void> {
  const input = FAMILIES.map((family) => ruleset(family, services)).join('\n');
  await node.namespace.run(['nft', '-f', '-'], { input });
}

function ruleset({ table, family, pods }: (typeof FAMILIES)[number], services: readonly ProxiedService[]): string {
  const ports = services.flatMap(({ protocols, ...service }) =>
    protocols.map((p) => ({ protocol: p.toLowerCase(), ...service })),
  );
  const elements = ports.map(
    ({ name, protocol, clusterIP, port }) => `${clusterIP[family]} . ${protocol} . ${port} : goto ${name}-${protocol}`,
  );
  const address = table === 'ip' ? 'ipv4_addr' : 'ipv6_addr';
  const chains = ports.flatMap(({ name, protocol, endpoints, targetPort, clusterIP }) => [
    ...endpoints.map(
      (endpoint, i) => `chain ${name}-${protocol}-${i} {
        ${table} saddr ${endpoint[family]} jump mark-for-masquerade
        meta l4proto ${protocol} dnat to ${table === 'ip' ? endpoint[family] : `[${endpoint[family]}]`}:${targetPort}
      }`,
    ),
    `chain ${name}-${protocol} {
      ${table} daddr ${clusterIP[family]} ${table} saddr != ${pods} jump mark-for-masquerade
      numgen random mod ${endpoints.length} vmap { ${endpoints.map((_, i) => `${i} : goto ${name}-${protocol}-${i}`).join(', ')} }
    }`,
  ]);
  return `table ${table} kube-proxy {
    set cluster-ips { type ${address}; elements = { ${services.map((s) => s.clusterIP[family]).join(', ')} }; }
    chain mark-for-masquerade { meta mark set meta mark or 0x4000; }
    ${chains.join('\n')}
    map service-ips { type ${address} . inet_proto . inet_service : verdict; elements = { ${elements.join(', ')} }; }
    chain services { ${table} daddr . meta l4proto . th dport vmap @service-ips; }
    chain nat-prerouting { type nat hook prerouting priority -100; jump services; }
    chain nat-output { type nat hook output priority -100; jump services; }
    chain filter-forward { type filter hook forward priority -110; ct state new ${table} daddr @cluster-ips reject; }
    chain nat-postrouting {
      type nat hook postrouting priority 100;
      meta mark and 0x4000 == 0 return
      meta mark set meta mark xor 0x4000
      masquerade fully-random
    }
  }`;
}
