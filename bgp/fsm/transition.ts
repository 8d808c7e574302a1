import { after, type MonotonicNs } from '../../net/clock.ts';
import { ErrorCode } from '../codec/constants.ts';
import type { Notification } from '../codec/types.ts';
import {
  type Fsm,
  type FsmAction,
  type FsmEnvironment,
  type FsmSettings,
  type FsmState,
  type FsmStep,
  type IdleCause,
  STOPPED,
  type TimerName,
} from './types.ts';

/** RFC 4271 section 8.2.2: "A HoldTimer value of 4 minutes is suggested" until the peer's OPEN is known. */
export const LARGE_HOLD_TIME = 240e9;

/** RFC 4271 section 10: "The jitter ... by multiplying the base value by a random factor ... from 0.75 to 1.0." */
const JITTER = 0.25;

const NO_DATA = new Uint8Array();

/** How a machine comes to Idle. */
export interface Idling {
  readonly cause: IdleCause;
  /** Whether ConnectRetryCounter counts it. */
  readonly counted: boolean;
}

export const COUNTED: Idling = { cause: 'failed', counted: true };
export const UNCOUNTED: Idling = { cause: 'failed', counted: false };
export const UNREACHABLE: Idling = { cause: 'unreachable', counted: false };

/** One step in the making: the handlers of the states tell it what changes. */
export class Transition {
  readonly settings: FsmSettings;
  readonly #random: () => number;
  readonly #now: MonotonicNs;
  readonly #actions: FsmAction[] = [];
  #fsm: Fsm;

  constructor(fsm: Fsm, { settings, random }: FsmEnvironment, now: MonotonicNs) {
    this.#fsm = fsm;
    this.settings = settings;
    this.#random = random;
    this.#now = now;
  }

  get result(): FsmStep {
    return { fsm: this.#fsm, actions: this.#actions };
  }

  get fsm(): Fsm {
    return this.#fsm;
  }

  enter(state: FsmState): void {
    this.#update({ state });
  }

  act(kind: 'connect' | 'close' | 'send-open' | 'send-keepalive'): void {
    this.#actions.push({ kind });
  }

  notify(notification: Notification): void {
    this.#actions.push({ kind: 'send-notification', notification });
  }

  notifyError(code: number, subcode = 0, data = NO_DATA): void {
    this.notify({ type: 'NOTIFICATION', code, subcode, data });
  }

  /** RFC 6608: the data is the type of the message that should not have come; none where no message came. */
  notifyFsmError(subcode: number, messageType: number | undefined): void {
    if (messageType === undefined) this.notifyError(ErrorCode.FINITE_STATE_MACHINE);
    else this.notifyError(ErrorCode.FINITE_STATE_MACHINE, subcode, Uint8Array.of(messageType));
  }

  isRunning(timer: TimerName): boolean {
    return this.#fsm.deadlines[timer] !== undefined;
  }

  /** (Re)starts the timer; a duration of 0 stops it. */
  start(timer: TimerName, duration: number): void {
    this.stop(timer);
    if (duration > 0) this.#update({ deadlines: { ...this.#fsm.deadlines, [timer]: after(this.#now, duration) } });
  }

  startJittered(timer: TimerName, duration: number): void {
    this.start(timer, this.#jittered(duration));
  }

  stop(timer: TimerName): void {
    this.#update({ deadlines: { ...this.#fsm.deadlines, [timer]: undefined } });
  }

  /** A fresh start by the operator or after a pause. */
  begin({ forgetting }: { readonly forgetting: boolean }): void {
    if (forgetting) this.#update({ connectRetryCounter: 0, failures: 0 });
    this.stop('idleHold');
  }

  /** The connection stands and DelayOpen is over: "completes its BGP initialization, sends an OPEN message". */
  open(): void {
    this.stop('connectRetry');
    this.stop('delayOpen');
    this.act('send-open');
    this.start('hold', LARGE_HOLD_TIME);
    this.enter('OpenSent');
  }

  /** RFC 4271 section 4.2: the smaller hold time of both holds. `remote` is in seconds. */
  negotiate(remote: number): void {
    const holdTime = Math.min(this.settings.holdTime, remote * 1e9);
    this.#update({ holdTime, keepaliveTime: Math.min(this.settings.keepaliveTime, holdTime / 3) });
  }

  /** Sends a KEEPALIVE, and plans the next unless there are none. */
  keepAlive(): void {
    this.act('send-keepalive');
    const { keepaliveTime, holdTime } = this.#fsm;
    const interval = Math.min(this.settings.keepaliveTime, keepaliveTime);
    if (holdTime > 0) this.startJittered('keepalive', interval);
  }

  establish(): void {
    this.enter('Established');
    this.#update({ establishedAt: this.#now });
    this.restartHold();
    this.restartSendHold();
  }

  restartHold(): void {
    this.start('hold', this.#fsm.holdTime);
  }

  /** RFC 9687 section 3.2: no send hold timer without a hold time. */
  restartSendHold(): void {
    this.start('sendHold', this.#fsm.holdTime > 0 ? this.settings.sendHoldTime : 0);
  }

  /** To Idle for good: all timers stop, and so does the connection. */
  halt(): void {
    this.act('close');
    this.#fsm = STOPPED;
  }

  /**
   * To Idle until IdleHoldTimer expires (DampPeerOscillations is always TRUE). A session that stayed up for longer
   * than the longest pause was no oscillation.
   */
  idle({ cause, counted }: Idling): void {
    const { connectRetryCounter, failures, establishedAt } = this.#fsm;
    const { initial, maximum } = this.settings.idleHoldTime;
    const wasStable = establishedAt !== undefined && this.#now - establishedAt >= maximum;
    const soFar = wasStable ? 0 : failures;
    const limit = cause === 'unreachable' ? Math.min(maximum, this.settings.connectRetryTime) : maximum;
    this.act('close');
    this.#fsm = {
      ...STOPPED,
      connectRetryCounter: connectRetryCounter + (counted ? 1 : 0),
      failures: soFar + 1,
      idleCause: cause,
    };
    this.startJittered('idleHold', Math.min(limit, initial * 2 ** Math.min(soFar, 32)));
  }

  #jittered(duration: number): number {
    return Math.round(duration * (1 - JITTER * this.#random()));
  }

  #update(change: Partial<Fsm>): void {
    this.#fsm = { ...this.#fsm, ...change };
  }
}
