import { type MonotonicNs, monotonicClock, NS_PER_MS } from '../net/clock.ts';
import { formatProblem, ok, type Result } from '../net/result.ts';
import { readPassword } from './act/bgp/password.ts';
import { removeForwarding } from './act/forwarding/cleanup.ts';
import { createForwarding } from './act/forwarding/forwarding.ts';
import type { Config } from './config.ts';
import { startBgp } from './daemon/bgp.ts';
import type { Cluster } from './daemon/cluster.ts';
import { openMemory } from './daemon/memory.ts';
import { connectOrigin, type Origin, sourceOf } from './daemon/origin.ts';
import { controlRequests } from './daemon/requests.ts';
import { type Parts, RunningDaemon } from './daemon/running.ts';
import { serveControlSocket } from './observability/control-socket.ts';
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

/** The only place that wires: sources into the loop, the loop into the plan, the plan into the actuators. */
export async function startDaemon(config: Config, log: Logger, hooks: DaemonHooks): Promise<Result<Daemon>> {
  const ending = new AbortController();
  const metrics = createMetrics();
  metrics.buildInfo.set({ version: VERSION }, 1);

  const memory = config.manifests === undefined ? undefined : await openMemory(config.stateDir, log);
  const running = new RunningDaemon(config, log, metrics, memory);
  const origin = await connectOrigin(config, log, running, hooks.signal);
  if (origin.problem !== undefined) return origin;
  const { cluster } = origin.ok;
  const served = await serve(config, running, metrics, ending.signal);
  if (served.problem !== undefined) {
    ending.abort();
    return served;
  }

  const parts = createParts(config, log, hooks, running, metrics, origin.ok);
  const { wire, forwarding, neighbours } = parts;
  running.attach(parts);
  const links = watchLinks((found) => running.dispatch({ type: 'links', links: found }), neighbours);
  if (links.problem !== undefined) {
    ending.abort();
    await wire.leave(AbortSignal.timeout(0));
    await forwarding[Symbol.asyncDispose]();
    return links;
  }
  if (config.manifests !== undefined) followManifests(config.manifests, running, ending.signal);
  cluster?.start(ending.signal);
  log.info({ node: config.node, version: VERSION, source: sourceOf(config).detail }, 'signpost runs');

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

/** The control socket for the command line, and HTTP for probes, metrics and people. */
async function serve(
  config: Config,
  running: RunningDaemon,
  metrics: Metrics,
  signal: AbortSignal,
): Promise<Result<undefined>> {
  const source = sourceOf(config);
  const status = () => statusDocument(running.plan, { version: VERSION, source, timeOf });
  const handlers = { status, onChange: running.onPlanned, ...controlRequests(config.node, running) };
  const control = await serveControlSocket(config.socket, handlers, signal);
  if (control.problem !== undefined) return control;
  if (config.metrics === undefined) return ok(undefined);
  const http = await serveHttp(
    config.metrics,
    {
      registry: metrics.registry,
      unhealthy: () => undefined,
      unready: () => (running.ready ? undefined : 'waiting for the first objects and links'),
      refresh: () => running.refreshMetrics(),
      plan: status,
      page: () => statusPage(status()),
    },
    signal,
  );
  return http.problem === undefined ? ok(undefined) : http;
}

function createParts(
  config: Config,
  log: Logger,
  hooks: DaemonHooks,
  running: RunningDaemon,
  metrics: Metrics,
  { keys, cluster }: Origin,
): Parts {
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
  return { wire, forwarding, neighbours, cluster, bgp };
}

function followManifests(folder: string, running: RunningDaemon, signal: AbortSignal): void {
  watchManifests(
    folder,
    {
      onChange({ changes, problems }) {
        running.onProblems(problems);
        if (changes.length > 0) running.dispatch({ type: 'objects', changes });
      },
      onSynced: () => running.dispatch({ type: 'source', source: { synced: true } }),
    },
    signal,
  );
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

/** RFC 3339 of a monotonic time. */
function timeOf(at: MonotonicNs): string {
  return new Date(Date.now() - (monotonicClock.now() - at) / NS_PER_MS).toISOString();
}
