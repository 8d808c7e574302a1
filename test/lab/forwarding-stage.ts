import type { ForwardingEntry } from '../../src/decide/types.ts';
import { httpBackend, udpBackend } from '../harness/backends.ts';
import { Lab } from '../harness/lab.ts';
import { type Dual, type Node, type NodeLan, nodeLan, type Pod } from '../harness/nodes.ts';
import type { ProxiedService } from '../harness/service-proxy.ts';
import { applied, entry, forwardingOf, plan, pointAt } from './forwarding-fixture.ts';

export type Mode = 'Endpoints' | 'ClusterIP';

export const FAMILIES = ['v4', 'v6'] as const;
export type Family = (typeof FAMILIES)[number];

/** VIPs of a mode and family; `bare` serves nothing. */
export const VIPS = {
  Endpoints: {
    v4: { a: '192.168.50.100', b: '192.168.50.101', bare: '192.168.50.102' },
    v6: { a: 'fd50::100', b: 'fd50::101', bare: 'fd50::102' },
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
  const entries = of.flatMap(({ mode, family }) => entriesOf(mode, family, services));
  const wanted = plan(
    entries,
    of.map(({ mode, family }) => VIPS[mode][family].bare),
  );
  await Promise.all(lan.nodes.map((node) => applied(forwardingOf(lab, node.namespace), wanted)));
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

function entriesOf(mode: Mode, family: Family, services: Services): ForwardingEntry[] {
  const { a, b } = VIPS[mode][family];
  const at = (address: Dual, port: number) => `[${address[family]}]:${port}`;
  const entries = (vip: string, port: number, service: ProxiedService, settings = {}): ForwardingEntry[] => {
    const { endpoints, targetPort, clusterIP } = service;
    const direct = endpoints.map((endpoint) => at(endpoint, targetPort));
    const targets = mode === 'Endpoints' ? direct : [at(clusterIP, service.port)];
    const relay = mode === 'ClusterIP' ? ({ relayed: true } as const) : {};
    return service.protocols.map((protocol) => entry(vip, protocol, port, targets, { ...settings, ...relay }));
  };
  return [
    ...entries(a, PORT.spread, services.spread),
    ...entries(b, PORT.spread, services.spread),
    ...entries(a, PORT.hairpin, services.hairpin),
    ...entries(b, PORT.hairpin, services.hairpin),
    ...entries(a, PORT.remote, services.remote),
    ...entries(a, PORT.host, services.host),
    ...entries(a, PORT.hostRemote, services.hostremote),
    ...(mode === 'Endpoints' ? entries(a, PORT.kept, services.hairpin, { keepClientAddress: true }) : []),
    ...entries(a, PORT.sctp, services.sctp),
    ...entries(a, PORT.other, services.other),
    ...entries(a, PORT.ownPort, { ...services.host, protocols: ['TCP'] }),
  ];
}
