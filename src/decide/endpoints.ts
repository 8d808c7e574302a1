import type { Ip, IpFamily } from '../../net/ip.ts';
import type { NodeName } from '../../net/names.ts';
import type { Port, Protocol } from './types.ts';

/** One address and port of a Service, as its EndpointSlices give it. */
export interface Endpoint {
  readonly address: Ip;
  readonly port: Port;
  readonly node: NodeName | undefined;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
}

/** What is read of an EndpointSlice. */
export interface SliceView {
  readonly addressType: 'IPv4' | 'IPv6' | 'FQDN';
  readonly ports: readonly { readonly name: string; readonly protocol: Protocol; readonly port: Port | undefined }[];
  readonly endpoints: readonly {
    readonly addresses: readonly Ip[];
    readonly node: NodeName | undefined;
    readonly ready: boolean;
    readonly serving: boolean;
    readonly terminating: boolean;
  }[];
}

/** A port of a Service, by which its slices name theirs. */
export interface ServicePortName {
  readonly name: string;
  readonly protocol: Protocol;
}

/**
 * All endpoints of one port and family. While slices are being rewritten an endpoint may stand in two of them:
 * it counts once, by its better condition.
 */
export function collectEndpoints(slices: Iterable<SliceView>, port: ServicePortName, family: IpFamily): Endpoint[] {
  const found = new Map<string, Endpoint>();
  for (const slice of slices) {
    if (slice.addressType !== family) continue;
    const number = slice.ports.find((p) => p.name === port.name && p.protocol === port.protocol)?.port;
    if (number === undefined) continue;
    for (const { addresses, ...conditions } of slice.endpoints) {
      // A slice lists the addresses of one pod; they are interchangeable and consumers use the first (discovery/v1).
      const [address] = addresses;
      if (address === undefined) continue;
      const endpoint = { address, port: number, ...conditions };
      const key = `${address}|${number}`;
      const before = found.get(key);
      if (before === undefined || worth(endpoint) > worth(before)) found.set(key, endpoint);
    }
  }
  return [...found.values()].sort(byAddress);
}

function worth(endpoint: Endpoint): number {
  return endpoint.ready ? 2 : endpoint.serving ? 1 : 0;
}

function byAddress(a: Endpoint, b: Endpoint): number {
  return a.address < b.address ? -1 : a.address > b.address ? 1 : a.port - b.port;
}

/**
 * Those that take new connections: the ready ones, else those that still serve while they terminate (KEP-1669),
 * so that the last pod's shutdown loses nothing.
 */
export function usableEndpoints(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const ready = endpoints.filter((endpoint) => endpoint.ready);
  return ready.length > 0 ? ready : endpoints.filter((endpoint) => endpoint.serving && endpoint.terminating);
}

/** As `usableEndpoints`, among those on one node (traffic policy Local). */
export function localEndpoints(endpoints: readonly Endpoint[], node: NodeName): readonly Endpoint[] {
  return usableEndpoints(endpoints.filter((endpoint) => endpoint.node === node));
}

export interface WeightedBackend {
  /** 0 to 1,000,000: the backend's share of new connections. */
  readonly weight: number;
  readonly endpoints: readonly Pick<Endpoint, 'address' | 'port'>[];
}

export interface WeightedEndpoint {
  readonly address: Ip;
  readonly port: Port;
  readonly weight: number;
}

/** Whole numbers up to this keep shares exact to a tenth of a percent. */
const WEIGHT_SCALE = 1000;

/**
 * A backend's weight is divided among its endpoints, so that a backend of two pods and one of ten with equal weights
 * take equal shares. Weights come out as the smallest whole numbers in that proportion.
 */
export function weighEndpoints(backends: readonly WeightedBackend[]): WeightedEndpoint[] {
  const shares = new Map<string, { readonly endpoint: Pick<Endpoint, 'address' | 'port'>; share: number }>();
  for (const { weight, endpoints } of backends) {
    for (const endpoint of endpoints) {
      const key = `${endpoint.address}|${endpoint.port}`;
      const share = weight / endpoints.length;
      const before = shares.get(key);
      if (before) before.share += share;
      else shares.set(key, { endpoint, share });
    }
  }
  const positive = [...shares.values()].filter(({ share }) => share > 0);
  const smallest = Math.min(...positive.map(({ share }) => share));
  const even = positive.every(({ share }) => share === smallest);
  const scaled = even
    ? positive.map(() => 1)
    : positive.map(({ share }) => Math.round((share / smallest) * WEIGHT_SCALE));
  const divisor = scaled.reduce(greatestCommonDivisor, 0);
  const weights = new Map(positive.map((item, i) => [item, (scaled[i] as number) / divisor]));
  return [...shares.values()].map((item) => ({
    address: item.endpoint.address,
    port: item.endpoint.port,
    weight: weights.get(item) ?? 0,
  }));
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
