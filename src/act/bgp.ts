import type { SessionSpec } from '../../bgp/bfd/speaker.ts';
import type { BfdEvent, BfdStatus } from '../../bgp/bfd/status.ts';
import type { Ip } from '../../net/ip.ts';
import { formatProblem, type Result } from '../../net/result.ts';
import { Table } from '../../net/table.ts';
import { type BgpRoute, type BgpRouteKey, type PasswordRef, type SessionPlan } from '../decide/bgp/types.ts';
import type { BgpPlan } from '../decide/bgp.ts';
import type { BgpEventView, BgpRoutesView, BgpSessionView, BgpState, BgpStatus } from '../observability/bgp-status.ts';
import { bfdSpec, bfdVerdict, bfdView } from './bgp/bfd.ts';
import { Deliveries } from './bgp/deliveries.ts';
import type { BgpSpeaker, Ending, RouteEdit } from './bgp/speaker.ts';

export interface BgpReport {
  /** BGPPeers that could not be set up, with the reason. */
  readonly problems: ReadonlyMap<string, string>;
}

export interface BgpOptions {
  readonly node: string;
  readonly speaker: BgpSpeaker;
  /** The wire's table of BFD sessions, by name of the BGPPeer. */
  readonly setBfd: (table: Table<string, SessionSpec>) => void;
  readonly readPassword: (ref: PasswordRef) => Promise<Result<string>>;
  /** Tells of the router on an interface, and again when it is another one or none. */
  readonly findRouter: (device: string, onRouter: (address: Ip | undefined) => void) => Disposable;
  /** Milliseconds between saying that routes leave and withdrawing them (RFC 8326). */
  readonly drainWait: number;
  readonly now: () => Date;
  /** Something to show has changed. */
  readonly onChange: () => void;
}

type Routes = Table<BgpRouteKey, BgpRoute>;

interface Configured {
  readonly plan: SessionPlan;
  /** Absent while an unnumbered peer's router is looked for. */
  address: Ip | undefined;
  password: string | undefined;
  /** The speaker has it. */
  running: boolean;
  discovery: Disposable | undefined;
}

const MAX_EVENTS = 256;

/** Milliseconds between looks whether routes were sent: often at first, seldom where a peer does not take them. */
const LOOK = { first: 10, most: 2_000 };

/** Makes the BGP speaker and the wire's BFD sessions equal to the plan. */
export class BgpActuator {
  readonly #options: BgpOptions;
  readonly #peers = new Map<string, Configured>();
  readonly #events: BgpEventView[] = [];
  readonly #problems = new Map<string, string>();
  #bfd = Table.empty<string, SessionSpec>();
  #bfdStatus = new Map<string, BfdStatus>();
  #wanted: BgpPlan | undefined;
  #applied: BgpPlan | undefined;
  #routes: Routes = Table.empty();
  #work: Promise<void> | undefined;
  readonly #deliveries = new Deliveries();
  #looking: NodeJS.Timeout | undefined;
  #lookAfter = LOOK.first;
  /** Peers whose routes say that they leave, until they do. */
  readonly #withdrawing = new Map<string, NodeJS.Timeout>();
  readonly #withdrawn = new Set<string>();
  #onWithdrawn: () => void = () => undefined;

  constructor(options: BgpOptions) {
    this.#options = options;
  }

  /**
   * One run at a time, the latest plan wins. Must not be called before everything that is to be announced at the start
   * is in the plan: the End-of-RIB that follows makes peers forget what they kept over a restart.
   */
  async apply(plan: BgpPlan, signal?: AbortSignal): Promise<BgpReport> {
    this.#wanted = plan;
    this.#work ??= this.#run(signal).finally(() => {
      this.#work = undefined;
    });
    await this.#work;
    return { problems: this.#problems };
  }

  onBfd(event: BfdEvent): void {
    const verdict = bfdVerdict(event);
    this.record(event.key, `BFD ${event.from} -> ${event.to}${verdict === undefined ? '' : `: ${verdict}`}`);
    if (verdict !== undefined && this.#peers.get(event.key)?.running === true) {
      this.#options.speaker.bfdDown(event.key, verdict);
    }
  }

  onBfdStatus(sessions: readonly BfdStatus[]): void {
    this.#bfdStatus = new Map(sessions.map((session) => [session.key, session]));
  }

  onState(peer: string, state: BgpState): void {
    const own = [...this.#routes.values()].filter((route) => route.peer === peer);
    if (state !== 'Established') this.#deliveries.close(peer);
    else
      this.#deliveries.open(
        peer,
        own.map(({ prefix }) => prefix),
      );
    this.#look();
  }

  /** Routes that established peers have been sent. */
  get sent(): Table<BgpRouteKey, true> {
    return this.#deliveries.sent;
  }

  /** One line for `signpost bgp events`; the oldest are forgotten. */
  record(peer: string, text: string): void {
    this.#events.push({ at: this.#options.now().toISOString(), peer, text });
    if (this.#events.length > MAX_EVENTS) this.#events.shift();
    this.#options.onChange();
  }

  status(): BgpStatus {
    const plan = this.#applied;
    const without = [...(plan?.withoutSession ?? []), ...this.#problems, ...this.#unfound()];
    return {
      node: this.#options.node,
      sessions: Array.from(this.#peers.keys(), (peer) => this.#view(peer)).filter((view) => view !== undefined),
      withoutSession: without.map(([peer, reason]) => ({ peer, reason })),
      withheld: Array.from(plan?.withheld ?? [], ([vip, reason]) => ({ vip, reason })),
      events: [...this.#events],
      draining: plan?.draining === true ? (this.#withdrawing.size === 0 ? 'withdrawn' : 'announced') : 'no',
    };
  }

  /** Undefined: no such peer here. */
  routes(peer: string): BgpRoutesView | undefined {
    if (this.#peers.get(peer)?.running !== true) return undefined;
    const vips = new Map<string, string[]>();
    for (const [vip, asked] of this.#applied?.asked ?? []) {
      for (const ask of asked) {
        if (ask.peer === peer) vips.set(ask.prefix, [...(vips.get(ask.prefix) ?? []), vip]);
      }
    }
    const routes = this.#options.speaker
      .routes(peer)
      .map((route) => ({ ...route, vips: [...new Set(vips.get(route.prefix))].sort() }));
    return { peer, routes };
  }

  /** A shutdown first waits for routes that say that they leave, until they do. A restart leaves BFD to fall silent with the wire; a shutdown says AdminDown once the sessions have ended. */
  async close(ending: Ending, signal: AbortSignal): Promise<void> {
    if (ending === 'shutdown') await this.#withdrawal(signal);
    for (const timer of this.#withdrawing.values()) clearTimeout(timer);
    clearTimeout(this.#looking);
    for (const peer of this.#peers.values()) peer.discovery?.[Symbol.dispose]();
    await this.#options.speaker.close(ending, signal);
    if (ending === 'shutdown') this.#options.setBfd(Table.empty());
  }

  async #run(signal: AbortSignal | undefined): Promise<void> {
    while (this.#wanted !== undefined && signal?.aborted !== true) {
      const plan = this.#wanted;
      this.#wanted = undefined;
      const before = this.#applied?.sessions ?? Table.empty<string, SessionPlan>();
      // Read before anything is touched, so that the rest happens at once.
      const passwords = await this.#passwords(plan, before);
      this.#applied = plan;
      for (const { key, after } of plan.sessions.changes(before)) this.#setPeer(key, after, passwords.get(key));
      this.#drain(plan.leaving);
      this.#editRoutes(plan);
      this.#updateBfd();
    }
    this.#options.onChange();
  }

  async #passwords(plan: BgpPlan, before: BgpPlan['sessions']): Promise<Map<string, Result<string>>> {
    const read = new Map<string, Result<string>>();
    for (const { key, after } of plan.sessions.changes(before)) {
      if (after?.password !== undefined) read.set(key, await this.#options.readPassword(after.password));
    }
    return read;
  }

  #setPeer(name: string, plan: SessionPlan | undefined, password: Result<string> | undefined): void {
    const before = this.#peers.get(name);
    before?.discovery?.[Symbol.dispose]();
    this.#problems.delete(name);
    if (plan === undefined || password?.problem !== undefined) {
      if (before?.running === true) this.#deleteSession(name);
      this.#peers.delete(name);
      if (password?.problem !== undefined) this.#problems.set(name, formatProblem(password.problem));
      return;
    }
    const peer: Configured = {
      plan,
      address: plan.remote.kind === 'address' ? plan.remote.address : undefined,
      password: password?.ok,
      running: before?.running ?? false,
      discovery: undefined,
    };
    this.#peers.set(name, peer);
    if (plan.remote.kind === 'address') this.#start(name, peer);
    else
      peer.discovery = this.#options.findRouter(plan.remote.interface, (address) => this.#found(name, peer, address));
  }

  #found(name: string, peer: Configured, address: Ip | undefined): void {
    if (peer.address === address || this.#peers.get(name) !== peer) return;
    peer.address = address;
    const device = peer.plan.remote.interface ?? '';
    this.record(
      name,
      address === undefined ? `no router on ${device} any more` : `router ${address} found on ${device}`,
    );
    if (address === undefined) {
      this.#deleteSession(name);
      peer.running = false;
    } else {
      this.#start(name, peer);
    }
    this.#updateBfd();
  }

  #start(name: string, peer: Configured): void {
    if (peer.address === undefined) return;
    const { plan, address, password } = peer;
    this.#options.speaker.set(name, { session: plan, address, zone: plan.remote.interface, password });
    if (peer.running) return;
    peer.running = true;
    // The routes that the peer has missed so far.
    const own = [...this.#routes.values()].filter((route) => route.peer === name);
    if (own.length > 0) this.#options.speaker.edit(name, own);
  }

  #deleteSession(name: string): void {
    this.#deliveries.close(name);
    this.#options.speaker.delete(name);
  }

  #editRoutes(plan: BgpPlan): void {
    const wanted = this.#withdrawn.size === 0 ? plan.routes : this.#withoutWithdrawn(plan.routes);
    const edits = new Map<string, RouteEdit[]>();
    for (const { before, after } of wanted.changes(this.#routes)) {
      const route = after ?? before;
      if (route === undefined) continue;
      const list = edits.get(route.peer) ?? [];
      edits.set(route.peer, list);
      list.push({ prefix: route.prefix, attributes: after?.attributes });
      if (after === undefined) this.#deliveries.forget(route.peer, route.prefix);
      else this.#deliveries.expect(route.peer, route.prefix);
    }
    this.#look();
    this.#routes = wanted;
    for (const [peer, list] of edits) {
      if (this.#peers.get(peer)?.running === true) this.#options.speaker.edit(peer, list);
    }
  }

  #look(): void {
    clearTimeout(this.#looking);
    this.#lookAfter = LOOK.first;
    this.#lookLater();
  }

  #lookLater(): void {
    if (this.#deliveries.isComplete) return;
    this.#looking = setTimeout(() => {
      const settled = this.#deliveries.settle((peer, prefix) => this.#options.speaker.isSent(peer, prefix));
      if (settled) this.#options.onChange();
      this.#lookAfter = Math.min(LOOK.most, settled ? LOOK.first : 2 * this.#lookAfter);
      this.#lookLater();
    }, this.#lookAfter);
  }

  #withoutWithdrawn(routes: Routes): Routes {
    const gone = [...routes].filter(([, { peer }]) => this.#withdrawn.has(peer));
    return routes.with(gone.map(([key]) => [key, undefined] as const));
  }

  /** First the routes say that they leave, which the plan does; after the wait they go. */
  #drain(leaving: BgpPlan['leaving']): void {
    for (const [peer, timer] of this.#withdrawing) {
      if (leaving.has(peer)) continue;
      clearTimeout(timer);
      this.#withdrawing.delete(peer);
    }
    for (const peer of this.#withdrawn) if (!leaving.has(peer)) this.#withdrawn.delete(peer);
    for (const peer of leaving) {
      if (this.#withdrawn.has(peer) || this.#withdrawing.has(peer)) continue;
      this.#withdrawing.set(
        peer,
        setTimeout(() => this.#withdraw(peer), this.#options.drainWait),
      );
    }
  }

  #withdrawal(signal: AbortSignal): Promise<void> {
    if (this.#withdrawing.size === 0 || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onWithdrawn = resolve;
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  #withdraw(peer: string): void {
    this.#withdrawing.delete(peer);
    this.#withdrawn.add(peer);
    if (this.#applied !== undefined) this.#editRoutes(this.#applied);
    if (this.#withdrawing.size === 0) this.#onWithdrawn();
    this.#options.onChange();
  }

  #updateBfd(): void {
    const edits = new Map<string, SessionSpec | undefined>();
    for (const name of this.#bfd.keys()) edits.set(name, undefined);
    for (const [name, { plan, address }] of this.#peers) {
      const spec = address === undefined ? undefined : bfdSpec(plan, address);
      const before = this.#bfd.get(name);
      edits.set(name, JSON.stringify(spec) === JSON.stringify(before) ? before : spec);
    }
    const next = this.#bfd.with(edits);
    if (next === this.#bfd) return;
    this.#bfd = next;
    this.#options.setBfd(next);
  }

  /** Unnumbered peers whose router has not shown itself. */
  #unfound(): [string, string][] {
    return [...this.#peers]
      .filter(([, { address }]) => address === undefined)
      .map(([name, { plan }]) => [name, `no router advertisement heard on ${plan.remote.interface ?? ''}`]);
  }

  #view(peer: string): BgpSessionView | undefined {
    const view = this.#options.speaker.view(peer);
    const bfd = this.#bfdStatus.get(peer);
    const leaving = this.#withdrawn.has(peer) ? 'withdrawn' : this.#withdrawing.has(peer) ? 'announced' : undefined;
    return (
      view && {
        ...view,
        ...(leaving === undefined ? {} : { draining: leaving }),
        ...(bfd === undefined || !this.#bfd.has(peer) ? {} : { bfd: bfdView(bfd) }),
      }
    );
  }
}
