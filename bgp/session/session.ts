import type { Clock, MonotonicNs } from '../../net/clock.ts';
import type { Ip, IpFamily } from '../../net/ip.ts';
import type { Prefix } from '../../net/prefix.ts';
import { formatProblem } from '../../net/result.ts';
import type { Schedule } from '../bfd/transport.ts';
import { CeaseSubcode, ErrorCode, MessageType, OpenSubcode } from '../codec/constants.ts';
import { maxMessageLength, readHeader } from '../codec/header.ts';
import { hardReset } from '../codec/messages/notification.ts';
import type { Message, Notification } from '../codec/types.ts';
import {
  type ConnectionEvent,
  type ConnectionId,
  leading,
  type PeerAction,
  type PeerEnvironment,
  type PeerFsm,
  type PeerInput,
  peerSendProgressed,
  peerWakeAt,
  type Slot,
  STOPPED_PEER,
  stepPeer,
} from '../fsm/peer.ts';
import type { FsmState } from '../fsm/types.ts';
import { AdjRibOut } from '../rib/adj-rib-out.ts';
import type { Advertising, RouteAttributes, RouteEdit } from '../rib/types.ts';
import type { BgpNetwork, Channel, ChannelHandlers, Incoming, PathOptions } from '../transport/network.ts';
import { Connection } from './connection.ts';
import type { SpeakerEvent } from './events.ts';
import { nextHopsOf } from './next-hops.ts';
import { ReceivedRoutes } from './received.ts';
import { SessionRecord } from './record.ts';
import {
  fsmSettings,
  goesOn,
  localOpen,
  minimumTtlOf,
  openExpectation,
  type PeerAddress,
  type PeerSettings,
  ttlOf,
} from './settings.ts';
import type { Turns } from './turns.ts';
import { cease, mute, notConnected, REFUSAL } from './words.ts';

export interface SessionOptions {
  readonly network: BgpNetwork;
  readonly schedule: Schedule;
  /** Of all sessions of the thread. */
  readonly turns: Turns;
  readonly clock: Clock;
  readonly wallClock: () => Date;
  readonly random: () => number;
  readonly onEvent: (event: SpeakerEvent) => void;
  /** The process has come back from a restart (RFC 4724 section 4.1). */
  readonly restarted: boolean;
}

/** Settings of one peer with one address. */
export type SessionSettings = PeerSettings & { readonly remote: PeerAddress };

/** Octets that wait for the peer to read, at most, so that a KEEPALIVE is never behind more. */
const MAX_UNSENT = 65_536;

/** How long a peer whose TCP has answered may say nothing before its operator is told, in nanoseconds. */
const PATIENCE = 5e9;

/** One peer: the shell that gives the state machine its sockets and timers, and the routes their way. */
export class Session {
  readonly name: string;
  readonly rib = new AdjRibOut();
  readonly received = new ReceivedRoutes();
  readonly record: SessionRecord;
  readonly #options: SessionOptions;
  readonly #connections = new Map<ConnectionId, Connection>();
  readonly #inputs: PeerInput[] = [];
  #settings: SessionSettings;
  #environment: PeerEnvironment;
  #fsm: PeerFsm = STOPPED_PEER;
  #running = false;
  #incoming: Incoming | undefined;
  #established: ConnectionId | undefined;
  #timer: { readonly at: MonotonicNs; readonly running: Disposable } | undefined;
  #silence: Disposable | undefined;
  #restarting: boolean;
  #withoutCapabilities = false;
  #advertising: Advertising | undefined;

  constructor(name: string, settings: SessionSettings, options: SessionOptions) {
    this.name = name;
    this.#settings = settings;
    this.#options = options;
    this.#restarting = options.restarted;
    this.#environment = this.#environmentOf(settings);
    this.record = new SessionRecord(name, options.wallClock, options.onEvent);
  }

  get settings(): SessionSettings {
    return this.#settings;
  }

  get state(): FsmState {
    return this.#slot.fsm.state;
  }

  /** The machine that is ahead. */
  get slot(): Slot {
    return this.#slot;
  }

  /** The connection that is ahead. */
  get connection(): Connection | undefined {
    const { connection } = this.#slot;
    return connection === undefined ? undefined : this.#connections.get(connection);
  }

  get advertising(): Advertising | undefined {
    return this.#advertising;
  }

  start(): void {
    this.#input({ kind: 'start' });
  }

  /** For good. The peer is told why, or nothing at all. */
  stop(notification?: Notification): void {
    this.#input(this.#ending('stop', notification));
    this.#timer?.running[Symbol.dispose]();
    this.#timer = undefined;
  }

  /** The session ends and comes back by itself. */
  reset(notification: Notification): void {
    this.#input(this.#ending('reset', notification));
  }

  /** What can change while the session runs does; else it starts anew. */
  configure(settings: SessionSettings): void {
    const before = this.#settings;
    const live = goesOn(before, settings);
    if (!live) {
      this.#input({
        kind: 'stop',
        notification: cease(CeaseSubcode.OTHER_CONFIGURATION_CHANGE),
      });
    }
    this.#settings = settings;
    this.#environment = this.#environmentOf(settings);
    if (live) return;
    this.#withoutCapabilities = false;
    this.start();
  }

  edit(edits: Iterable<RouteEdit>): void {
    this.rib.edit(edits);
    this.#pump();
  }

  replace(routes: ReadonlyMap<Prefix, RouteAttributes>): void {
    this.rib.replace(routes);
    this.#pump();
  }

  /** RFC 8326: tell every route again, as one that will go. */
  leave(): void {
    this.rib.leave();
    this.#pump();
  }

  accept(incoming: Incoming): void {
    this.#incoming = incoming;
    this.#input({ kind: 'accepted' });
    this.#incoming = undefined;
  }

  get #slot(): Slot {
    return leading(this.#fsm);
  }

  /** Without a hard reset, a peer that keeps routes over NOTIFICATIONs would keep those of a session that is no more. */
  #ending(kind: 'stop' | 'reset', notification: Notification | undefined): PeerInput {
    if (notification === undefined) return { kind };
    const hard = this.connection?.keepsRoutesOverNotifications === true;
    return { kind, notification: hard ? hardReset(notification) : notification };
  }

  #environmentOf(settings: SessionSettings): PeerEnvironment {
    return {
      settings: fsmSettings(settings),
      random: this.#options.random,
      local: { identifier: settings.identifier, asn: settings.localAsn },
    };
  }

  /** One after another, also those that an action causes. */
  #input(input: PeerInput): void {
    this.#inputs.push(input);
    if (this.#running) return;
    this.#running = true;
    for (let next = this.#inputs.shift(); next !== undefined; next = this.#inputs.shift()) this.#step(next);
    this.#running = false;
    this.#reschedule();
  }

  #step(input: PeerInput): void {
    const before = this.#fsm;
    this.#noteExpiry(input);
    const { peer, actions } = stepPeer(before, input, this.#options.clock.now(), this.#environment);
    this.#fsm = peer;
    const wasUp = this.#established;
    const isUp = [peer.main, peer.second].find((slot) => slot?.fsm.state === 'Established')?.connection;
    if (wasUp !== undefined && isUp !== wasUp) this.#down();
    for (const action of actions) this.#act(action);
    const [from, to] = [leading(before).fsm.state, this.state];
    if (from !== to) {
      this.record.changed(from, to);
      this.#watchSilence(to);
    }
    if (isUp !== undefined && isUp !== wasUp) this.#up(isUp);
  }

  #act(action: PeerAction): void {
    if (action.kind === 'refuse') {
      this.#incoming?.refuse(REFUSAL);
      return;
    }
    const { connection: id } = action;
    switch (action.kind) {
      case 'connect':
        this.#connect(id);
        return;
      case 'adopt':
        this.#adopt(id);
        return;
      case 'close':
        this.#connections.get(id)?.channel.close();
        this.#connections.delete(id);
        return;
      case 'send-open': {
        const connection = this.#connections.get(id);
        if (connection !== undefined) this.#send(connection, connection.localOpen);
        return;
      }
      case 'send-keepalive':
        this.#send(this.#connections.get(id), { type: 'KEEPALIVE' });
        return;
      case 'send-notification':
        this.record.notification('sent', action.notification);
        this.#send(this.#connections.get(id), action.notification);
        return;
    }
  }

  #connect(id: ConnectionId): void {
    const { remote, port, sourceAddress, sourceInterface, password } = this.#settings;
    const opened = this.#options.network.connect(
      {
        remote: { ...remote, port },
        local: sourceAddress,
        interface: remote.interface ?? sourceInterface,
        password,
        ...this.#path(),
      },
      this.#handlers(id),
    );
    if (opened.problem === undefined) {
      this.#add(id, opened.ok);
      return;
    }
    // Above all a key that the kernel refuses: without it nothing is tried.
    this.record.problem(formatProblem(opened.problem));
    this.#hear(id, { kind: 'TcpConnectionFails' });
  }

  #adopt(id: ConnectionId): void {
    const taken = this.#incoming?.take(this.#path(), this.#handlers(id));
    if (taken?.ok !== undefined) {
      this.#add(id, taken.ok);
      return;
    }
    if (taken !== undefined) this.record.problem(formatProblem(taken.problem));
    this.#hear(id, { kind: 'TcpConnectionFails' });
  }

  #add(id: ConnectionId, channel: Channel): void {
    const open = localOpen(this.#settings, {
      restarting: this.#restarting,
      withoutCapabilities: this.#withoutCapabilities,
    });
    this.#connections.set(id, new Connection(channel, openExpectation(this.#settings, open)));
  }

  #path(): PathOptions {
    const settings = this.#settings;
    return {
      ttl: ttlOf(settings),
      minimumTtl: minimumTtlOf(settings),
      userTimeout: fsmSettings(settings).sendHoldTime / 1e6,
    };
  }

  #handlers(id: ConnectionId): ChannelHandlers {
    return {
      onConnect: () => this.#hear(id, { kind: 'Tcp_CR_Acked' }),
      onData: (bytes) => this.#read(id, bytes),
      onDrain: () => this.#drained(id),
      onClose: (reason) => {
        if (!this.#connections.has(id)) return;
        this.record.failed(notConnected(this.#settings, this.state, reason));
        this.#hear(id, { kind: 'TcpConnectionFails' });
      },
    };
  }

  #hear(connection: ConnectionId, event: ConnectionEvent): void {
    this.#input({ kind: 'event', connection, event });
  }

  #read(id: ConnectionId, bytes: Uint8Array): void {
    for (const { message, event, errors } of this.#connections.get(id)?.read(bytes) ?? []) {
      this.record.heard(message, errors);
      if (message?.type === 'NOTIFICATION') this.#heed(message);
      if (event !== undefined) this.#hear(id, event);
      if (!this.#connections.has(id)) return;
      if (id === this.#established && message !== undefined) this.#use(message);
    }
  }

  /** RFC 5492 section 3: a peer that knows no optional parameters is tried again without. */
  #heed({ code, subcode }: Notification): void {
    const beginning = this.state === 'OpenSent' || this.state === 'OpenConfirm';
    if (beginning && code === ErrorCode.OPEN && subcode === OpenSubcode.UNSUPPORTED_OPTIONAL_PARAMETER) {
      this.#withoutCapabilities = true;
    }
  }

  #use(message: Message): void {
    if (message.type === 'ROUTE-REFRESH') {
      // The marks of a peer's own refresh concern those who keep its routes.
      if (message.subtype === 'request') this.rib.refresh(message.family);
      this.#pump();
      return;
    }
    if (message.type !== 'UPDATE') return;
    this.received.count(message);
    const { maximumPrefixes = Number.POSITIVE_INFINITY } = this.#settings;
    if (this.received.total <= maximumPrefixes) return;
    this.reset(cease(CeaseSubcode.MAXIMUM_NUMBER_OF_PREFIXES_REACHED));
  }

  #up(id: ConnectionId): void {
    const connection = this.#connections.get(id);
    const local = connection?.channel.local?.address;
    if (connection === undefined || local === undefined) return;
    this.#established = id;
    this.#restarting = false;
    const { session } = connection;
    const beside = this.#options.network.addressesBeside(local);
    const { nextHops: configured = {}, extendedNextHop } = this.#settings;
    const nextHops = nextHopsOf({
      local,
      beside,
      extendedNextHop: extendedNextHop && session.extendedNextHop,
      configured,
    });
    this.#reportUntold(
      session.families.filter((family) => nextHops[family] === undefined),
      local,
    );
    this.#advertising = { session, localAsn: this.#settings.localAsn, nextHops, leaving: false };
    this.rib.open(this.#advertising);
    this.received.clear();
    this.#pump();
  }

  #reportUntold(families: readonly IpFamily[], local: Ip): void {
    for (const family of families) {
      this.record.problem(
        `${family} routes cannot be told: the interface of ${local} has no ${family} address for their next hop; ` +
          'give it one or set a next hop',
      );
    }
  }

  #down(): void {
    this.#established = undefined;
    this.#advertising = undefined;
    this.rib.close();
    this.received.clear();
    this.#options.turns.forget(this.#pump);
  }

  /** Writes what the peer has room for, in turn with other sessions. */
  readonly #pump = (): void => {
    const connection = this.#established === undefined ? undefined : this.#connections.get(this.#established);
    if (connection === undefined) return;
    const { turns } = this.#options;
    const room = MAX_UNSENT - maxMessageLength(connection.session);
    while (!this.rib.isComplete) {
      // What is pulled must be sent.
      if (turns.isOver()) {
        turns.wait(this.#pump);
        return;
      }
      for (const bytes of this.rib.messages()) {
        connection.channel.write(bytes);
        this.record.countSent(readHeader(bytes).type === MessageType.UPDATE ? 'UPDATE' : 'ROUTE-REFRESH');
        turns.spend(bytes.length);
        // onDrain goes on.
        if (connection.channel.unsent > room) return;
        if (turns.isOver()) break;
      }
    }
  };

  #drained(id: ConnectionId): void {
    this.#fsm = peerSendProgressed(this.#fsm, id, this.#options.clock.now(), this.#environment);
    if (id === this.#established) this.#pump();
  }

  #send(connection: Connection | undefined, message: Message): void {
    if (connection === undefined) return;
    connection.send(message);
    this.record.countSent(message.type);
  }

  /** A connection attempt that nobody answered has no other witness than its timer. */
  #noteExpiry(input: PeerInput): void {
    const { fsm } = this.#fsm.main;
    const due = fsm.deadlines.connectRetry;
    if (input.kind !== 'wake' || fsm.state !== 'Connect' || due === undefined) return;
    if (due <= this.#options.clock.now()) this.record.failed(notConnected(this.#settings, 'Connect', 'ETIMEDOUT'));
  }

  /** OpenSent has four minutes (RFC 4271 section 8.2.2), which is long to wonder. */
  #watchSilence(state: FsmState): void {
    this.#silence?.[Symbol.dispose]();
    this.#silence =
      state === 'OpenSent'
        ? this.#options.schedule(PATIENCE, () => this.record.concern(mute(this.#settings)))
        : undefined;
  }

  /** A timer that is early is left alone: it looks and sets the next. */
  #reschedule(): void {
    const at = peerWakeAt(this.#fsm);
    if (at === undefined || (this.#timer !== undefined && this.#timer.at <= at)) return;
    this.#timer?.running[Symbol.dispose]();
    const delay = Math.max(0, at - this.#options.clock.now());
    const running = this.#options.schedule(delay, () => {
      this.#timer = undefined;
      this.#input({ kind: 'wake' });
    });
    this.#timer = { at, running };
  }
}
