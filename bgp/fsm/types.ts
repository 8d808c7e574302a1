import type { MonotonicNs } from '../../net/clock.ts';
import type { Notification } from '../codec/types.ts';

/** RFC 4271 section 8.2.2. */
export type FsmState = 'Idle' | 'Connect' | 'Active' | 'OpenSent' | 'OpenConfirm' | 'Established';

/** RFC 4271 section 8.1, by its names. What an event brings along is what its transition needs. */
export type FsmEvent =
  /** Without a notification the connection is closed in silence, as for a graceful restart (RFC 4724). */
  | { readonly kind: 'ManualStop' | 'AutomaticStop'; readonly notification?: Notification }
  /** `holdTime` is the peer's, in seconds. */
  | { readonly kind: 'BGPOpen' | 'BGPOpen_with_DelayOpenTimer_running'; readonly holdTime: number }
  | { readonly kind: 'BGPHeaderErr' | 'BGPOpenMsgErr' | 'UpdateMsgErr'; readonly notification: Notification }
  /** UPDATE, or ROUTE-REFRESH, for which RFC 2918 has no event of its own. */
  | { readonly kind: 'UpdateMsg'; readonly messageType: number }
  | {
      readonly kind:
        | 'ManualStart'
        | 'AutomaticStart'
        | 'ManualStart_with_PassiveTcpEstablishment'
        | 'AutomaticStart_with_PassiveTcpEstablishment'
        | 'AutomaticStart_with_DampPeerOscillations'
        | 'AutomaticStart_with_DampPeerOscillations_and_PassiveTcpEstablishment'
        | TimerExpiry
        | 'TcpConnection_Valid'
        | 'Tcp_CR_Invalid'
        | 'Tcp_CR_Acked'
        | 'TcpConnectionConfirmed'
        | 'TcpConnectionFails'
        | 'OpenCollisionDump'
        | 'NotifMsgVerErr'
        | 'NotifMsg'
        | 'KeepAliveMsg';
    };

export type FsmEventKind = FsmEvent['kind'];

export type TimerExpiry =
  | 'ConnectRetryTimer_Expires'
  | 'HoldTimer_Expires'
  | 'KeepaliveTimer_Expires'
  | 'DelayOpenTimer_Expires'
  | 'IdleHoldTimer_Expires'
  | 'SendHoldTimer_Expires';

/** RFC 4271 section 8.1; 29: RFC 9687 section 3.1. */
export const EVENT_NUMBER: Readonly<Record<FsmEventKind, number>> = {
  ManualStart: 1,
  ManualStop: 2,
  AutomaticStart: 3,
  ManualStart_with_PassiveTcpEstablishment: 4,
  AutomaticStart_with_PassiveTcpEstablishment: 5,
  AutomaticStart_with_DampPeerOscillations: 6,
  AutomaticStart_with_DampPeerOscillations_and_PassiveTcpEstablishment: 7,
  AutomaticStop: 8,
  ConnectRetryTimer_Expires: 9,
  HoldTimer_Expires: 10,
  KeepaliveTimer_Expires: 11,
  DelayOpenTimer_Expires: 12,
  IdleHoldTimer_Expires: 13,
  TcpConnection_Valid: 14,
  Tcp_CR_Invalid: 15,
  Tcp_CR_Acked: 16,
  TcpConnectionConfirmed: 17,
  TcpConnectionFails: 18,
  BGPOpen: 19,
  BGPOpen_with_DelayOpenTimer_running: 20,
  BGPHeaderErr: 21,
  BGPOpenMsgErr: 22,
  OpenCollisionDump: 23,
  NotifMsgVerErr: 24,
  NotifMsg: 25,
  KeepAliveMsg: 26,
  UpdateMsg: 27,
  UpdateMsgErr: 28,
  SendHoldTimer_Expires: 29,
};

/** What the machine asks of its shell, in this order. */
export type FsmAction =
  /** Start a TCP connection to the peer. */
  | { readonly kind: 'connect' }
  /** End the connection, or the attempt, once what was sent before has left. */
  | { readonly kind: 'close' }
  | { readonly kind: 'send-open' }
  | { readonly kind: 'send-keepalive' }
  | { readonly kind: 'send-notification'; readonly notification: Notification };

export type TimerName = 'connectRetry' | 'hold' | 'keepalive' | 'delayOpen' | 'idleHold' | 'sendHold';

/** When each running timer expires. */
export type Deadlines = Readonly<Partial<Record<TimerName, MonotonicNs | undefined>>>;

/** Why a machine is in Idle. */
export type IdleCause =
  /** Not started, or stopped by the operator. */
  | 'stopped'
  /** No connection came about. */
  | 'unreachable'
  /** A session or its beginning failed. */
  | 'failed';

/** One connection's machine, or its attempts at one. */
export interface Fsm {
  readonly state: FsmState;
  readonly deadlines: Deadlines;
  /** RFC 4271 section 8: ConnectRetryCounter. */
  readonly connectRetryCounter: number;
  /** As negotiated, in nanoseconds; 0: neither keepalives nor a hold timer. */
  readonly holdTime: number;
  readonly keepaliveTime: number;
  /** Failures in a row, which lengthen IdleHoldTime. */
  readonly failures: number;
  readonly idleCause: IdleCause;
  readonly establishedAt: MonotonicNs | undefined;
}

/** Session attributes of RFC 4271 section 8. Times are nanoseconds. */
export interface FsmSettings {
  readonly connectRetryTime: number;
  /** Whole seconds of it are offered in the OPEN; 0: none. */
  readonly holdTime: number;
  /** The longest interval between KEEPALIVEs; a third of the negotiated hold time holds if that is shorter. */
  readonly keepaliveTime: number;
  /** DelayOpen is TRUE where this is above 0. */
  readonly delayOpenTime: number;
  /** The first IdleHoldTime and the longest that doubling makes of it. */
  readonly idleHoldTime: { readonly initial: number; readonly maximum: number };
  /** RFC 9687: how long the peer may take none of our messages. */
  readonly sendHoldTime: number;
  /** PassiveTcpEstablishment. */
  readonly passive: boolean;
}

export interface FsmEnvironment {
  readonly settings: FsmSettings;
  /** 0 (included) to 1 (excluded). */
  readonly random: () => number;
}

export interface FsmStep {
  readonly fsm: Fsm;
  readonly actions: readonly FsmAction[];
}

export const STOPPED: Fsm = {
  state: 'Idle',
  deadlines: {},
  connectRetryCounter: 0,
  holdTime: 0,
  keepaliveTime: 0,
  failures: 0,
  idleCause: 'stopped',
  establishedAt: undefined,
};
