import { type Clock, type MonotonicNs } from '../../net/clock.ts';
import { familyOf } from '../../net/ip.ts';
import { type Failure, formatProblem, type Result } from '../../net/result.ts';
import { SOURCE_PORTS } from './constants.ts';
import { type Action, openSession, type SessionEvent, step, wakeAt } from './machine.ts';
import { type ControlPacket, type Discard, decodeControlPacket, encodeControlPacket } from './packet.ts';
import { type BfdEvent, type BfdStatus, statusOf } from './status.ts';
import { type Arrival, type Path, SessionTable } from './table.ts';
import { NS_PER_US, transmitInterval } from './timing.ts';
import type { BfdNetwork, Schedule, Sender } from './transport.ts';
import type { Parameters, Session } from './types.ts';

/** A session that somebody wants, under a key of the caller's. */
export interface SessionSpec {
  readonly path: Path;
  readonly parameters: Parameters;
}

export interface SpeakerOptions {
  readonly network: BfdNetwork;
  readonly schedule: Schedule;
  readonly clock: Clock;
  /** 0 (included) to 1 (excluded). */
  readonly random: () => number;
  readonly onEvent: (event: BfdEvent) => void;
}

/** How a session ends: `silent` for a restart, so that the peer's own grace applies; else it is told of AdminDown. */
export type Ending = 'silent' | 'admin-down';

/** How long a socket that could not be opened waits, in nanoseconds. */
const RETRY = 1e9;

/** One session with its socket, its timer and its counters. */
export interface Running {
  readonly key: string;
  readonly path: Path;
  readonly discriminator: number;
  session: Session;
  sender: Sender | undefined;
  timer: Disposable | undefined;
  problem: string | undefined;
  upSince: MonotonicNs | undefined;
  sent: number;
  received: number;
  transitions: number;
  readonly discards: Map<Discard, number>;
  /** Type of the authentication that the peer last asked for. */
  authentication: number | undefined;
}

/** Runs BFD sessions over injected sockets and timers; everything in it happens in the calls of one thread. */
export class BfdSpeaker implements Disposable {
  readonly #options: SpeakerOptions;
  readonly #sessions = new Map<string, Running>();
  /** With those that say AdminDown before they go. */
  readonly #table = new SessionTable<Running>();
  readonly #listeners = new Map<string, Disposable>();
  readonly #strays = new Map<Discard, number>();
  #nextPort: number;

  constructor(options: SpeakerOptions) {
    this.#options = options;
    const ports = SOURCE_PORTS.last - SOURCE_PORTS.first + 1;
    this.#nextPort = SOURCE_PORTS.first + Math.floor(options.random() * ports);
  }

  /** Starts the session, or gives a running one its new parameters; a new path is a new session. */
  upsert(key: string, { path, parameters }: SessionSpec): void {
    const running = this.#sessions.get(key);
    if (running !== undefined && samePath(running.path, path)) {
      this.#step(running, { kind: 'configure', parameters });
      return;
    }
    if (running !== undefined) this.delete(key, 'silent');
    this.#start(key, path, parameters);
  }

  delete(key: string, ending: Ending): void {
    const running = this.#sessions.get(key);
    if (running === undefined) return;
    this.#sessions.delete(key);
    if (ending === 'silent' || running.sender === undefined) {
      this.#close(running);
      return;
    }
    // RFC 5880 section 6.8.16: the peer hears of AdminDown for as long as it would take to miss us.
    this.#step(running, { kind: 'disable' });
    const { advertised, remote } = running.session;
    const linger = advertised.detectMultiplier * transmitInterval(advertised, remote) * NS_PER_US;
    this.#options.schedule(linger, () => this.#close(running));
  }

  status(): BfdStatus[] {
    const now = this.#options.clock.now();
    return Array.from(this.#sessions.values(), (running) => statusOf(running, now));
  }

  /** Packets that belonged to no session, by reason. */
  get strays(): ReadonlyMap<Discard, number> {
    return this.#strays;
  }

  /** Ends everything at once and silently. */
  [Symbol.dispose](): void {
    for (const running of [...this.#table]) this.#close(running);
    this.#sessions.clear();
    for (const listener of this.#listeners.values()) listener[Symbol.dispose]();
    this.#listeners.clear();
  }

  #start(key: string, path: Path, parameters: Parameters): void {
    const discriminator = this.#table.freshDiscriminator(this.#options.random);
    const running: Running = {
      key,
      path,
      discriminator,
      session: openSession(discriminator, parameters, this.#options.clock.now()),
      sender: undefined,
      timer: undefined,
      problem: undefined,
      upSince: undefined,
      sent: 0,
      received: 0,
      transitions: 0,
      discards: new Map(),
      authentication: undefined,
    };
    this.#sessions.set(key, running);
    this.#table.add(running);
    this.#connect(running);
  }

  /** Opens what the session needs; what cannot be opened is tried again, since an interface may come later. */
  #connect(running: Running): void {
    const opened = this.#listen(running.path) ?? this.#open(running.path);
    running.problem = opened.problem && formatProblem(opened.problem);
    running.sender = opened.ok;
    if (opened.problem !== undefined) {
      running.timer = this.#options.schedule(RETRY, () => this.#connect(running));
      return;
    }
    this.#step(running, { kind: 'wake' });
  }

  #listen({ hops, remote }: Path): Failure | undefined {
    const family = familyOf(remote);
    const key = `${hops} ${family}`;
    if (this.#listeners.has(key)) return undefined;
    const { network } = this.#options;
    const opened = network.listen(hops, family, (payload, from) => this.#receive(payload, { ...from, hops }));
    if (opened.problem !== undefined) return opened;
    this.#listeners.set(key, opened.ok);
    return undefined;
  }

  /** RFC 5881 section 4: a source port that no other session here has. */
  #open(path: Path): Result<Sender> {
    let opened = this.#options.network.open(path, this.#nextPort);
    for (let tries = 1; opened.problem?.value === 'EADDRINUSE' && tries < 100; tries++) {
      opened = this.#options.network.open(path, this.#takePort());
    }
    if (opened.ok !== undefined) this.#takePort();
    return opened;
  }

  #takePort(): number {
    this.#nextPort = this.#nextPort === SOURCE_PORTS.last ? SOURCE_PORTS.first : this.#nextPort + 1;
    return this.#nextPort;
  }

  #receive(payload: Uint8Array, arrival: Arrival): void {
    const decoded = decodeControlPacket(payload);
    if (decoded.problem !== undefined) {
      count(this.#strays, decoded.problem);
      return;
    }
    const found = this.#table.find(decoded.ok, arrival);
    if (found.problem !== undefined) {
      count(this.#strays, found.problem);
      return;
    }
    found.ok.received++;
    found.ok.authentication = decoded.ok.authenticationType;
    this.#step(found.ok, { kind: 'packet', packet: decoded.ok });
  }

  #step(running: Running, event: SessionEvent): void {
    const now = this.#options.clock.now();
    const { session, actions } = step(running.session, event, now, this.#options.random());
    running.session = session;
    for (const action of actions) this.#act(running, action, now);
    // A session without a socket waits for the next try to open one.
    if (running.sender === undefined) return;
    running.timer?.[Symbol.dispose]();
    const wake = wakeAt(session);
    const delay = wake === undefined ? undefined : Math.max(0, wake - now);
    running.timer = delay === undefined ? undefined : this.#options.schedule(delay, () => this.#step(running, WAKE));
  }

  #act(running: Running, action: Action, now: MonotonicNs): void {
    switch (action.kind) {
      case 'send':
        this.#send(running, action.packet);
        return;
      case 'discard':
        count(running.discards, action.reason);
        return;
      case 'transition': {
        const { diagnostic, remote } = running.session;
        const { from, to } = action;
        running.transitions++;
        running.upSince = to === 'Up' ? now : undefined;
        if (this.#sessions.get(running.key) !== running) return;
        this.#options.onEvent({ key: running.key, from, to, diagnostic, remoteState: remote.state });
      }
    }
  }

  #send(running: Running, packet: ControlPacket): void {
    running.sent++;
    running.sender?.send(encodeControlPacket(packet));
  }

  #close(running: Running): void {
    running.timer?.[Symbol.dispose]();
    running.sender?.[Symbol.dispose]();
    running.sender = undefined;
    this.#table.delete(running);
  }
}

const WAKE: SessionEvent = { kind: 'wake' };

function count(counters: Map<Discard, number>, reason: Discard): void {
  counters.set(reason, (counters.get(reason) ?? 0) + 1);
}

function samePath(a: Path, b: Path): boolean {
  return a.remote === b.remote && a.local === b.local && a.interface === b.interface && a.hops === b.hops;
}
