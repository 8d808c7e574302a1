import type { MonotonicNs } from '../../net/clock.ts';
import type { Notification } from '../codec/types.ts';
import { type Identity, type Origin, survivingOrigin } from './collision.ts';
import { dueEvent, sendProgressed, step, wakeAt } from './machine.ts';
import { type Fsm, type FsmAction, type FsmEnvironment, type FsmEvent, type FsmState, STOPPED } from './types.ts';

/** Of a connection of one peer; never used twice. */
export type ConnectionId = number;

/** What an OPEN says that decides between two connections. */
export interface Remote extends Identity {
  /** The peer announced graceful restart for some family. */
  readonly gracefulRestart: boolean;
}

/** A machine with the connection that it has or tries for. */
export interface Slot {
  readonly fsm: Fsm;
  readonly connection: ConnectionId | undefined;
  readonly origin: Origin;
  /** Once its OPEN has come. */
  readonly remote: Remote | undefined;
}

/**
 * The machines of one peer. RFC 4271 section 8.2.1: one for the peer as configured, and one for an incoming connection
 * until collision detection leaves one of the two.
 */
export interface PeerFsm {
  readonly main: Slot;
  readonly second: Slot | undefined;
  readonly nextConnection: ConnectionId;
}

export type PeerInput =
  | { readonly kind: 'start' }
  /** For good, until `start`. Without a notification in silence. */
  | { readonly kind: 'stop'; readonly notification?: Notification }
  /** The session ends and comes back by itself. */
  | { readonly kind: 'reset'; readonly notification?: Notification }
  /** A connection from the peer was accepted; the answer adopts or refuses it. */
  | { readonly kind: 'accepted' }
  | { readonly kind: 'event'; readonly connection: ConnectionId; readonly event: ConnectionEvent }
  /** Some timer may be due. */
  | { readonly kind: 'wake' };

/** What happens on a connection. */
export type ConnectionEvent =
  | Exclude<FsmEvent, { readonly kind: 'BGPOpen' | 'BGPOpen_with_DelayOpenTimer_running' }>
  | OpenArrival;

export interface OpenArrival {
  readonly kind: 'BGPOpen';
  /** Seconds, as the peer offers. */
  readonly holdTime: number;
  readonly remote: Remote;
}

export type PeerAction =
  | (FsmAction & { readonly connection: ConnectionId })
  /** The connection that was just accepted has this number. */
  | { readonly kind: 'adopt'; readonly connection: ConnectionId }
  | { readonly kind: 'refuse' };

export interface PeerStep {
  readonly peer: PeerFsm;
  readonly actions: readonly PeerAction[];
}

export interface PeerEnvironment extends FsmEnvironment {
  readonly local: Identity;
}

export const STOPPED_PEER: PeerFsm = {
  main: { fsm: STOPPED, connection: undefined, origin: 'local', remote: undefined },
  second: undefined,
  nextConnection: 1,
};

/** The machine that is ahead: what an operator calls the state of the session. */
export function leading({ main, second }: PeerFsm): Slot {
  return second !== undefined && RANK[second.fsm.state] > RANK[main.fsm.state] ? second : main;
}

const RANK: Readonly<Record<FsmState, number>> = {
  Idle: 0,
  Active: 1,
  Connect: 2,
  OpenSent: 3,
  OpenConfirm: 4,
  Established: 5,
};

export function peerWakeAt({ main, second }: PeerFsm): MonotonicNs | undefined {
  const [first, other] = [wakeAt(main.fsm), second && wakeAt(second.fsm)];
  return first === undefined || other === undefined ? (first ?? other) : (Math.min(first, other) as MonotonicNs);
}

/** The peer's TCP has taken some of what was sent on the connection. */
export function peerSendProgressed(
  peer: PeerFsm,
  connection: ConnectionId,
  now: MonotonicNs,
  environment: PeerEnvironment,
): PeerFsm {
  const which = peer.main.connection === connection ? 'main' : 'second';
  const slot = peer[which];
  if (slot?.connection !== connection) return peer;
  return { ...peer, [which]: { ...slot, fsm: sendProgressed(slot.fsm, now, environment) } };
}

export function stepPeer(peer: PeerFsm, input: PeerInput, now: MonotonicNs, environment: PeerEnvironment): PeerStep {
  const pair = new Pair(peer, now, environment);
  switch (input.kind) {
    case 'start':
      pair.run('main', {
        kind: environment.settings.passive ? 'ManualStart_with_PassiveTcpEstablishment' : 'ManualStart',
      });
      break;
    case 'stop':
      pair.runBoth({ ...input, kind: 'ManualStop' });
      break;
    case 'reset':
      pair.runBoth({ ...input, kind: 'AutomaticStop' });
      break;
    case 'accepted':
      pair.accept();
      break;
    case 'event':
      pair.arrive(input.connection, input.event);
      break;
    case 'wake':
      pair.wake();
      break;
  }
  return pair.result;
}

type Which = 'main' | 'second';

/** One step of a peer in the making. */
class Pair {
  readonly #now: MonotonicNs;
  readonly #environment: PeerEnvironment;
  readonly #actions: PeerAction[] = [];
  #main: Slot;
  #second: Slot | undefined;
  #nextConnection: ConnectionId;

  constructor({ main, second, nextConnection }: PeerFsm, now: MonotonicNs, environment: PeerEnvironment) {
    this.#main = main;
    this.#second = second;
    this.#nextConnection = nextConnection;
    this.#now = now;
    this.#environment = environment;
  }

  get result(): PeerStep {
    const peer = { main: this.#main, second: this.#second, nextConnection: this.#nextConnection };
    return { peer, actions: this.#actions };
  }

  run(which: Which, event: FsmEvent): void {
    const slot = this.#slot(which);
    if (slot === undefined) return;
    const { fsm, actions } = step(slot.fsm, event, this.#now, this.#environment);
    let { connection, origin, remote } = slot;
    for (const action of actions) {
      if (action.kind === 'connect') {
        connection = this.#nextConnection++;
        origin = 'local';
      }
      if (connection !== undefined) this.#actions.push({ ...action, connection });
      if (action.kind === 'close') {
        connection = undefined;
        remote = undefined;
      }
    }
    this.#put(which, { fsm, connection, origin, remote });
  }

  runBoth(event: FsmEvent): void {
    this.run('second', event);
    this.run('main', event);
  }

  wake(): void {
    for (const which of ['main', 'second'] as const) {
      // Each expiry stops or restarts its timer, so that this ends.
      for (let event = this.#due(which); event !== undefined; event = this.#due(which)) this.run(which, event);
    }
  }

  /**
   * Section 8.2.2, Idle: "the BGP FSM ... refuses all incoming BGP connections", but for a peer that we did not reach,
   * or that failed once: waiting costs more there than it damps.
   */
  accept(): void {
    const { fsm, connection } = this.#main;
    if (fsm.state === 'Idle') {
      if (fsm.idleCause === 'stopped' || (fsm.idleCause === 'failed' && fsm.failures > 1)) {
        this.#actions.push({ kind: 'refuse' });
        return;
      }
      this.#main = { ...this.#main, fsm: { ...fsm, state: 'Active', deadlines: {} } };
      this.#adopt('main');
      return;
    }
    if (fsm.state === 'Active' && connection === undefined) {
      this.#adopt('main');
      return;
    }
    // A peer that opens a third has given up one of the others.
    this.run('second', { kind: 'OpenCollisionDump' });
    const awaiting: Fsm = { ...STOPPED, state: 'Active' };
    this.#second = { fsm: awaiting, connection: undefined, origin: 'remote', remote: undefined };
    this.#adopt('second');
  }

  arrive(connection: ConnectionId, event: ConnectionEvent): void {
    const which = this.#main.connection === connection ? 'main' : 'second';
    const slot = this.#slot(which);
    // The connection is not ours any more: a late word of it changes nothing.
    if (slot?.connection !== connection) return;
    if (event.kind !== 'BGPOpen') {
      this.run(which, event);
      const isUp = slot.fsm.state !== 'Established' && this.#slot(which)?.fsm.state === 'Established';
      if (isUp) this.#drop(other(which));
      return;
    }
    this.#put(which, { ...slot, remote: event.remote });
    const survivor = this.#collide(which, event.remote);
    if (survivor === undefined) return;
    const delayed = slot.fsm.deadlines.delayOpen !== undefined;
    const kind = delayed ? 'BGPOpen_with_DelayOpenTimer_running' : 'BGPOpen';
    this.run(survivor, { kind, holdTime: event.holdTime });
  }

  /**
   * Section 6.8, upon an OPEN.
   * @returns where the connection is that the OPEN came on; undefined if it was dropped.
   */
  #collide(which: Which, remote: Remote): Which | undefined {
    const rival = this.#slot(other(which));
    const slot = this.#slot(which);
    if (rival === undefined || slot === undefined) return which;
    switch (rival.fsm.state) {
      case 'Established':
        // RFC 4724 section 5: a new connection tells that the old one has ended, without a NOTIFICATION.
        if (rival.remote?.gracefulRestart === true) return this.#drop(other(which), 'TcpConnectionFails');
        this.#drop(which);
        return undefined;
      case 'OpenConfirm': {
        // Of two connections that the same side opened it has given up the older.
        const wins = slot.origin === rival.origin || slot.origin === survivingOrigin(this.#environment.local, remote);
        if (wins) return this.#drop(other(which));
        this.#drop(which);
        return undefined;
      }
      case 'Idle':
      case 'Connect':
      case 'Active':
      case 'OpenSent':
        return which;
    }
  }

  /**
   * Ends one of two machines; what is left is the peer's.
   * @returns where the other is then.
   */
  #drop(which: Which, kind: 'OpenCollisionDump' | 'TcpConnectionFails' = 'OpenCollisionDump'): Which {
    const failures = this.#main.fsm.failures;
    const survivor = this.#second;
    this.run(which, { kind });
    if (which === 'second' || survivor === undefined) {
      this.#second = undefined;
    } else {
      this.#main = { ...survivor, fsm: { ...survivor.fsm, failures } };
      this.#second = undefined;
    }
    return 'main';
  }

  #adopt(which: Which): void {
    const slot = this.#slot(which);
    if (slot === undefined) return;
    const connection = this.#nextConnection++;
    this.#actions.push({ kind: 'adopt', connection });
    this.#put(which, { ...slot, connection, origin: 'remote' });
    this.run(which, { kind: 'TcpConnectionConfirmed' });
  }

  #due(which: Which): FsmEvent | undefined {
    const slot = this.#slot(which);
    return slot && dueEvent(slot.fsm, this.#now);
  }

  #slot(which: Which): Slot | undefined {
    return which === 'main' ? this.#main : this.#second;
  }

  /** A second machine lives as long as its connection. */
  #put(which: Which, slot: Slot): void {
    if (which === 'main') this.#main = slot;
    else this.#second = slot.connection === undefined ? undefined : slot;
  }
}

function other(which: Which): Which {
  return which === 'main' ? 'second' : 'main';
}
