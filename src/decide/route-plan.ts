import { familyOf } from '../../net/ip.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import type { Route } from '../world/objects.ts';
import type { RouteAddresses } from './allocate.ts';
import { decideDirect } from './direct/entry.ts';
import type { DirectContext } from './direct/surroundings.ts';
import {
  clusterIpsOf,
  endpointsOf,
  type RefProblem,
  type ResolvedPort,
  resolveRoute,
  type ServiceLookup,
  type SlicesOf,
} from './resolve.ts';
import { type DirectEntry, type ForwardingEntry, forwardingKey, type Port, type Protocol } from './types.ts';

/** What one route asks of the kernel and of the network, before routes that share a VIP are weighed against each other. */
export interface RoutePlan {
  readonly route: Route;
  readonly addresses: RouteAddresses;
  /** Why the route is not accepted; its entries are then none. */
  readonly rejected: string | undefined;
  readonly refProblems: readonly RefProblem[];
  readonly ports: readonly { readonly protocol: Protocol; readonly port: Port }[];
  /** `ingress:8443`, for printer columns. */
  readonly backends: readonly string[];
  readonly entries: readonly ForwardingEntry[];
  /** Ports without an endpoint that this node may use; with traffic policy Local, on this node. */
  readonly portsWithoutEndpoint: readonly string[];
  readonly endpointCount: number;
  /** How each VIP is forwarded. */
  readonly forwarding: readonly VipForwarding[];
}

/** The mode in force for a VIP of a route. */
export interface VipForwarding {
  readonly vip: Vip;
  readonly mode: 'Endpoints' | 'Direct' | 'ClusterIP';
  /** Why it is not the one that the route asks for. */
  readonly why: string | undefined;
}

export function planRoute(
  route: Route,
  addresses: RouteAddresses,
  lookup: ServiceLookup,
  slicesOf: SlicesOf,
  self: NodeName,
  context: DirectContext,
): RoutePlan {
  const rejected = unsupported(route);
  const { ports, problems } = resolveRoute(route, lookup);
  const refProblems = [...problems];
  const entries: ForwardingEntry[] = [];
  const lacking = new Set<string>();
  const endpoints = new Set<string>();
  const forwarding: VipForwarding[] = [];
  for (const { vip } of rejected === undefined ? addresses.assigned : []) {
    const { direct, ...mode } = vipForwarding(route, vip, ports, slicesOf, context);
    forwarding.push({ vip, ...mode });
    for (const port of ports) {
      const weighed = endpointsOf(port, familyOf(vip), route.trafficPolicy, self, slicesOf);
      const steered = direct.get(port);
      if (!weighed.some(({ weight }) => weight > 0)) lacking.add(`${port.port}/${port.protocol}`);
      for (const { address, port: number } of weighed) endpoints.add(`${address}|${number}`);
      const relayed =
        route.forwarding === 'ClusterIP' ? clusterIpsOf(port, familyOf(vip), lookup.services, slicesOf) : undefined;
      if (relayed !== undefined) refProblems.push(...relayed.problems);
      entries.push({
        vip,
        protocol: port.protocol,
        port: port.port,
        endpoints: relayed?.targets ?? weighed,
        keepClientAddress: route.trafficPolicy === 'Local',
        affinity: route.affinity,
        sourceRanges: ofFamily(port.sourceRanges, vip),
        ...(steered && { direct: steered }),
        ...(relayed && { relayed: true }),
      });
    }
  }
  return {
    route,
    addresses,
    rejected,
    refProblems,
    ports: ports.map(({ protocol, port }) => ({ protocol, port })),
    backends: backendNames(route),
    entries: firstOfEachKey(entries),
    portsWithoutEndpoint: [...lacking],
    endpointCount: endpoints.size,
    forwarding,
  };
}

function unsupported({ forwarding, trafficPolicy, affinity }: Route): string | undefined {
  if (forwarding !== 'ClusterIP') return undefined;
  const hidden = 'spec.forwarding ClusterIP hides the client from the service proxy, and';
  if (trafficPolicy === 'Local') return `${hidden} spec.trafficPolicy Local needs it; use Endpoints`;
  if (affinity.type !== 'None') return `${hidden} spec.sessionAffinity needs it; use Endpoints`;
  return undefined;
}

/** A VIP is forwarded directly where all its ports can be; else the route goes on in Endpoints mode. */
function vipForwarding(
  route: Route,
  vip: Vip,
  ports: readonly ResolvedPort[],
  slicesOf: SlicesOf,
  context: DirectContext,
): Omit<VipForwarding, 'vip'> & { readonly direct: ReadonlyMap<ResolvedPort, DirectEntry> } {
  const direct = new Map<ResolvedPort, DirectEntry>();
  const endpoints = (why?: string) => ({ mode: 'Endpoints', why, direct: new Map() }) as const;
  if (route.forwarding === 'ClusterIP') return { mode: 'ClusterIP', why: undefined, direct };
  if (route.forwarding === 'Endpoints') return endpoints();
  if (route.trafficPolicy === 'Local')
    return endpoints('trafficPolicy Local keeps packets on the node that they enter by');
  for (const port of ports) {
    const decision = decideDirect(port, familyOf(vip), slicesOf, context);
    if (decision.why !== undefined) return endpoints(decision.why);
    if (decision.direct !== undefined) direct.set(port, decision.direct);
  }
  return { mode: 'Direct', why: undefined, direct };
}

/** Source ranges of the other family can never match; a range list that has none of this family admits nobody. */
function ofFamily(ranges: readonly string[], vip: Vip): readonly string[] {
  const own = ranges.filter((range) => range.includes(':') === vip.includes(':'));
  const nobody = familyOf(vip) === 'IPv4' ? '255.255.255.255/32' : '::/128';
  return ranges.length > 0 && own.length === 0 ? [nobody] : own;
}

/** Two rules may come to the same port when one follows its Service: the first rule has it. */
function firstOfEachKey(entries: readonly ForwardingEntry[]): ForwardingEntry[] {
  const byKey = new Map<string, ForwardingEntry>();
  for (const entry of entries) if (!byKey.has(forwardingKey(entry))) byKey.set(forwardingKey(entry), entry);
  return [...byKey.values()];
}

function backendNames(route: Route): string[] {
  const names = route.rules.flatMap((rule) =>
    rule.backendRefs.map(({ service, port }) => {
      const [namespace = '', name = ''] = service.split('/');
      const shown = namespace === route.meta.namespace ? name : service;
      return port === undefined ? shown : `${shown}:${port}`;
    }),
  );
  return [...new Set(names)];
}
