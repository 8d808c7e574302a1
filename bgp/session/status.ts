import type { IpFamily } from '../../net/ip.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Asn, Message } from '../codec/types.ts';
import type { FsmState } from '../fsm/types.ts';

/** One session as its operator sees it. Times are RFC 3339, durations seconds. */
export interface SessionStatus {
  readonly peer: string;
  /** With its zone where it is link-local. */
  readonly address: string;
  readonly interface?: string;
  readonly localAsn: Asn;
  /** A number where it is configured or known from the OPEN. */
  readonly remoteAsn: Asn | 'internal' | 'external';
  readonly localId: string;
  readonly remoteId?: string;
  readonly localAddress?: string;
  readonly state: FsmState;
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
  readonly families: readonly FamilyStatus[];
  readonly capabilities: readonly CapabilityStatus[];
  readonly sent: MessageCounts;
  readonly received: MessageCounts;
  /** Octets that wait for the peer to read. */
  readonly unsentBytes: number;
  /** Why there is no session, in words that tell what to do. */
  readonly lastError?: TimedText;
  readonly lastNotificationSent?: NotificationStatus;
  readonly lastNotificationReceived?: NotificationStatus;
}

export interface FamilyStatus {
  readonly family: IpFamily;
  readonly negotiated: boolean;
  /** Routes that the peer should have, and those that it was sent. */
  readonly wanted: number;
  readonly advertised: number;
  /** Routes that the peer has announced less those it withdrew; they are counted and not used. */
  readonly received: number;
  /** The peer keeps our routes while we restart (RFC 4724). */
  readonly gracefulRestart: boolean;
  readonly endOfRibSent: boolean;
}

export interface CapabilityStatus {
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

export interface NotificationStatus extends TimedText {
  readonly code: number;
  readonly subcode: number;
  /** Hexadecimal. */
  readonly data: string;
}

/** A route towards a peer. */
export interface RouteStatus {
  readonly prefix: Prefix;
  readonly nextHop: string;
  readonly localPreference?: number;
  readonly med?: number;
  readonly asPath: readonly Asn[];
  readonly communities: readonly string[];
  /** Whether the peer was sent it. */
  readonly advertised: boolean;
}

export const COUNTER: Readonly<Record<Message['type'], keyof MessageCounts>> = {
  OPEN: 'open',
  UPDATE: 'update',
  NOTIFICATION: 'notification',
  KEEPALIVE: 'keepalive',
  'ROUTE-REFRESH': 'routeRefresh',
};
