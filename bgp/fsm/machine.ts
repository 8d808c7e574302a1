import type { MonotonicNs } from '../../net/clock.ts';
import { CeaseSubcode, ErrorCode, FsmSubcode, MessageType } from '../codec/constants.ts';
import { COUNTED, Transition, UNCOUNTED, UNREACHABLE } from './transition.ts';
import type { Fsm, FsmEnvironment, FsmEvent, FsmState, FsmStep, TimerExpiry, TimerName } from './types.ts';

/**
 * The finite state machine of RFC 4271 section 8.2.2, for one connection. Optional session attributes: DelayOpen as
 * configured, DampPeerOscillations and CollisionDetectEstablishedState (decided by the caller) TRUE,
 * SendNOTIFICATIONwithoutOPEN FALSE. It departs from the RFC's letter where its sections 6.1 and 6.4 and all routers
 * do: a NOTIFICATION is never answered, a header error is told as such in Established too, and a passive peer runs no
 * ConnectRetryTimer.
 */
export function step(fsm: Fsm, event: FsmEvent, now: MonotonicNs, environment: FsmEnvironment): FsmStep {
  const transition = new Transition(fsm, environment, now);
  HANDLERS[fsm.state](transition, event);
  return transition.result;
}

const EXPIRY: Readonly<Record<TimerName, TimerExpiry>> = {
  hold: 'HoldTimer_Expires',
  sendHold: 'SendHoldTimer_Expires',
  keepalive: 'KeepaliveTimer_Expires',
  connectRetry: 'ConnectRetryTimer_Expires',
  delayOpen: 'DelayOpenTimer_Expires',
  idleHold: 'IdleHoldTimer_Expires',
};

/** The event of a timer that is due, the most consequential first; undefined: none is. */
export function dueEvent({ deadlines }: Fsm, now: MonotonicNs): FsmEvent | undefined {
  for (const [timer, kind] of Object.entries(EXPIRY) as [TimerName, TimerExpiry][]) {
    const deadline = deadlines[timer];
    if (deadline !== undefined && deadline <= now) return { kind };
  }
  return undefined;
}

/** When to look for a due event again; undefined: no timer runs. */
export function wakeAt({ deadlines }: Fsm): MonotonicNs | undefined {
  const all = Object.values(deadlines).filter((deadline) => deadline !== undefined);
  return all.length === 0 ? undefined : (Math.min(...all) as MonotonicNs);
}

/** The peer's TCP has taken some of what we sent (RFC 9687 section 3.2). */
export function sendProgressed(fsm: Fsm, now: MonotonicNs, environment: FsmEnvironment): Fsm {
  if (fsm.deadlines.sendHold === undefined) return fsm;
  const transition = new Transition(fsm, environment, now);
  transition.restartSendHold();
  return transition.result.fsm;
}

type Handler = (transition: Transition, event: FsmEvent) => void;

const HANDLERS: Readonly<Record<FsmState, Handler>> = {
  Idle: inIdle,
  Connect: inConnect,
  Active: inActive,
  OpenSent: inOpenSent,
  OpenConfirm: inOpenConfirm,
  Established: inEstablished,
};

function inIdle(t: Transition, event: FsmEvent): void {
  switch (event.kind) {
    case 'ManualStart':
    case 'AutomaticStart':
      t.begin({ forgetting: true });
      connect(t);
      return;
    case 'ManualStart_with_PassiveTcpEstablishment':
    case 'AutomaticStart_with_PassiveTcpEstablishment':
      t.begin({ forgetting: true });
      t.enter('Active');
      return;
    // The pause goes on.
    case 'AutomaticStart_with_DampPeerOscillations':
      if (t.isRunning('idleHold')) return;
      t.begin({ forgetting: false });
      connect(t);
      return;
    case 'AutomaticStart_with_DampPeerOscillations_and_PassiveTcpEstablishment':
      if (t.isRunning('idleHold')) return;
      t.begin({ forgetting: false });
      t.enter('Active');
      return;
    case 'IdleHoldTimer_Expires':
      t.begin({ forgetting: false });
      if (t.settings.passive) t.enter('Active');
      else connect(t);
      return;
    case 'ManualStop':
      t.stop('idleHold');
      return;
    default:
      // Section 8.2.2, Idle: "Any other event ... does not cause change in the state of the local system."
      return;
  }
}

function inConnect(t: Transition, event: FsmEvent): void {
  switch (event.kind) {
    case 'ConnectRetryTimer_Expires':
      t.act('close');
      t.stop('delayOpen');
      connect(t);
      return;
    case 'TcpConnectionFails':
      if (t.isRunning('delayOpen')) backToActive(t);
      else t.idle(UNREACHABLE);
      return;
    default:
      beforeOpen(t, event);
  }
}

function inActive(t: Transition, event: FsmEvent): void {
  switch (event.kind) {
    case 'ConnectRetryTimer_Expires':
      connect(t);
      return;
    case 'TcpConnectionFails':
      t.idle(COUNTED);
      return;
    default:
      beforeOpen(t, event);
  }
}

/** What Connect and Active have in common. */
function beforeOpen(t: Transition, event: FsmEvent): void {
  switch (event.kind) {
    case 'ManualStop':
      t.halt();
      return;
    case 'DelayOpenTimer_Expires':
      t.open();
      return;
    case 'Tcp_CR_Acked':
    case 'TcpConnectionConfirmed':
      if (t.settings.delayOpenTime === 0) {
        t.open();
        return;
      }
      t.stop('connectRetry');
      t.startJittered('delayOpen', t.settings.delayOpenTime);
      return;
    case 'BGPOpen_with_DelayOpenTimer_running':
      t.stop('connectRetry');
      t.stop('delayOpen');
      t.act('send-open');
      confirm(t, event.holdTime);
      return;
    case 'NotifMsgVerErr':
      t.idle(t.isRunning('delayOpen') ? UNCOUNTED : COUNTED);
      return;
    case 'ManualStart':
    case 'AutomaticStart':
    case 'ManualStart_with_PassiveTcpEstablishment':
    case 'AutomaticStart_with_PassiveTcpEstablishment':
    case 'AutomaticStart_with_DampPeerOscillations':
    case 'AutomaticStart_with_DampPeerOscillations_and_PassiveTcpEstablishment':
    case 'TcpConnection_Valid':
    case 'Tcp_CR_Invalid':
      return;
    default:
      t.idle(COUNTED);
  }
}

function inOpenSent(t: Transition, event: FsmEvent): void {
  switch (event.kind) {
    case 'BGPOpen':
      confirm(t, event.holdTime);
      return;
    case 'TcpConnectionFails':
      backToActive(t);
      return;
    default:
      afterOpen(t, event, FsmSubcode.UNEXPECTED_MESSAGE_IN_OPEN_SENT);
  }
}

function inOpenConfirm(t: Transition, event: FsmEvent): void {
  switch (event.kind) {
    case 'KeepaliveTimer_Expires':
      t.keepAlive();
      return;
    case 'KeepAliveMsg':
      t.establish();
      return;
    default:
      afterOpen(t, event, FsmSubcode.UNEXPECTED_MESSAGE_IN_OPEN_CONFIRM);
  }
}

function inEstablished(t: Transition, event: FsmEvent): void {
  switch (event.kind) {
    case 'KeepaliveTimer_Expires':
      t.keepAlive();
      return;
    case 'KeepAliveMsg':
    case 'UpdateMsg':
      t.restartHold();
      return;
    case 'UpdateMsgErr':
      t.notify(event.notification);
      t.idle(COUNTED);
      return;
    case 'SendHoldTimer_Expires':
      // RFC 9687 section 3.2. It leaves only if the peer reads again before the connection is given up.
      t.notifyError(ErrorCode.SEND_HOLD_TIMER_EXPIRED);
      t.idle(COUNTED);
      return;
    default:
      afterOpen(t, event, FsmSubcode.UNEXPECTED_MESSAGE_IN_ESTABLISHED);
  }
}

/** What OpenSent, OpenConfirm and Established have in common. */
function afterOpen(t: Transition, event: FsmEvent, unexpected: number): void {
  switch (event.kind) {
    case 'ManualStop':
      if (event.notification !== undefined) t.notify(event.notification);
      t.halt();
      return;
    case 'AutomaticStop':
      if (event.notification !== undefined) t.notify(event.notification);
      t.idle(COUNTED);
      return;
    case 'HoldTimer_Expires':
      t.notifyError(ErrorCode.HOLD_TIMER_EXPIRED);
      t.idle(COUNTED);
      return;
    case 'BGPHeaderErr':
    case 'BGPOpenMsgErr':
      t.notify(event.notification);
      t.idle(COUNTED);
      return;
    case 'OpenCollisionDump':
      t.notifyError(ErrorCode.CEASE, CeaseSubcode.CONNECTION_COLLISION_RESOLUTION);
      t.idle(COUNTED);
      return;
    case 'NotifMsgVerErr':
      t.idle(UNCOUNTED);
      return;
    case 'NotifMsg':
    case 'TcpConnectionFails':
      t.idle(COUNTED);
      return;
    case 'ManualStart':
    case 'AutomaticStart':
    case 'ManualStart_with_PassiveTcpEstablishment':
    case 'AutomaticStart_with_PassiveTcpEstablishment':
    case 'AutomaticStart_with_DampPeerOscillations':
    case 'AutomaticStart_with_DampPeerOscillations_and_PassiveTcpEstablishment':
    // A second connection is another machine's until its OPEN has come (section 6.8).
    case 'TcpConnection_Valid':
    case 'Tcp_CR_Invalid':
    case 'Tcp_CR_Acked':
    case 'TcpConnectionConfirmed':
      return;
    default:
      t.notifyFsmError(unexpected, messageTypeOf(event));
      t.idle(COUNTED);
  }
}

function connect(t: Transition): void {
  t.startJittered('connectRetry', t.settings.connectRetryTime);
  t.act('connect');
  t.enter('Connect');
}

/** The connection was lost before the peer's OPEN came: another is awaited, and tried for when the timer expires. */
function backToActive(t: Transition): void {
  t.act('close');
  t.stop('hold');
  t.stop('delayOpen');
  if (!t.settings.passive) t.startJittered('connectRetry', t.settings.connectRetryTime);
  t.enter('Active');
}

function confirm(t: Transition, remoteHoldTime: number): void {
  t.negotiate(remoteHoldTime);
  t.keepAlive();
  t.restartHold();
  t.enter('OpenConfirm');
}

/** The type of the message that the event is about. */
function messageTypeOf(event: FsmEvent): number | undefined {
  switch (event.kind) {
    case 'BGPOpen':
    case 'BGPOpen_with_DelayOpenTimer_running':
      return MessageType.OPEN;
    case 'KeepAliveMsg':
      return MessageType.KEEPALIVE;
    case 'UpdateMsg':
      return event.messageType;
    case 'UpdateMsgErr':
      return MessageType.UPDATE;
    default:
      return undefined;
  }
}
