import type { ForwardingEntry } from '../../src/decide/types.ts';
import { httpBackend, udpBackend } from '../harness/backends.ts';
import { Lab } from '../harness/lab.ts';
import { type Dual, type Node, type NodeLan, nodeLan, type Pod } from '../harness/nodes.ts';
import type { ProxiedService } from '../harness/service-proxy.ts';
import { applied, directEntry, entry, forwardingOf, plan, pointAt, surroundingsOf } from './forwarding-fixture.ts';

export type Mode = 'Endpoints' | 'Direct' | 'ClusterIP';

export const FAMILIES = ['v4', 'v6'] as const;
export type Family = (typeof FAMILIES)[number];

/** VIPs of a mode and family; `bare` serves nothing. */
export const VIPS = {
  Endpoints: {
    v4: { a: '192.168.50.100', b: '192.168.50.101', bare: '192.168.50.102' },
    v6: { a: 'fd50::100', b: 'fd50::101', bare: 'fd50::102' },
  },
  Direct: {
    v4: { a: '192.168.50.120', b: '192.168.50.121', bare: '192.168.50.122' },
    v6: { a: 'fd50::120', b: 'fd50::121', bare: 'fd50::122' },
  },
  ClusterIP: {
    v4: { a: '192.168.50.110', b: '192.168.50.111', bare: '192.168.50.112' },
    v6: { a: 'fd50::110', b: 'fd50::111', bare: 'fd50::112' },
  },
} as const;

/** Each test has ports of its own on the VIP `a`. */
export const PORT = {
  spread: 80,
  hairpin: 81,
  remote: 82,
  host: 83,
  hostRemote: 84,
  kept: 85,
  other: 8081,
  ownPort: 9000,
  sctp: 3868,
} as const;

interface Hosts {
  readonly n1: Node;
  readonly n2: Node;
  readonly p11: Pod;
  readonly p12: Pod;
  readonly p21: Pod;
}

/** A LAN of two nodes with every kind of endpoint, and rules on both. */
export interface Stage extends Hosts, AsyncDisposable {
  readonly lab: Lab;
  readonly lan: NodeLan;
}

/** Gives each node a service proxy for these Services, and resolves when it works. */
export type StartProxy = (lab: Lab, lan: NodeLan, services: readonly ProxiedService[]) => Promise<void>;

/** n1 is where the LAN finds the VIPs. Rules are on both nodes, as on every node of a cluster. */
export async function openStage(modes: readonly Mode[], startProxy?: StartProxy): Promise<Stage> {
  const lab = await Lab.open();
  const lan = await nodeLan(lab, { nodes: 2, podsPerNode: 2 });
  const [n1, n2] = lan.nodes as [Node, Node];
  const [p11, p12] = n1.pods as [Pod, Pod];
  const [p21] = n2.pods as [Pod];
  const hosts = { n1, n2, p11, p12, p21 };
  // The strictest setting that distributions have: a node must need no exception.
  for (const { namespace } of lan.nodes) namespace.sysctl({ 'ipv4.conf.all.rp_filter': 1 });
  for (const { namespace, v4, v6 } of Object.values(hosts)) {
    await httpBackend(lab, namespace, 8080);
    await udpBackend(lab, namespace, 8080, [v4, v6]);
  }
  await httpBackend(lab, p12.namespace, 9090, 'other');
  const services = servicesOf(hosts);
  await startProxy?.(lab, lan, Object.values(services));
  const of = modes.flatMap((mode) => FAMILIES.map((family) => ({ mode, family })));
  const bare = of.map(({ mode, family }) => VIPS[mode][family].bare);
  const install = async (node: Node) => {
    const entries = of.flatMap(({ mode, family }) => entriesOf(mode, family, services, node, lan.nodes));
    const direct = await surroundingsOf(node, lan.nodes);
    await applied(forwardingOf(lab, node.namespace), { ...plan(entries, bare), direct });
  };
  await Promise.all(lan.nodes.map(install));
  for (const vip of of.flatMap(({ mode, family }) => Object.values(VIPS[mode][family]))) {
    await pointAt(lan.client.namespace, vip, n1.namespace);
  }
  return { lab, lan, ...hosts, [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose]() };
}

type Services = ReturnType<typeof servicesOf>;

function servicesOf({ n1, n2, p11, p12, p21 }: Hosts) {
  let count = 0;
  const service = (
    name: string,
    endpoints: readonly Dual[],
    protocols: ProxiedService['protocols'] = ['TCP', 'UDP'],
    targetPort = 8080,
  ): ProxiedService => {
    const number = ++count + 10;
    const clusterIP = { v4: `10.96.7.${number}`, v6: `fd96::7:${number}` };
    return { name, protocols, clusterIP, port: 8800, endpoints, targetPort };
  };
  return {
    spread: service('spread', [p11, p12, p21]),
    hairpin: service('hairpin', [p11]),
    remote: service('remote', [p21]),
    host: service('host', [n1]),
    hostremote: service('hostremote', [n2]),
    sctp: service('sctp', [p11], ['SCTP'], 3868),
    other: service('other', [p12], ['TCP'], 9090),
  };
}

/** As the daemon of `self` would plan them. */
function entriesOf(
  mode: Mode,
  family: Family,
  services: Services,
  self: Node,
  nodes: readonly Node[],
): ForwardingEntry[] {
  const { a, b } = VIPS[mode][family];
  const at = (address: Dual, port: number) => `[${address[family]}]:${port}`;
  const entries = (vip: string, port: number, service: ProxiedService, settings = {}): ForwardingEntry[] => {
    const { endpoints, targetPort, clusterIP } = service;
    const pods = endpoints.map((endpoint) => at(endpoint, targetPort));
    const places = endpoints.map((endpoint) => nodeOf(endpoint, nodes));
    const how = {
      Endpoints: { targets: pods },
      Direct: { targets: pods, direct: directEntry(pods, places, self) },
      ClusterIP: { targets: [at(clusterIP, service.port)], relayed: true } as const,
    };
    const { targets, ...rest } = how[mode];
    return service.protocols.map((protocol) => entry(vip, protocol, port, targets, { ...settings, ...rest }));
  };
  return [
    ...entries(a, PORT.spread, services.spread),
    ...entries(b, PORT.spread, services.spread),
    ...entries(a, PORT.hairpin, services.hairpin),
    ...entries(b, PORT.hairpin, services.hairpin),
    ...entries(a, PORT.remote, services.remote),
    ...entries(a, PORT.host, services.host),
    ...entries(a, PORT.hostRemote, services.hostremote),
    ...(mode !== 'ClusterIP' ? entries(a, PORT.kept, services.hairpin, { keepClientAddress: true }) : []),
    ...entries(a, PORT.sctp, services.sctp),
    ...entries(a, PORT.other, services.other),
    ...entries(a, PORT.ownPort, { ...services.host, protocols: ['TCP'] }),
  ];
}

/** The node that a host is, or that a pod is on. */
function nodeOf(host: Dual, nodes: readonly Node[]): Node {
  const found = nodes.find((node) => node.v4 === host.v4 || node.pods.some((pod) => pod.v4 === host.v4));
  if (found === undefined) throw new Error(`${host.v4} is on no node`);
  return found;
}
