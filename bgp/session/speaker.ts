import { type Clock, monotonicClock, ms } from '../../net/clock.ts';
import { familyOf, type Ip } from '../../net/ip.ts';
import { type Prefix, prefixAddress, prefixContains, prefixFamily } from '../../net/prefix.ts';
import { formatProblem } from '../../net/result.ts';
import { nodeSchedule, type Schedule } from '../bfd/transport.ts';
import { CeaseSubcode } from '../codec/constants.ts';
import { ceaseWithCommunication } from '../codec/messages/notification.ts';
import type { RouteAttributes, RouteEdit } from '../rib/types.ts';
import type { BgpNetwork, Incoming } from '../transport/network.ts';
import type { SpeakerEvent } from './events.ts';
import { Listeners } from './listeners.ts';
import { Session } from './session.ts';
import type { PeerRange, PeerSettings } from './settings.ts';
import type { RouteStatus, SessionStatus } from './status.ts';
import { Turns } from './turns.ts';
import { routeStatuses, sessionStatus } from './view.ts';
import { cease, REFUSAL } from './words.ts';

export interface SpeakerOptions {
  readonly network: BgpNetwork;
  /** Where peers may connect to; undefined: this speaker only connects. */
  readonly listenPort: number | undefined;
  readonly onEvent: (event: SpeakerEvent) => void;
  /** The process has come back from a restart: peers need not wait for our routes to be whole (RFC 4724 section 4.1). */
  readonly restarted?: boolean;
  /** Milliseconds between telling that all routes will go and withdrawing them (RFC 8326); default 0: not told. */
  readonly gracefulShutdownWait?: number;
  readonly clock?: Clock;
  readonly wallClock?: () => Date;
  readonly schedule?: Schedule;
  readonly random?: () => number;
}

/** How all sessions end. */
export type Ending =
  /** Without a word, so that peers keep our routes until we are back (RFC 4724). */
  | 'restart'
  /** Routes withdrawn, then Cease. */
  | 'shutdown';

interface Peer {
  readonly settings: PeerSettings;
  /** One, or those of a range by address. */
  readonly sessions: Map<string, Session>;
  /** Its key could not be given to the listener: nobody from there is let in. */
  readonly keyless: boolean;
  /** What hosts of a range will be told. */
  readonly routes: Map<Prefix, RouteAttributes>;
}

/** Longest time that routes have to be withdrawn at the end, in nanoseconds. */
const WITHDRAWAL_TIME = 1e9;

/**
 * A BGP speaker that announces routes and imports none. Everything is level-triggered: peers and routes are what they
 * should be, sessions come and go by themselves. Nothing here waits for a peer, and no peer for another.
 */
export class Speaker {
  readonly #options: SpeakerOptions;
  readonly #schedule: Schedule;
  readonly #clock: Clock;
  readonly #peers = new Map<string, Peer>();
  readonly #listeners: Listeners;
  readonly #turns: Turns;

  constructor(options: SpeakerOptions) {
    this.#options = options;
    this.#schedule = options.schedule ?? nodeSchedule;
    this.#clock = options.clock ?? monotonicClock;
    this.#turns = new Turns(this.#schedule);
    this.#listeners = new Listeners({
      network: options.network,
      schedule: this.#schedule,
      port: options.listenPort,
      onConnection: (incoming) => this.#accept(incoming),
      onProblem: (text) => {
        for (const peer of this.#peers.keys()) options.onEvent({ kind: 'problem', peer, text });
      },
    });
  }

  /** Makes `peers` all that there are. */
  setPeers(peers: ReadonlyMap<string, PeerSettings>): void {
    for (const name of [...this.#peers.keys()]) if (!peers.has(name)) this.deletePeer(name);
    for (const [name, settings] of peers) this.setPeer(name, settings);
  }

  /** Starts the peer, or changes it: what can change live does, else this session alone starts anew. */
  setPeer(name: string, settings: PeerSettings): void {
    const before = this.#peers.get(name);
    if (before !== undefined && addressOf(before.settings) !== addressOf(settings)) {
      this.#exchange(name, before, settings);
      return;
    }
    const peer = this.#admit(name, settings, before);
    for (const session of peer.sessions.values()) session.configure({ ...settings, remote: session.settings.remote });
    if (before === undefined && 'address' in settings.remote) this.#start(name, peer, settings.remote);
    this.#listeners.want(familyOf(addressOf(settings)));
  }

  /** Ends the session with Cease/Peer De-configured. */
  deletePeer(name: string): void {
    const peer = this.#peers.get(name);
    if (peer === undefined) return;
    this.#peers.delete(name);
    for (const session of peer.sessions.values()) session.stop(cease(CeaseSubcode.PEER_DECONFIGURED));
    this.#listeners.setKey(keyOf(peer.settings), undefined);
  }

  /** Makes `routes` all that the peer should have. A peer that is down gets them when it is up. */
  setRoutes(name: string, routes: ReadonlyMap<Prefix, RouteAttributes>): void {
    const peer = this.#peers.get(name);
    if (peer === undefined) return;
    if ('range' in peer.settings.remote) {
      peer.routes.clear();
      for (const [prefix, attributes] of routes) peer.routes.set(prefix, attributes);
    }
    for (const session of peer.sessions.values()) session.replace(routes);
  }

  /** Changes some of the routes that the peer should have. */
  editRoutes(name: string, edits: readonly RouteEdit[]): void {
    const peer = this.#peers.get(name);
    if (peer === undefined) return;
    if ('range' in peer.settings.remote) {
      for (const { prefix, attributes } of edits) {
        if (attributes === undefined) peer.routes.delete(prefix);
        else peer.routes.set(prefix, attributes);
      }
    }
    for (const session of peer.sessions.values()) session.edit(edits);
  }

  /** The path to the peer is down (RFC 5882 section 4.1): Cease/BFD Down (RFC 9384), and the session tries again. */
  pathDown(name: string, reason: string): void {
    for (const session of this.#peers.get(name)?.sessions.values() ?? []) {
      session.record.failed(`BFD: ${reason}`);
      session.reset(cease(CeaseSubcode.BFD_DOWN));
    }
  }

  /** Ends the session with Cease/Administrative Reset and these words (RFC 9003); it comes back by itself. */
  resetPeer(name: string, communication: string): void {
    for (const session of this.#peers.get(name)?.sessions.values() ?? []) {
      session.reset(ceaseWithCommunication(CeaseSubcode.ADMINISTRATIVE_RESET, communication));
    }
  }

  /** Of one peer, or one for each host of a range; of all without a name. */
  status(name?: string): readonly SessionStatus[] {
    const peers = name === undefined ? [...this.#peers.values()] : [this.#peers.get(name)];
    return peers.flatMap((peer) => [...(peer?.sessions.values() ?? [])].map(sessionStatus));
  }

  /** Whether the peer was told of the route, in whatever words, and not to forget it; of a range: one of its hosts. */
  isAdvertised(name: string, prefix: Prefix): boolean {
    const sessions = [...(this.#peers.get(name)?.sessions.values() ?? [])];
    return sessions.some(({ rib }) => rib.family(prefixFamily(prefix)).isAdvertised(prefix));
  }

  /** What the peer should have and what it was sent, of a range for each of its hosts. */
  routes(name: string): readonly RouteStatus[] {
    return [...(this.#peers.get(name)?.sessions.values() ?? [])].flatMap((session) => [...routeStatuses(session)]);
  }

  /**
   * Ends everything; the speaker is of no use afterwards. A shutdown tells that routes will go, waits, withdraws them
   * and says why (RFC 8326, RFC 9003); `signal` cuts the waiting short.
   */
  async close(ending: Ending, signal: AbortSignal, communication = 'shutting down'): Promise<void> {
    this.#listeners[Symbol.dispose]();
    if (ending === 'shutdown') await this.#withdrawAll(signal);
    const notification = ceaseWithCommunication(CeaseSubcode.ADMINISTRATIVE_SHUTDOWN, communication);
    for (const session of this.#sessions()) session.stop(ending === 'shutdown' ? notification : undefined);
    this.#peers.clear();
    this.#turns[Symbol.dispose]();
  }

  async #withdrawAll(signal: AbortSignal): Promise<void> {
    const { gracefulShutdownWait = 0 } = this.#options;
    const up = this.#sessions().filter(({ state }) => state === 'Established');
    if (gracefulShutdownWait > 0 && up.length > 0) {
      for (const session of up) session.leave();
      await this.#until(() => false, ms(gracefulShutdownWait), signal);
    }
    for (const session of up) session.replace(new Map());
    const isWithdrawn = (): boolean =>
      up.every(({ rib, connection }) => rib.isComplete && (connection?.channel.unsent ?? 0) === 0);
    await this.#until(isWithdrawn, WITHDRAWAL_TIME, signal);
  }

  async #until(holds: () => boolean, longest: number, signal: AbortSignal): Promise<void> {
    const deadline = this.#clock.now() + longest;
    while (!signal.aborted && !holds() && this.#clock.now() < deadline) {
      await new Promise<void>((resolve) => this.#schedule(ms(10), resolve));
    }
  }

  #sessions(): Session[] {
    return [...this.#peers.values()].flatMap(({ sessions }) => [...sessions.values()]);
  }

  /** Another address is another session; the routes stay. */
  #exchange(name: string, before: Peer, settings: PeerSettings): void {
    const routes = new Map(before.routes);
    for (const { rib } of before.sessions.values()) {
      for (const { prefix, attributes } of rib.routes()) routes.set(prefix, attributes);
    }
    this.deletePeer(name);
    this.setPeer(name, settings);
    this.setRoutes(name, routes);
  }

  #admit(name: string, settings: PeerSettings, before: Peer | undefined): Peer {
    const keyed = this.#listeners.setKey(keyOf(settings), settings.password);
    if (keyed.problem !== undefined) {
      const text = `connections from the peer are refused: ${formatProblem(keyed.problem)}`;
      this.#options.onEvent({ kind: 'problem', peer: name, text });
    }
    const { sessions, routes } = before ?? { sessions: new Map<string, Session>(), routes: new Map() };
    const peer = { settings, sessions, routes, keyless: keyed.problem !== undefined };
    this.#peers.set(name, peer);
    return peer;
  }

  #start(name: string, peer: Peer, remote: { readonly address: Ip; readonly interface?: string }): Session {
    const session = new Session(
      name,
      { ...peer.settings, remote },
      {
        network: this.#options.network,
        schedule: this.#schedule,
        turns: this.#turns,
        clock: this.#clock,
        wallClock: this.#options.wallClock ?? (() => new Date()),
        random: this.#options.random ?? Math.random,
        onEvent: this.#options.onEvent,
        restarted: this.#options.restarted ?? false,
      },
    );
    peer.sessions.set(remote.address, session);
    session.start();
    return session;
  }

  #accept(incoming: Incoming): void {
    const session = this.#configured(incoming) ?? this.#dynamic(incoming);
    if (session === undefined) incoming.refuse(REFUSAL);
    else session.accept(incoming);
  }

  #configured({ remote }: Incoming): Session | undefined {
    for (const { settings, sessions, keyless } of this.#peers.values()) {
      const session = sessions.get(remote.address);
      if (session === undefined || keyless) continue;
      const device = 'address' in settings.remote ? settings.remote.interface : undefined;
      if (device === undefined || remote.interface === undefined || device === remote.interface) return session;
    }
    return undefined;
  }

  /** A host of a range that is not a peer yet. */
  #dynamic({ remote }: Incoming): Session | undefined {
    for (const [name, peer] of this.#peers) {
      const { settings, sessions, keyless, routes } = peer;
      if (!isRange(settings.remote) || keyless || !prefixContains(settings.remote.range, remote.address)) continue;
      for (const [address, { state }] of sessions)
        if (state === 'Idle' || state === 'Active') this.#forget(peer, address);
      if (sessions.size >= settings.remote.limit) return undefined;
      const session = this.#start(`${name}/${remote.address}`, peer, remote);
      session.replace(routes);
      return session;
    }
    return undefined;
  }

  #forget({ sessions }: Peer, address: string): void {
    sessions.get(address)?.stop();
    sessions.delete(address);
  }
}

function isRange(remote: PeerSettings['remote']): remote is PeerRange {
  return 'range' in remote;
}

/** Of the peer or the network of peers. */
function keyOf({ remote }: PeerSettings): Ip | Prefix {
  return isRange(remote) ? remote.range : remote.address;
}

function addressOf({ remote }: PeerSettings): Ip {
  return isRange(remote) ? prefixAddress(remote.range) : remote.address;
}
