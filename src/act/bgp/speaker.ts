import type { Ip } from '../../../net/ip.ts';
import type { Prefix } from '../../../net/prefix.ts';
import type { RouteAttributes, SessionPlan } from '../../decide/bgp/types.ts';
import type { BgpRouteView, BgpSessionView } from '../../observability/bgp-status.ts';

/** A session with all that was looked up for it. */
export interface PeerSettings {
  readonly session: SessionPlan;
  readonly address: Ip;
  /** The interface of a link-local address. */
  readonly zone: string | undefined;
  readonly password: string | undefined;
}

export interface RouteEdit {
  readonly prefix: Prefix;
  /** Undefined: the route goes. */
  readonly attributes: RouteAttributes | undefined;
}

/** A route as it is on its way to the peer or there. */
export type SentRoute = Omit<BgpRouteView, 'vips' | 'prefix'> & { readonly prefix: Prefix };

/** How all sessions end. */
export type Ending =
  /** Closed without a word, so that peers keep our routes until we are back (RFC 4724). */
  | 'restart'
  /** Routes withdrawn, then Cease. */
  | 'shutdown';

/** The BGP library as the actuator uses it. Nothing here waits: a peer that does not read holds up nobody. */
export interface BgpSpeaker {
  /** Starts the peer, or changes it: what can change live does, else this session alone restarts. */
  set(peer: string, settings: PeerSettings): void;
  /** Cease/Peer De-configured. */
  delete(peer: string): void;
  /** Routes that the peer should have; those of a peer that is down wait for it. */
  edit(peer: string, edits: readonly RouteEdit[]): void;
  /** The path to the peer is down (RFC 5882 section 4.1): Cease/BFD Down (RFC 9384). */
  bfdDown(peer: string, reason: string): void;
  view(peer: string): BgpSessionView | undefined;
  routes(peer: string): readonly SentRoute[];
  /** Whether the peer was told of the route and not to forget it. */
  isSent(peer: string, prefix: Prefix): boolean;
  close(ending: Ending, signal: AbortSignal): Promise<void>;
}
