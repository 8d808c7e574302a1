import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff } from '../../../net/backoff.ts';
import type { Problem } from '../../../net/result.ts';
import { Conntrack } from '../../../sys/conntrack.ts';
import { RulesetGeneration } from '../../../sys/ruleset-generation.ts';
import type { ForwardingPlan } from '../../decide/types.ts';
import { ClusterIp } from './cluster-ip/cluster-ip.ts';
import { type ReducedPlan, withoutClusterIp } from './cluster-ip/inside-plan.ts';
import { NAMESPACE } from './cluster-ip/link.ts';
import type { Enter } from './cluster-ip/private-namespace.ts';
import { FlowCutter } from './flow-cutter.ts';
import { KernelTable } from './kernel-table.ts';
import { type Launcher, launchDirectly } from './nft-process.ts';
import { DEFAULT_RULES, type RuleOptions } from './skeleton.ts';

/** What the kernel holds and what is wrong with it. */
export interface ForwardingReport {
  /**
   * The plan that the kernel's table carries; undefined while that is not known. Without the VIPs of entries that are
   * refused for want of a private namespace.
   */
  readonly applied: ForwardingPlan | undefined;
  /** Packets were carried by the rules of an earlier process until this one began. */
  readonly inherited: boolean;
  /** Why the last attempt failed. It is repeated without being asked. */
  readonly problem: Problem | undefined;
  /** Why entries of mode ClusterIP are refused on this node; the others are as they should be. */
  readonly clusterIp: Problem | undefined;
  /** Why this kernel cannot forward directly; undefined where it can or was not asked to. */
  readonly direct: Problem | undefined;
}

export interface ForwardingOptions {
  /** Told after each attempt, also those that nobody called for: retries and repairs. */
  readonly onReport?: (report: ForwardingReport) => void;
  /** Told when the table was not as this process had left it; it is mended. */
  readonly onDrift?: (problem: Problem) => void;
  /** Told of what failed beside the table: flows that could not be cut, bounces. */
  readonly onProblem?: (problem: Problem) => void;
  readonly rules?: RuleOptions;
  /** Milliseconds between looks whether somebody changed the table. */
  readonly checkInterval?: number;
  /** For tests of several nodes: how programs are started and calls made in the node's network namespace. */
  readonly launch?: Launcher;
  readonly enter?: Enter;
  /** Name of the private namespace of mode ClusterIP. */
  readonly privateNamespace?: string;
}

export interface Forwarding extends AsyncDisposable {
  /**
   * Makes the kernel carry the plan. One attempt at a time, the latest plan wins: resolves with the report of the
   * attempt that took this plan or a later one. Never rejects; after a failure it goes on trying by itself.
   * @param signal ends the waiting, not the work
   */
  apply(plan: ForwardingPlan, signal?: AbortSignal): Promise<ForwardingReport>;
}

/**
 * Keeps the table `inet signpost` in this process' network namespace, and the private namespace of mode ClusterIP,
 * equal to the plan. Both stay when the process ends: traffic goes on, and the next process starts from them.
 */
export function createForwarding(options: ForwardingOptions = {}): Forwarding {
  return new Reconciler(options);
}

/** Milliseconds. */
const BACKOFF = { initial: 50, maximum: 5_000, jitter: 0.3 };
const CHECK_INTERVAL = 1_000;

type Waiter = (report: ForwardingReport) => void;

class Reconciler implements Forwarding {
  readonly #onReport: (report: ForwardingReport) => void;
  readonly #table: KernelTable;
  readonly #clusterIp: ClusterIp;
  readonly #cutter: FlowCutter;
  readonly #generation: RulesetGeneration | undefined;
  readonly #backoff = new Backoff(BACKOFF, Math.random);
  readonly #checks: NodeJS.Timeout;
  readonly #closing = new AbortController();
  #wanted: ForwardingPlan | undefined;
  #reduced: { readonly of: ForwardingPlan; readonly to: ReducedPlan } | undefined;
  /** The last that was carried out as far as it could be. */
  #carried: ForwardingPlan | undefined;
  #waiting: Waiter[] = [];
  #running: Promise<void> | undefined;
  #checkDue = false;

  constructor({
    onReport = ignore,
    onDrift = ignore,
    onProblem = ignore,
    rules = DEFAULT_RULES,
    checkInterval = CHECK_INTERVAL,
    launch = launchDirectly,
    enter = (work) => work(),
    privateNamespace = NAMESPACE,
  }: ForwardingOptions) {
    this.#onReport = onReport;
    const generation = enter(() => RulesetGeneration.open()).ok;
    this.#generation = generation;
    this.#cutter = new FlowCutter(
      enter(() => Conntrack.open()),
      onProblem,
    );
    this.#table = new KernelTable({
      launch,
      rules,
      onDrift,
      onProblem,
      onStaleFlows: (flows) => this.#cutter.cut(flows),
      readGeneration: () => generation?.read(),
      now: () => performance.now(),
    });
    this.#clusterIp = new ClusterIp({ namespace: privateNamespace, enterHost: enter, onDrift, onProblem });
    this.#checks = setInterval(() => {
      this.#checkDue = true;
      this.#wake();
    }, checkInterval);
  }

  apply(plan: ForwardingPlan, signal?: AbortSignal): Promise<ForwardingReport> {
    this.#wanted = plan;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      signal?.addEventListener('abort', () => resolve(this.#report(undefined)), { once: true });
      this.#wake();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#checks);
    await this.#running;
    await this.#cutter[Symbol.asyncDispose]();
    await this.#table[Symbol.asyncDispose]();
    await this.#clusterIp[Symbol.asyncDispose]();
    this.#generation?.[Symbol.dispose]();
    this.#answer(this.#report(undefined));
  }

  #wake(): void {
    if (this.#running === undefined && this.#hasWork()) this.#running = this.#work();
  }

  #hasWork(): boolean {
    if (this.#closing.signal.aborted || this.#wanted === undefined) return false;
    return this.#checkDue || this.#waiting.length > 0 || !this.#carries(this.#wanted);
  }

  async #work(): Promise<void> {
    while (this.#hasWork()) {
      if (this.#checkDue) {
        this.#checkDue = false;
        await this.#table.verify();
        await this.#clusterIp.verify();
      }
      const plan = this.#wanted;
      if (plan === undefined || this.#carries(plan)) this.#answer(this.#report(undefined));
      else await this.#attempt(plan);
    }
    this.#running = undefined;
  }

  async #attempt(plan: ForwardingPlan): Promise<void> {
    const waiting = this.#waiting.splice(0);
    await this.#clusterIp.apply(plan);
    const problem = await this.#table.apply(this.#possible(plan).kernel);
    if (problem === undefined) this.#carried = plan;
    const report = this.#report(problem);
    this.#answer(report, waiting);
    this.#onReport(report);
    if (report.problem === undefined) this.#backoff.reset();
    else await sleep(this.#backoff.next(), undefined, { signal: this.#closing.signal }).catch(ignore);
  }

  #carries(plan: ForwardingPlan): boolean {
    return this.#carried === plan && this.#table.plan === this.#possible(plan).kernel;
  }

  /** As much of a plan as this node can carry. */
  #possible(plan: ForwardingPlan): ReducedPlan {
    if (this.#clusterIp.problem === undefined) return { kernel: plan, told: plan };
    if (this.#reduced?.of !== plan) this.#reduced = { of: plan, to: withoutClusterIp(plan) };
    return this.#reduced.to;
  }

  #report(problem: Problem | undefined): ForwardingReport {
    return {
      applied: this.#table.plan && this.#carried && this.#possible(this.#carried).told,
      problem,
      inherited: this.#table.inherited === true,
      clusterIp: this.#clusterIp.problem,
      direct: this.#table.directProblem,
    };
  }

  #answer(report: ForwardingReport, waiting: readonly Waiter[] = this.#waiting.splice(0)): void {
    for (const resolve of waiting) resolve(report);
  }
}

function ignore(): void {
  // Nobody asked to be told.
}
