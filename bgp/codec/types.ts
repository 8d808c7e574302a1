import type { Ip, IpFamily, IpV4, IpV6 } from '../../net/ip.ts';

/** An autonomous system number of 32 bits (RFC 6793). */
export type Asn = number;

/** An address family of the wire, known to this library or not (RFC 4760 section 3). */
export interface AfiSafi {
  readonly afi: number;
  readonly safi: number;
}

/** RFC 9234 section 4.1: what the speaker is to its peer. */
export type Role = 'provider' | 'route-server' | 'route-server-client' | 'customer' | 'peer';

/** What an OPEN may announce (RFC 5492). A capability whose value is malformed is `unknown` too. */
export type Capability =
  /** RFC 4760 section 8. */
  | ({ readonly kind: 'multiprotocol' } & AfiSafi)
  /** RFC 2918 section 2. */
  | { readonly kind: 'route-refresh' }
  /** RFC 8950 section 4: families whose routes may have a next hop of another AFI. */
  | { readonly kind: 'extended-next-hop'; readonly families: readonly (AfiSafi & { readonly nextHopAfi: number })[] }
  /** RFC 8654 section 3. */
  | { readonly kind: 'extended-message' }
  /** RFC 9234 section 4.1. */
  | { readonly kind: 'role'; readonly role: Role }
  /** RFC 4724 section 3 and RFC 8538 section 2. */
  | GracefulRestart
  /** RFC 6793 section 3. */
  | { readonly kind: 'four-octet-as'; readonly asn: Asn }
  /** RFC 7313 section 3.1. */
  | { readonly kind: 'enhanced-route-refresh' }
  | { readonly kind: 'unknown'; readonly code: number; readonly value: Uint8Array };

export interface GracefulRestart {
  readonly kind: 'graceful-restart';
  /** R: the sender has just restarted; do not wait for its End-of-RIB. */
  readonly restarting: boolean;
  /** N: graceful restart holds for NOTIFICATIONs too (RFC 8538). */
  readonly notification: boolean;
  /** Seconds, 0 to 4095. */
  readonly restartTime: number;
  readonly families: readonly GracefulRestartFamily[];
}

export interface GracefulRestartFamily extends AfiSafi {
  /** F: the forwarding state of this family was kept over the restart. */
  readonly forwarding: boolean;
}

/** RFC 4271 section 4.2. The version is always 4. */
export interface Open {
  readonly type: 'OPEN';
  /** Of the four-octet AS capability where there is one, else of the two-octet field. */
  readonly asn: Asn;
  /** Seconds: 0 or 3 to 65535. */
  readonly holdTime: number;
  readonly identifier: IpV4;
  /** In the order of the message; duplicates are kept. */
  readonly capabilities: readonly Capability[];
}

/** Unicast prefixes of one family as they stand on the wire, already checked (RFC 4271 section 4.3). */
export interface Nlri {
  readonly family: IpFamily;
  readonly count: number;
  /** A view of the message: valid until more bytes are pushed into the reader that gave it. */
  readonly bytes: Uint8Array;
}

/** RFC 2545 section 3: an IPv6 next hop may come with a link-local address. */
export interface NextHop {
  readonly address: Ip;
  readonly linkLocal?: IpV6;
}

export interface Announcement {
  readonly nlri: Nlri;
  readonly nextHop: NextHop;
}

export type Origin = 'IGP' | 'EGP' | 'INCOMPLETE';

export interface AsPathSegment {
  readonly kind: 'AS_SET' | 'AS_SEQUENCE';
  /** 1 to 255 of them. */
  readonly asns: readonly Asn[];
}

export interface Aggregator {
  readonly asn: Asn;
  readonly address: IpV4;
}

/** RFC 8092 section 3. */
export interface LargeCommunity {
  readonly globalAdministrator: number;
  readonly localData1: number;
  readonly localData2: number;
}

/**
 * The path attributes that all routes of an UPDATE share, but those that carry routes and next hops.
 * AS4_PATH and AS4_AGGREGATOR (RFC 6793) are merged into `asPath` and `aggregator`.
 */
export interface PathAttributes {
  /** RFC 4271 section 5.1.1. */
  readonly origin?: Origin;
  /** RFC 4271 section 5.1.2. */
  readonly asPath?: readonly AsPathSegment[];
  /** MULTI_EXIT_DISC, RFC 4271 section 5.1.4. */
  readonly med?: number;
  /** RFC 4271 section 5.1.5. */
  readonly localPreference?: number;
  /** RFC 4271 section 5.1.6. */
  readonly atomicAggregate?: true;
  /** RFC 4271 section 5.1.7. */
  readonly aggregator?: Aggregator;
  /** RFC 1997: 32 bits each, the AS number above. */
  readonly communities?: readonly number[];
  /** RFC 4360: 64 bits each, the type above. */
  readonly extendedCommunities?: readonly bigint[];
  /** RFC 8092. */
  readonly largeCommunities?: readonly LargeCommunity[];
  /** OTC, RFC 9234 section 5: the AS that let the route out to a customer, a peer or route-server clients. */
  readonly onlyToCustomer?: Asn;
}

/**
 * RFC 4271 section 4.3. The fields of IPv4 and MP_REACH_NLRI/MP_UNREACH_NLRI (RFC 4760) are one list each.
 * A prefix both withdrawn and announced is announced.
 */
export interface Update {
  readonly type: 'UPDATE';
  readonly withdrawn: readonly Nlri[];
  readonly announced: readonly Announcement[];
  readonly attributes: PathAttributes;
}

/** RFC 4271 section 4.5. */
export interface Notification {
  readonly type: 'NOTIFICATION';
  readonly code: number;
  readonly subcode: number;
  readonly data: Uint8Array;
}

export interface Keepalive {
  readonly type: 'KEEPALIVE';
}

/** RFC 2918 section 3 and RFC 7313 section 3.2. */
export interface RouteRefresh {
  readonly type: 'ROUTE-REFRESH';
  readonly family: IpFamily;
  /** `begin` and `end` mark a refresh (BoRR, EoRR) where the enhanced form was negotiated. */
  readonly subtype: 'request' | 'begin' | 'end';
}

export type Message = Open | Update | Notification | Keepalive | RouteRefresh;

/**
 * What both ends agreed on by their OPENs, as far as the bytes depend on it.
 * Before both OPENs are known: `UNNEGOTIATED` of `negotiate.ts`.
 */
export interface SessionParameters {
  /** AS numbers have four octets in AS_PATH and AGGREGATOR (RFC 6793). */
  readonly fourOctetAs: boolean;
  /** Messages but OPEN and KEEPALIVE may have 65,535 octets (RFC 8654). */
  readonly extendedMessage: boolean;
  readonly families: readonly IpFamily[];
  /** IPv4 routes may have an IPv6 next hop (RFC 8950). */
  readonly extendedNextHop: boolean;
  /** The demarcation of a refresh may be sent (RFC 7313). */
  readonly enhancedRouteRefresh: boolean;
  readonly peering: 'internal' | 'external';
  readonly peerAsn: Asn;
  /** Our role towards the peer where one is configured (RFC 9234). */
  readonly role?: Role;
}
