import type { IpFamily } from '../../../net/ip.ts';
import type { NodeName } from '../../../net/names.ts';
import { collectEndpoints, type Endpoint, usableEndpoints, weighEndpoints } from '../endpoints.ts';
import { endpointsOf, type ResolvedPort, type SlicesOf } from '../resolve.ts';
import type { DirectEntry, DirectSurroundings, NodeShare } from '../types.ts';
import type { DirectContext } from './surroundings.ts';

/** How an entry is forwarded directly; `why` not, in words for people. Neither: it has no endpoint at all. */
export type DirectDecision =
  | { readonly direct: DirectEntry | undefined; readonly why?: undefined }
  | { readonly why: string; readonly direct?: undefined };

/** Shares of the nodes for a port, where each of its endpoints is on a node that this one reaches without a router. */
export function decideDirect(
  port: ResolvedPort,
  family: IpFamily,
  slicesOf: SlicesOf,
  { lacks, surroundings }: DirectContext,
): DirectDecision {
  if (lacks !== undefined) return { why: lacks };
  const nodes = new Map<string, NodeName | undefined>();
  const backends = port.backends.map(({ service, name, weight }) => {
    const usable = usableEndpoints(collectEndpoints(slicesOf(service), name, family));
    for (const endpoint of usable) nodes.set(targetKey(endpoint), endpoint.node);
    return { weight, endpoints: onLiving(usable, surroundings.gone) };
  });
  const weights = new Map<NodeName, number>();
  for (const endpoint of weighEndpoints(backends)) {
    if (endpoint.weight === 0) continue;
    const node = nodes.get(targetKey(endpoint));
    if (node === undefined) return { why: `endpoint ${endpoint.address} is on no node of the cluster` };
    if (surroundings.nodes.get(node)?.[family] === undefined) {
      return {
        why: `endpoint ${endpoint.address} is on ${node}, which has no ${family} address on a LAN of this node`,
      };
    }
    // Frames of a member whose address is not known would pass for a client's.
    if (node !== surroundings.self && !knownMembers(surroundings).has(node)) {
      return { why: `the hardware address of ${node} is not known yet` };
    }
    weights.set(node, (weights.get(node) ?? 0) + endpoint.weight);
  }
  if (weights.size === 0) return { direct: undefined };
  const own = endpointsOf(port, family, 'Local', surroundings.self, slicesOf);
  return { direct: { shares: sharesOf(weights), own } };
}

function knownMembers({ interfaces }: DirectSurroundings): ReadonlySet<NodeName> {
  return new Set(interfaces.flatMap(({ members }) => members.map(({ node }) => node)));
}

/** Endpoints on nodes that are gone take nothing, unless there are no others. */
function onLiving(endpoints: readonly Endpoint[], gone: ReadonlySet<NodeName>): readonly Endpoint[] {
  const living = endpoints.filter(({ node }) => node === undefined || !gone.has(node));
  return living.length > 0 ? living : endpoints;
}

/** By name, without a common divisor: equal shares are then the same text. */
function sharesOf(weights: ReadonlyMap<NodeName, number>): NodeShare[] {
  const divisor = [...weights.values()].reduce(greatestCommonDivisor, 0);
  return Array.from(weights, ([node, weight]) => ({ node, weight: weight / divisor })).sort((a, b) =>
    a.node < b.node ? -1 : 1,
  );
}

function targetKey({ address, port }: Pick<Endpoint, 'address' | 'port'>): string {
  return `${address}|${port}`;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
