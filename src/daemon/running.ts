import { monotonicClock } from '../../net/clock.ts';
import { formatProblem } from '../../net/result.ts';
import { Table } from '../../net/table.ts';
import type { BgpActuator } from '../act/bgp.ts';
import type { Forwarding, ForwardingReport } from '../act/forwarding/forwarding.ts';
import type { Config } from '../config.ts';
import { followedNeighbours } from '../decide/direct/surroundings.ts';
import { type Plan, plan } from '../decide/plan.ts';
import type { Logger } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Neighbours } from '../observe/neighbours.ts';
import type { WireClient } from '../wire/client.ts';
import type { FromWire, WireCommand } from '../wire/protocol.ts';
import { emptyWorld } from '../world/empty.ts';
import { Loop } from '../world/loop.ts';
import { reduce, type WorldEvent } from '../world/reduce.ts';
import type { SourceState, World } from '../world/types.ts';
import type { Cluster } from './cluster.ts';
import type { Memory } from './memory.ts';
import { refreshMetrics } from './refresh-metrics.ts';
import { WireRecord } from './wire-record.ts';

/** A VIP that a stranger answers for is tried again after this. */
const STRANGER_RETRY_MS = 300_000;

/** What the plan is carried out by. */
export interface Parts {
  readonly wire: WireClient;
  readonly forwarding: Forwarding;
  readonly neighbours: Neighbours;
  readonly cluster: Cluster | undefined;
  /** @param restarted packets were carried all the time since the last process */
  readonly bgp: (restarted: boolean) => BgpActuator;
}

/** Turns each change of the world into a plan, and has that carried out. */
export class RunningDaemon {
  readonly #config: Config;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #memory: Memory | undefined;
  readonly #loop: Loop<World, WorldEvent>;
  readonly #plannedListeners = new Set<() => void>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #record: WireRecord;
  #plan: Plan;
  #parts: Parts | undefined;
  #bgp: BgpActuator | undefined;
  #inherited = false;
  #problems = new Set<string>();
  #followed: Plan['segments'] | undefined;
  #ready = false;
  #drainAsked = false;

  constructor(config: Config, log: Logger, metrics: Metrics, memory: Memory | undefined) {
    this.#config = config;
    this.#log = log;
    this.#metrics = metrics;
    this.#memory = memory;
    this.#record = new WireRecord(log, metrics);
    const world = emptyWorld({
      self: config.node,
      witness: config.witness,
      interfaces: config.interfaces,
      peers: new Map(config.peers.map(({ node, addresses }) => [node, addresses])),
      role: config.manifests === undefined ? 'follower' : 'alone',
      memory: memory?.remembered ?? Table.empty(),
    });
    this.#plan = plan(world);
    this.#loop = new Loop({
      initial: world,
      reduce,
      onChange: (next) => this.#act(next),
      defer: (callback) => void setImmediate(callback),
    });
  }

  get plan(): Plan {
    return this.#plan;
  }

  /** Undefined until the first peer. */
  get bgp(): BgpActuator | undefined {
    return this.#bgp;
  }

  get ready(): boolean {
    return this.#ready;
  }

  readonly dispatch = (event: WorldEvent): void => this.#loop.dispatch(event);

  attach(parts: Parts): void {
    this.#parts = parts;
  }

  /** Calls back after each plan, until the signal aborts. */
  readonly onPlanned = (listener: () => void, signal: AbortSignal): void => {
    this.#plannedListeners.add(listener);
    signal.addEventListener('abort', () => this.#plannedListeners.delete(listener));
  };

  onProblems(problems: readonly string[]): void {
    for (const problem of problems) if (!this.#problems.has(problem)) this.#log.warn({}, problem);
    this.#problems = new Set(problems);
    this.#metrics.sourceProblems.set(problems.length);
    this.dispatch({ type: 'source', source: { problems } });
  }

  onSource(state: SourceState): void {
    this.onProblems(state.problems);
    this.dispatch({ type: 'source', source: state });
  }

  onKeys(keys: readonly Uint8Array[]): void {
    this.#parts?.wire.setKeys(keys);
  }

  onApiFailure(): void {
    this.#metrics.apiFailures.inc();
  }

  onForwarding({ applied, problem, inherited, clusterIp, direct }: ForwardingReport): void {
    this.#inherited = inherited;
    if (problem !== undefined) {
      this.#metrics.applyFailures.inc({ actuator: 'forwarding' });
      this.#log.warn({}, `the nftables rules could not be installed: ${formatProblem(problem)}`);
    }
    const relaying = clusterIp && formatProblem(clusterIp);
    if (relaying !== undefined && relaying !== this.#plan.world.forwarding.clusterIp) this.#log.warn({}, relaying);
    this.dispatch({
      type: 'forwarding',
      forwarding: {
        applied,
        problem: problem && formatProblem(problem),
        clusterIp: relaying,
        direct: direct && formatProblem(direct),
      },
    });
  }

  onWire(message: FromWire): void {
    if (message.type === 'log') {
      this.#log[message.level](message.fields, message.message);
      return;
    }
    if (message.type === 'bfd') this.#bgp?.onBfd(message.event);
    else if (message.type === 'bfdStatus') this.#bgp?.onBfdStatus(message.sessions);
    else {
      this.#record.observe(message);
      this.dispatch({ type: 'wire', message });
    }
  }

  /** A drain ends announcements of every kind, so the plan hears of it as well as the wire. */
  command(command: WireCommand): void {
    this.#log.info(command, `asked to ${command.type}`);
    if (command.type === 'drain' || command.type === 'undrain')
      this.dispatch({ type: 'draining', draining: command.type === 'drain' });
    this.#parts?.wire.command(command);
  }

  drainPeer(peer: string, draining: boolean): void {
    const what = draining ? 'asked to take the routes from the peer' : 'asked to announce to the peer again';
    this.#log.info({ peer }, what);
    this.dispatch({ type: 'peerDraining', peer, draining });
  }

  refreshMetrics(): void {
    refreshMetrics(this.#metrics, {
      plan: this.#plan,
      counters: this.#parts?.wire.counters() ?? {},
      sessions: this.#bgp?.status().sessions ?? [],
    });
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#memory?.writer[Symbol.asyncDispose]();
  }

  #act(world: World): void {
    const before = this.#plan;
    const started = monotonicClock.now();
    this.#plan = plan(world, before);
    this.#metrics.planSeconds.observe((monotonicClock.now() - started) / 1e9);
    this.#logTransitions(before, this.#plan);
    for (const listener of this.#plannedListeners) listener();
    const told = this.#followNeighbours(world);
    // Until everything that was there at the start is known, what an earlier run left in the kernel stays as it is.
    if (!world.source.synced || world.links.byIndex.size === 0 || (told && !this.#ready)) return;
    this.#ready = true;
    if (this.#plan.forwarding !== before.forwarding || world.forwarding.applied === undefined) this.#applyForwarding();
    this.#parts?.wire.setSegments(this.#plan.segments);
    this.#parts?.wire.setVips(this.#plan.l2);
    this.#applyBgp(before);
    this.#memory?.writer.set(this.#plan.allocation.routes);
    this.#parts?.cluster?.tell(this.#plan);
    this.#followDrain(world);
    this.#scheduleExpiries(before.world, world);
  }

  /**
   * Not before the kernel has all rules: the End-of-RIB after the first routes makes peers forget what they kept over
   * a restart. Without a peer there is no listener.
   */
  #applyBgp(before: Plan): void {
    const { bgp, world } = this.#plan;
    if (world.forwarding.applied === undefined || (this.#bgp === undefined && bgp.sessions.size === 0)) return;
    const began = this.#bgp === undefined;
    this.#bgp ??= this.#parts?.bgp(this.#inherited);
    if (began || bgp !== before.bgp) void this.#bgp?.apply(bgp);
  }

  /** A node that is drained ends its sessions; else peers keep our routes until the next process is there. */
  async endBgp(withinMs: number): Promise<void> {
    const ending = this.#plan.world.draining ? 'shutdown' : 'restart';
    const longest = ending === 'shutdown' ? withinMs + this.#config.bgpDrainSeconds * 1000 : withinMs;
    await this.#bgp?.close(ending, AbortSignal.timeout(longest));
  }

  /** What the spec of this node's Speaker asks for. */
  #followDrain({ objects, self }: World): void {
    const wanted = objects.speakers.get(self)?.spec.drain ?? false;
    if (wanted === this.#drainAsked) return;
    this.#drainAsked = wanted;
    this.command({ type: wanted ? 'drain' : 'undrain' });
  }

  /** True where another world follows, with what is known of neighbours. */
  #followNeighbours(world: World): boolean {
    const { segments } = this.#plan;
    if (segments === this.#followed) return false;
    this.#followed = segments;
    return this.#parts?.neighbours.follow(followedNeighbours(world, segments.values())) ?? false;
  }

  #applyForwarding(): void {
    const end = this.#metrics.applySeconds.startTimer({ actuator: 'forwarding' });
    void this.#parts?.forwarding.apply(this.#plan.forwarding).then(() => end());
  }

  /** What must end by itself: the bounce after a move, the quarantine of an address. */
  #scheduleExpiries(before: World, world: World): void {
    for (const { key: vip, after } of world.wire.arrivals.changes(before.wire.arrivals)) {
      if (after !== undefined)
        this.#later(this.#config.drainSeconds * 1000, { type: 'settled', vip, epoch: after.epoch });
    }
    for (const { key: vip, after } of world.wire.conflicts.changes(before.wire.conflicts)) {
      if (after !== undefined) this.#later(STRANGER_RETRY_MS, { type: 'conflictExpired', vip });
    }
  }

  #later(milliseconds: number, event: WorldEvent): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.dispatch(event);
    }, milliseconds);
    this.#timers.add(timer);
  }

  #logTransitions(before: Plan, after: Plan): void {
    for (const { key, after: now } of after.allocation.routes.changes(before.allocation.routes)) {
      if (now === undefined) this.#log.info({ route: key }, 'route is gone');
      // Of what is not assigned the coordinator tells.
      else if (now.failure !== undefined && after.world.role === 'follower') continue;
      else if (now.failure !== undefined)
        this.#log.warn({ route: key, reason: now.failure.reason }, now.failure.message);
      else this.#log.info({ route: key, addresses: now.assigned.map(({ vip }) => vip) }, 'route has its addresses');
    }
  }
}
