import { WELL_KNOWN_COMMUNITIES } from '../../../bgp/codec/index.ts';
import type { Lab } from '../lab.ts';
import type { Namespace } from '../namespace.ts';

export type RouterKind = 'frr' | 'bird' | 'gobgp' | 'openbgpd' | 'exabgp';
export type Family = 'ipv4' | 'ipv6';

/** Milliseconds. */
export interface BfdTimers {
  readonly transmit: number;
  readonly receive: number;
  readonly multiplier: number;
}

/** Exactly one of `address`, `range` and `interface`. */
export interface PeerConfig {
  readonly address?: string;
  /** Dynamic neighbors, as a CIDR. */
  readonly range?: string;
  /** Unnumbered (FRR). */
  readonly interface?: string;
  readonly asn: number;
  readonly password?: string;
  /** Default: both. */
  readonly families?: readonly Family[];
  /** Wait for the peer's connection; the default, since the speaker under test connects. */
  readonly passive?: boolean;
  /** Seconds; default 9, with keepalives every third of it. */
  readonly holdTime?: number;
  readonly bfd?: BfdTimers;
  /** Seconds that routes of a restarting peer are kept; default 120, 0: no graceful restart. */
  readonly stalePathTime?: number;
  /** GTSM (RFC 5082): how many hops away the peer may be. */
  readonly ttlSecurity?: number;
  /** eBGP over that many hops. */
  readonly multihop?: number;
  readonly localAddress?: string;
  /** IPv4 routes with an IPv6 next hop (RFC 8950). */
  readonly extendedNextHop?: boolean;
  /** What the router is to the peer (RFC 9234). */
  readonly role?: 'provider' | 'rs-server' | 'rs-client' | 'customer' | 'peer';
}

/** A BFD session that no BGP session asks for. */
export interface BfdPeerConfig extends BfdTimers {
  readonly address: string;
  readonly localAddress?: string;
  readonly interface?: string;
  readonly multihop?: boolean;
}

export interface RouterConfig {
  readonly asn: number;
  readonly routerId: string;
  readonly peers?: readonly PeerConfig[];
  readonly bfdPeers?: readonly BfdPeerConfig[];
  /** Prefixes that the router originates to all its peers. */
  readonly announce?: readonly string[];
}

export type BgpState = 'Idle' | 'Connect' | 'Active' | 'OpenSent' | 'OpenConfirm' | 'Established';

export interface RouterRoute {
  readonly prefix: string;
  readonly nextHops: readonly string[];
}

/** One path of the router's BGP table. */
export interface RouterPath {
  readonly prefix: string;
  readonly nextHop: string;
  readonly asPath: readonly number[];
  readonly med?: number;
  readonly localPreference?: number;
  /** `65000:100` */
  readonly communities: readonly string[];
  /** `65000:1:2` */
  readonly largeCommunities: readonly string[];
  /** Kept for a restarting peer. */
  readonly stale: boolean;
}

export interface RouterBfd {
  readonly state: 'AdminDown' | 'Down' | 'Init' | 'Up';
  /** Milliseconds, after negotiation; absent where the router does not tell. */
  readonly transmit?: number;
  readonly detectionTime?: number;
  readonly diagnostic?: string;
  readonly remoteDiagnostic?: string;
}

/** A real router that runs in a namespace, for as long as its lab. */
export interface Router extends AsyncDisposable {
  readonly kind: RouterKind;
  readonly namespace: Namespace;
  /** The state of the session with that address; undefined: the router knows no such peer. */
  session(peer: string): Promise<BgpState | undefined>;
  /** Every path of the BGP table (of ExaBGP: what it was told last). */
  paths(family: Family): Promise<RouterPath[]>;
  /** BFD's state towards that address; undefined: none, or the router speaks no BFD. */
  bfd(peer: string): Promise<RouterBfd | undefined>;
  /** A line to the router's own CLI, answered as text. */
  cli(line: string): Promise<string>;
  /** All that it printed, for the message of a failed test. */
  readonly log: readonly string[];
  /** Ends it as a fault would (SIGKILL) or in order (SIGTERM). */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface Place {
  readonly lab: Lab;
  readonly namespace: Namespace;
  /** A fresh directory for state, sockets and configuration. */
  readonly folder: string;
}

/** Of a kernel's main table: what zebra and BIRD have put there. */
export async function kernelRoutes(namespace: Namespace, family: Family): Promise<RouterRoute[]> {
  const flag = family === 'ipv4' ? '-4' : '-6';
  const { stdout } = await namespace.run(['ip', flag, '-j', 'route', 'show', 'proto', 'all']);
  const rows = JSON.parse(stdout || '[]') as KernelRoute[];
  return rows
    .filter((row) => row.protocol === 'bgp' || row.protocol === 'bird')
    .map((row) => ({ prefix: withLength(row.dst), nextHops: hopsOf(row) }));
}

interface KernelHop {
  readonly gateway?: string;
  readonly via?: { readonly host: string };
}

interface KernelRoute extends KernelHop {
  readonly dst: string;
  readonly protocol: string;
  readonly nexthops?: readonly KernelHop[];
}

function hopsOf(row: KernelRoute): string[] {
  return (row.nexthops ?? [row]).map((hop) => hop.gateway ?? hop.via?.host ?? '').sort();
}

function withLength(prefix: string): string {
  return prefix.includes('/') ? prefix : `${prefix}/${prefix.includes(':') ? 128 : 32}`;
}

/** FRR, OpenBGPD and others write well-known communities by names of their own; here all are numbers. */
export function numericCommunity(text: string): string {
  const plain = text.toLowerCase().replaceAll(/[-_]/g, '');
  const known = plain === 'localas' ? 'noexportsubconfed' : plain;
  const found = Object.entries(WELL_KNOWN_COMMUNITIES).find(([words]) => words.replaceAll('-', '') === known);
  return found === undefined ? text : `${found[1] >>> 16}:${found[1] & 0xffff}`;
}

export function isV6(prefix: string): boolean {
  return prefix.includes(':');
}
