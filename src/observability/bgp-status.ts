/**
 * BGP and BFD of one node as its operator sees them: `GET /bgp` of the control socket. Times are RFC 3339, durations
 * seconds unless said otherwise.
 */
export interface BgpStatus {
  readonly node: string;
  readonly sessions: readonly BgpSessionView[];
  /** BGPPeers that have no session on this node, with the reason. */
  readonly withoutSession: readonly { readonly peer: string; readonly reason: string }[];
  /** VIPs that this node does not announce by BGP, with the reason. */
  readonly withheld: readonly { readonly vip: string; readonly reason: string }[];
  /** The newest last; bounded. */
  readonly events: readonly BgpEventView[];
  /** The node leaves: its routes say so, or are withdrawn already. */
  readonly draining: 'no' | 'announced' | 'withdrawn';
}

export type BgpState = 'Idle' | 'Connect' | 'Active' | 'OpenSent' | 'OpenConfirm' | 'Established';

export interface BgpSessionView {
  /** Name of the BGPPeer. */
  readonly peer: string;
  /** With its zone where it is link-local; absent while a neighbour is looked for on `interface`. */
  readonly address?: string;
  readonly interface?: string;
  readonly localAsn: number;
  /** A number where it is configured or known from the OPEN. */
  readonly remoteAsn: number | 'internal' | 'external';
  readonly localId: string;
  readonly remoteId?: string;
  readonly localAddress?: string;
  readonly state: BgpState;
  /** Since when the state holds. */
  readonly since: string;
  readonly seconds: number;
  /** How often the session was Established. */
  readonly established: number;
  readonly passive: boolean;
  readonly password: boolean;
  readonly ttlSecurity?: number;
  readonly multiHop?: number;
  readonly timers: {
    /** As negotiated, or as configured before that. */
    readonly holdTime: number;
    readonly keepaliveTime: number;
    readonly connectRetryTime: number;
  };
  readonly families: readonly BgpFamilyView[];
  readonly capabilities: readonly BgpCapabilityView[];
  readonly sent: MessageCounts;
  readonly received: MessageCounts;
  /** Bytes that wait for the peer to read. */
  readonly unsentBytes: number;
  /** Why there is no session, in words that tell what to do. */
  readonly lastError?: TimedText;
  readonly lastNotificationSent?: NotificationView;
  readonly lastNotificationReceived?: NotificationView;
  readonly bfd?: BfdView;
  /** This peer alone, or the whole node, is being left: its routes say so, or are withdrawn already. */
  readonly draining?: 'announced' | 'withdrawn';
}

export interface BgpFamilyView {
  readonly family: 'IPv4' | 'IPv6';
  readonly negotiated: boolean;
  /** Routes that the peer should have, and those that it was sent. */
  readonly wanted: number;
  readonly advertised: number;
  /** Routes that the peer has sent, which are counted and not used. */
  readonly received: number;
  /** The peer keeps our routes while we restart (RFC 4724). */
  readonly gracefulRestart: boolean;
  readonly endOfRibSent: boolean;
}

export interface BgpCapabilityView {
  /** E.g. `route refresh`. */
  readonly name: string;
  readonly sent: boolean;
  readonly received: boolean;
}

export interface MessageCounts {
  readonly open: number;
  readonly update: number;
  readonly notification: number;
  readonly keepalive: number;
  readonly routeRefresh: number;
}

export interface TimedText {
  readonly at: string;
  readonly text: string;
}

export interface NotificationView extends TimedText {
  readonly code: number;
  readonly subcode: number;
  /** Hexadecimal. */
  readonly data: string;
}

export interface BfdView {
  readonly state: 'AdminDown' | 'Down' | 'Init' | 'Up';
  readonly remoteState: 'AdminDown' | 'Down' | 'Init' | 'Up';
  readonly diagnostic: string;
  readonly remoteDiagnostic: string;
  readonly hops: 'single' | 'multi';
  /** Milliseconds, as negotiated. */
  readonly transmitInterval: number;
  readonly detectionTime: number;
  readonly multiplier: number;
  readonly seconds?: number;
  readonly sent: number;
  readonly received: number;
  readonly transitions: number;
  /** What keeps it from working. */
  readonly problem?: string;
}

export interface BgpEventView {
  readonly at: string;
  readonly peer: string;
  readonly text: string;
}

/** Routes towards one peer: `GET /bgp/routes?peer=NAME`. */
export interface BgpRoutesView {
  readonly peer: string;
  readonly routes: readonly BgpRouteView[];
}

export interface BgpRouteView {
  readonly prefix: string;
  readonly nextHop: string;
  readonly localPreference?: number;
  readonly med?: number;
  readonly asPath: readonly number[];
  readonly communities: readonly string[];
  /** Whether the peer was sent it. */
  readonly advertised: boolean;
  /** VIPs that it stands for. */
  readonly vips: readonly string[];
}
