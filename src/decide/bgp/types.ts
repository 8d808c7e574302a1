import type { Parameters } from '../../../bgp/bfd/types.ts';
import type { LargeCommunity } from '../../../bgp/codec/types.ts';
import type { Brand } from '../../../net/brand.ts';
import type { Ip, IpFamily, IpV4 } from '../../../net/ip.ts';
import type { Prefix } from '../../../net/prefix.ts';

/** One BGP session of this node, as its BGPPeer asks. Times are seconds. */
export interface SessionPlan {
  /** Name of the BGPPeer. */
  readonly peer: string;
  readonly localAsn: number;
  readonly remoteAsn: number | 'internal' | 'external';
  readonly remote: SessionRemote;
  readonly port: number;
  readonly sourceAddress: Ip | undefined;
  readonly sourceInterface: string | undefined;
  readonly routerId: IpV4;
  /** 0: no keepalives. */
  readonly holdTime: number;
  readonly keepaliveTime: number;
  readonly connectRetryTime: number;
  readonly password: PasswordRef | undefined;
  /** GTSM: how many hops away the peer is. */
  readonly ttlSecurity: number | undefined;
  /** TTL towards an eBGP peer that is not connected. */
  readonly multiHop: number | undefined;
  readonly passive: boolean;
  readonly families: readonly IpFamily[];
  readonly gracefulRestart: { readonly restartTime: number } | undefined;
  readonly bfd: Parameters | undefined;
  readonly extendedNextHop: boolean;
  readonly role: 'provider' | 'customer' | 'peer' | 'route-server' | 'route-server-client' | undefined;
}

export type SessionRemote =
  | {
      readonly kind: 'address';
      readonly address: Ip;
      /** On a network of this node. */
      readonly connected: boolean;
      /** The interface of a link-local address. */
      readonly interface: string | undefined;
    }
  /** The router that sends router advertisements on this interface. */
  | { readonly kind: 'interface'; readonly interface: string };

export interface PasswordRef {
  readonly name: string;
  readonly key: string;
}

/** What a route says besides its prefix and next hop, which is the session's own address. */
export interface RouteAttributes {
  /** Equal for equal attributes. */
  readonly key: string;
  readonly localPreference: number | undefined;
  readonly med: number | undefined;
  /** How many times the own AS comes in addition. */
  readonly prepend: number;
  readonly communities: readonly number[];
  readonly extendedCommunities: readonly bigint[];
  readonly largeCommunities: readonly LargeCommunity[];
}

/** `PEER|PREFIX`. */
export type BgpRouteKey = Brand<string, 'BgpRouteKey'>;

export interface BgpRoute {
  readonly peer: string;
  readonly prefix: Prefix;
  readonly attributes: RouteAttributes;
}

export function bgpRouteKey(peer: string, prefix: Prefix): BgpRouteKey {
  return `${peer}|${prefix}` as BgpRouteKey;
}
