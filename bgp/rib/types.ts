import type { IpFamily } from '../../net/ip.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Asn, LargeCommunity, NextHop, SessionParameters } from '../codec/types.ts';

/** What a route says besides its prefix and its next hop, which is the session's own address. */
export interface RouteAttributes {
  /** Equal for equal attributes: such routes share UPDATEs. */
  readonly key: string;
  /** Told to internal peers alone; undefined: 100. */
  readonly localPreference: number | undefined;
  readonly med: number | undefined;
  /** How many times the own AS comes in addition, towards external peers; at most 254. */
  readonly prepend: number;
  /** RFC 1997. */
  readonly communities: readonly number[];
  /** RFC 4360. */
  readonly extendedCommunities: readonly bigint[];
  /** RFC 8092. */
  readonly largeCommunities: readonly LargeCommunity[];
}

export interface RouteEdit {
  readonly prefix: Prefix;
  /** Undefined: the route goes. */
  readonly attributes: RouteAttributes | undefined;
}

/** What all routes of one session have in common. */
export interface Advertising {
  readonly session: SessionParameters;
  readonly localAsn: Asn;
  /** Routes of a family without a next hop are not told. */
  readonly nextHops: Readonly<Partial<Record<IpFamily, NextHop>>>;
  /** RFC 8326: every route says that it is about to go. */
  readonly leaving: boolean;
}
