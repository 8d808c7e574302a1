import { type MonotonicNs, monotonicClock, NS_PER_MS } from '../net/clock.ts';
import { formatProblem, ok, type Result } from '../net/result.ts';
import { Table } from '../net/table.ts';
import { readPassword } from './act/bgp/password.ts';
import type { BgpActuator } from './act/bgp.ts';
import { removeForwarding } from './act/forwarding/cleanup.ts';
import { createForwarding, type Forwarding, type ForwardingReport } from './act/forwarding/forwarding.ts';
import { type Counts, readConntrackUse, readCounters } from './act/forwarding/readings.ts';
import { loadMemory, MemoryWriter } from './act/memory.ts';
import type { Config } from './config.ts';
import { startBgp } from './daemon/bgp.ts';
import { Cluster } from './daemon/cluster.ts';
import { explain, parseQuestion } from './decide/direct/explain.ts';
import { followedNeighbours } from './decide/direct/surroundings.ts';
import { type Plan, plan } from './decide/plan.ts';
import type { RoutePlan } from './decide/route-plan.ts';
import { routeStatus } from './decide/route-status.ts';
import { readKeys } from './keys.ts';
import { kubeconfigAccess, podAccess } from './kubernetes/access.ts';
import type { BgpStatus } from './observability/bgp-status.ts';
import { parseCommand } from './observability/commands.ts';
import { type ControlReply, serveControlSocket } from './observability/control-socket.ts';
import { serveHttp } from './observability/http.ts';
import type { Logger } from './observability/log.ts';
import { createMetrics, type Metrics } from './observability/metrics.ts';
import { statusPage } from './observability/page.ts';
import { statusDocument } from './observability/status.ts';
import { watchLinks } from './observe/links.ts';
import { watchManifests } from './observe/manifests/watch.ts';
import { Neighbours } from './observe/neighbours.ts';
import { VERSION } from './version.ts';
import { WireClient } from './wire/client.ts';
import type { FromWire } from './wire/protocol.ts';
import { emptyWorld } from './world/empty.ts';
import { Loop } from './world/loop.ts';
import { reduce, type WorldEvent } from './world/reduce.ts';
import type { SourceState, World } from './world/types.ts';

export interface DaemonHooks {
  /** The worker ended or a bug showed: the process must go, the kernel's table stays. */
  readonly onFatal: (reason: string) => void;
  readonly workerFile: URL;
  /** Aborts when the end is asked for, also while it still starts. */
  readonly signal: AbortSignal;
}

export interface Daemon {
  /**
   * Hands the leadership over and ends within `within` milliseconds. The kernel's table stays, unless this node is left
   * for good.
   */
  stop(within: number): Promise<void>;
}

/** The next coordinator need not wait for the lease to run out, if the API server answers in this time. */
const LEASE_RETURN_MS = 500;
/** What the API server does not say in this time counts as not said. */
const ASK_MS = 500;
const MESSAGE_KINDS = ['open', 'update', 'notification', 'keepalive', 'routeRefresh'] as const;
const STRANGER_RETRY_MS = 300_000;

/** The only place that wires: sources into the loop, the loop into the plan, the plan into the actuators. */
export async function startDaemon(config: Config, log: Logger, hooks: DaemonHooks): Promise<Result<Daemon>> {
  const ending = new AbortController();
  const metrics = createMetrics();
  metrics.buildInfo.set({ version: VERSION }, 1);

  const memory = config.manifests === undefined ? undefined : await openMemory(config.stateDir, log);
  const running = new RunningDaemon(config, log, metrics, memory);
  const source = sourceOf(config);
  const origin = await connectOrigin(config, log, running, hooks.signal);
  if (origin.problem !== undefined) return origin;
  const { keys, cluster } = origin.ok;
  const listeners = new Set<() => void>();
  const control = await serveControlSocket(
    config.socket,
    {
      status: () => statusDocument(running.plan, { version: VERSION, source, timeOf }),
      onChange(listener, signal) {
        listeners.add(listener);
        signal.addEventListener('abort', () => listeners.delete(listener));
      },
      views: {
        bgp: () => running.bgpStatus(),
        'bgp/routes': (query) => running.bgpRoutes(query.get('peer') ?? ''),
      },
      commands: {
        drain: (body) => running.drain(true, body),
        undrain: (body) => running.drain(false, body),
        rebalance: (body) => running.command('rebalance', body),
        'hand-over': (body) => running.command('handOver', body),
        explain: (body) => Promise.resolve(running.explain(body)),
      },
    },
    ending.signal,
  );
  if (control.problem !== undefined) return control;
  running.onPlanned(() => {
    for (const listener of listeners) listener();
  });

  if (config.metrics !== undefined) {
    const served = await serveHttp(
      config.metrics,
      {
        registry: metrics.registry,
        unhealthy: () => undefined,
        unready: () => (running.ready ? undefined : 'waiting for the first objects and links'),
        refresh: () => running.refreshMetrics(),
        plan: () => statusDocument(running.plan, { version: VERSION, source, timeOf }),
        page: () => statusPage(statusDocument(running.plan, { version: VERSION, source, timeOf })),
      },
      ending.signal,
    );
    if (served.problem !== undefined) {
      ending.abort();
      return served;
    }
  }

  const wire = new WireClient(
    {
      workerFile: hooks.workerFile,
      self: config.node,
      cluster: config.clusterId,
      profile: config.profile,
      witness: config.witness,
      heartbeatPort: config.heartbeatPort,
      keys,
    },
    {
      onMessage: (message) => running.onWire(message),
      onExit: (reason) => hooks.onFatal(`the wire worker ended: ${reason}`),
    },
  );
  const forwarding = createForwarding({
    rules: { refusedSources: config.refusedSources, forwardMark: config.forwardMark },
    onReport: (report) => running.onForwarding(report),
    onDrift(drift) {
      metrics.forwardingRepairs.inc();
      log.warn({}, `the nftables table was not as it was left, repairing: ${formatProblem(drift)}`);
    },
    onProblem: (trouble) => log.warn({}, formatProblem(trouble)),
  });
  const neighbours = new Neighbours((found) => running.dispatch({ type: 'neighbours', neighbours: found }));
  const bgp = (restarted: boolean) =>
    startBgp({
      node: config.node,
      port: config.bgpPort,
      drainWait: config.bgpDrainSeconds * 1000,
      log,
      restarted,
      setBfd: (table) => wire.setBfd(table),
      readPassword: (ref) => cluster?.password(ref) ?? readPassword(config.bgpPasswordDir, ref),
      links: () => running.plan.world.links,
      onSessions: (sessions, sent) => running.dispatch({ type: 'bgp', sessions, sent }),
    });
  running.attach({ wire, forwarding, neighbours, cluster, bgp });

  const links = watchLinks((found) => running.dispatch({ type: 'links', links: found }), neighbours);
  if (links.problem !== undefined) {
    ending.abort();
    await wire.leave(AbortSignal.timeout(0));
    await forwarding[Symbol.asyncDispose]();
    return links;
  }
  if (config.manifests !== undefined) {
    watchManifests(
      config.manifests,
      {
        onChange({ changes, problems }) {
          running.onProblems(problems);
          if (changes.length > 0) running.dispatch({ type: 'objects', changes });
        },
        onSynced: () => running.dispatch({ type: 'source', source: { synced: true } }),
      },
      ending.signal,
    );
  }
  cluster?.start(ending.signal);
  log.info({ node: config.node, version: VERSION, source: source.detail }, 'signpost runs');

  return ok({
    async stop(within: number) {
      log.info({}, 'handing over and ending');
      const asked = cluster?.whyLeaving(running.plan.world, ASK_MS);
      await Promise.all([running.endBgp(within), wire.leave(AbortSignal.timeout(within))]);
      links.ok[Symbol.dispose]();
      ending.abort();
      await cluster?.close(LEASE_RETURN_MS);
      await running.close();
      await forwarding[Symbol.asyncDispose]();
      const leaving = await asked;
      if (leaving !== undefined) await leave(leaving, cluster, log);
    },
  });
}

/** Takes away what nobody on this node will look after. The Speaker goes last: while it is there, so may rules be. */
async function leave(why: string, cluster: Cluster | undefined, log: Logger): Promise<void> {
  const { problem } = await removeForwarding();
  if (problem !== undefined) {
    log.warn({}, `${why}, but the nftables tables stay: ${formatProblem(problem)}`);
    return;
  }
  log.info({}, `${why}: the nftables tables are removed`);
  await cluster?.removeSpeaker(ASK_MS);
}

interface Memory {
  readonly remembered: World['memory'];
  readonly writer: MemoryWriter;
}

/** With manifests alone: the API server remembers better. */
async function openMemory(folder: string, log: Logger): Promise<Memory> {
  const { memory, problem } = await loadMemory(folder);
  if (problem !== undefined) log.warn({}, problem);
  return { remembered: memory, writer: new MemoryWriter(folder, (trouble) => log.warn({}, trouble)) };
}

function sourceOf({ manifests, kubeconfig }: Config): { kind: 'manifests' | 'kubernetes'; detail: string } {
  if (manifests !== undefined) return { kind: 'manifests', detail: manifests };
  return { kind: 'kubernetes', detail: kubeconfig ?? 'service account' };
}

/** Where objects come from also has the keys of heartbeats. */
async function connectOrigin(
  config: Config,
  log: Logger,
  running: RunningDaemon,
  signal: AbortSignal,
): Promise<Result<{ readonly keys: readonly Uint8Array[]; readonly cluster: Cluster | undefined }>> {
  if (config.manifests !== undefined) {
    const keys = await readKeys(config.keyFiles);
    return keys.problem === undefined ? ok({ keys: keys.ok, cluster: undefined }) : keys;
  }
  const access = await (config.kubeconfig === undefined
    ? podAccess(config.pod)
    : kubeconfigAccess([config.kubeconfig]));
  if (access.problem !== undefined) return access;
  const cluster = await Cluster.connect(
    access.ok,
    {
      node: config.node,
      daemonSet: config.daemonset,
      log,
      dispatch: running.dispatch,
      onState: (state) => running.onSource(state),
      onKeys: (keys) => running.onKeys(keys),
      onApiFailure: () => running.onApiFailure(),
    },
    signal,
  );
  return cluster.problem === undefined ? ok({ keys: cluster.ok.keys, cluster: cluster.ok }) : cluster;
}

/** What the plan is carried out by. */
interface Parts {
  readonly wire: WireClient;
  readonly forwarding: Forwarding;
  readonly neighbours: Neighbours;
  readonly cluster: Cluster | undefined;
  /** @param restarted packets were carried all the time since the last process */
  readonly bgp: (restarted: boolean) => BgpActuator;
}

/** What changes while the daemon runs. */
class RunningDaemon {
  readonly #config: Config;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #memory: Memory | undefined;
  readonly #loop: Loop<World, WorldEvent>;
  readonly #plannedListeners: (() => void)[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #suspectedAt = new Map<string, number>();
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

  get ready(): boolean {
    return this.#ready;
  }

  readonly dispatch = (event: WorldEvent): void => this.#loop.dispatch(event);

  attach(parts: Parts): void {
    this.#parts = parts;
  }

  onPlanned(listener: () => void): void {
    this.#plannedListeners.push(listener);
  }

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
      this.#observeWire(message);
      this.dispatch({ type: 'wire', message });
    }
  }

  drain(draining: boolean, body: Readonly<Record<string, unknown>>) {
    const { peer } = body;
    if (peer !== undefined) return Promise.resolve(this.#drainPeer(draining, peer));
    this.dispatch({ type: 'draining', draining });
    return this.command(draining ? 'drain' : 'undrain', body);
  }

  /** @param asked name of a BGPPeer or address of the peer */
  #drainPeer(draining: boolean, asked: unknown): ControlReply {
    const sessions = this.#bgp?.status().sessions ?? [];
    const peer = sessions.find((session) => session.peer === asked || session.address === asked)?.peer;
    if (peer === undefined) {
      const message = `no session with a BGPPeer ${String(asked)}; see 'signpost bgp summary'`;
      return { status: 404, body: { message } };
    }
    this.#log.info(
      { peer },
      draining ? 'asked to take the routes from the peer' : 'asked to announce to the peer again',
    );
    this.dispatch({ type: 'peerDraining', peer, draining });
    return { status: 202, body: { accepted: true } };
  }

  command(type: 'drain' | 'undrain' | 'rebalance' | 'handOver', body: Readonly<Record<string, unknown>>) {
    const command = parseCommand(type, body);
    if (command.problem !== undefined)
      return Promise.resolve({ status: 400, body: { message: formatProblem(command.problem) } });
    this.#log.info(command.ok, `asked to ${type}`);
    this.#parts?.wire.command(command.ok);
    return Promise.resolve({ status: 202, body: { accepted: true } });
  }

  explain(body: Readonly<Record<string, unknown>>) {
    const question = parseQuestion(body);
    if (question.problem !== undefined) return { status: 400, body: { message: formatProblem(question.problem) } };
    const explanation = explain(question.ok, this.#plan);
    if (explanation !== undefined) return { status: 200, body: explanation };
    const { vip, protocol, port } = question.ok;
    return { status: 404, body: { message: `no route has ${port}/${protocol} of ${vip}; see 'signpost status'` } };
  }

  refreshMetrics(): void {
    const metrics = this.#metrics;
    const { world } = this.#plan;
    for (const [kind, value] of Object.entries(this.#parts?.wire.counters() ?? {})) metrics.wire.set({ kind }, value);
    const answered = [...world.wire.answered.values()];
    metrics.vipsAnswered.set({ fenced: 'true' }, answered.filter(({ fenced }) => fenced).length);
    metrics.vipsAnswered.set({ fenced: 'false' }, answered.filter(({ fenced }) => !fenced).length);
    metrics.sourceStale.set(world.source.staleSince === undefined ? 0 : 1);
    for (const programmed of ['True', 'False']) {
      const count = [...this.#plan.routes.values()].filter(
        (route) => isProgrammed(route, this.#plan) === programmed,
      ).length;
      metrics.routes.set({ programmed: programmed.toLowerCase() }, count);
    }
    metrics.forwardingEntries.set(world.forwarding.applied?.entries.size ?? 0);
    for (const [segment, { lease, members }] of world.wire.segments) {
      metrics.leaseHeld.set({ segment }, lease?.held === true ? 1 : 0);
      metrics.membersAlive.set({ segment }, [...members.values()].filter(({ alive }) => alive).length);
    }
    this.#refreshBgpMetrics();
    void readCounters().then(({ ok: counts }) => {
      if (counts === undefined) return;
      setCounts(metrics.vipConnections, counts.connections);
      setCounts(metrics.vipRefused, counts.refused);
    });
    void readConntrackUse().then((use) => use && metrics.conntrackUsed.set(use.entries / use.limit));
  }

  #refreshBgpMetrics(): void {
    const { bgpEstablished, bgpTimesEstablished, bgpRoutes, bgpMessages, bfdUp } = this.#metrics;
    for (const metric of [bgpEstablished, bgpTimesEstablished, bgpRoutes, bgpMessages, bfdUp]) metric.reset();
    for (const { peer, state, established, families, sent, received, bfd } of this.#bgp?.status().sessions ?? []) {
      bgpEstablished.set({ peer }, state === 'Established' ? 1 : 0);
      bgpTimesEstablished.set({ peer }, established);
      for (const { family, advertised } of families) bgpRoutes.set({ peer, family }, advertised);
      for (const kind of MESSAGE_KINDS) bgpMessages.set({ peer, direction: 'sent', kind }, sent[kind]);
      for (const kind of MESSAGE_KINDS) bgpMessages.set({ peer, direction: 'received', kind }, received[kind]);
      if (bfd !== undefined) bfdUp.set({ peer }, bfd.state === 'Up' ? 1 : 0);
    }
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

  bgpStatus(): ControlReply {
    const none: BgpStatus = {
      node: this.#config.node,
      sessions: [],
      withoutSession: Array.from(this.#plan.bgp.withoutSession, ([peer, reason]) => ({ peer, reason })),
      withheld: [],
      events: [],
      draining: 'no',
    };
    return { status: 200, body: this.#bgp?.status() ?? none };
  }

  bgpRoutes(peer: string): ControlReply {
    const routes = this.#bgp?.routes(peer);
    return routes === undefined
      ? { status: 404, body: { message: `no session with a BGPPeer ${peer}; see 'signpost bgp summary'` } }
      : { status: 200, body: routes };
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
    void this.drain(wanted, {});
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

  #observeWire(message: FromWire): void {
    const metrics = this.#metrics;
    if (message.type === 'answering') {
      metrics.moves.inc({ cause: message.cause });
      const { vip, epoch, fenced, cause, previous } = message;
      this.#log.info({ vip, epoch, fenced, cause, previous }, 'answering for the VIP');
      const since = previous === undefined ? undefined : this.#suspectedAt.get(previous);
      if (since !== undefined) metrics.takeSeconds.observe((monotonicClock.now() - since) / 1e9);
    } else if (message.type === 'stopped') {
      this.#log.info({ vip: message.vip, cause: message.cause }, 'no longer answering for the VIP');
    } else if (message.type === 'segmentFailed') {
      this.#log.warn({ segment: message.segment }, message.message);
    } else if (message.type === 'report') {
      this.#observeReport(message.report);
    }
  }

  #observeReport(report: Extract<FromWire, { type: 'report' }>['report']): void {
    const metrics = this.#metrics;
    switch (report.kind) {
      case 'roundTrip':
        metrics.leaseRoundTrip.observe(report.nanoseconds / 1e9);
        return;
      case 'suspected':
        metrics.suspicions.inc({ node: report.node });
        this.#suspectedAt.set(report.node, monotonicClock.now());
        this.#log.warn({ node: report.node }, 'member suspected');
        return;
      case 'certified':
        this.#log.warn({ node: report.node }, 'member voted void');
        return;
      case 'conflicted':
        metrics.conflicts.inc();
        this.#log.warn(
          { vip: report.vip, mac: report.mac, defended: report.defended },
          'a host that is no member answers for the VIP',
        );
        return;
      case 'claim':
      case 'dark':
      case 'lease':
      case 'member':
      case 'moved':
      case 'heartbeatsBlocked':
        return;
    }
  }
}

/** The kernel counts: what it says now stands for all that was before. */
function setCounts(counter: Metrics['vipConnections'], counts: Counts): void {
  counter.reset();
  for (const [key, count] of counts) {
    const [vip = '', protocol = '', port = ''] = key.split('|');
    counter.inc({ vip, protocol, port }, count);
  }
}

function isProgrammed(route: RoutePlan, made: Plan): string | undefined {
  return routeStatus(route, made).conditions.find(({ type }) => type === 'Programmed')?.status;
}

/** RFC 3339 of a monotonic time. */
function timeOf(at: MonotonicNs): string {
  return new Date(Date.now() - (monotonicClock.now() - at) / NS_PER_MS).toISOString();
}
