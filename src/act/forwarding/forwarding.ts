import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff } from '../../../net/backoff.ts';
import type { Vip } from '../../../net/names.ts';
import { ok, type Problem, type Result } from '../../../net/result.ts';
import { Table } from '../../../net/table.ts';
import type { Bounce, ForwardingPlan } from '../../decide/types.ts';
import { bounceTransaction } from './bounce.ts';
import { missingFeatures } from './features.ts';
import { FlowCutter } from './flow-cutter.ts';
import { type ListedTable, parseListing } from './listing.ts';
import { type Launcher, launchDirectly, NftProcess, runProgram } from './nft-process.ts';
import { CANARY } from './skeleton.ts';
import { TABLE } from './table.ts';
import { TableState } from './table-state.ts';
import { nft } from './text.ts';
import type { Transaction } from './transaction.ts';

/** What the kernel holds and what is wrong with it. */
export interface ForwardingReport {
  /** The plan that the kernel's table carries; undefined while that is not known. */
  readonly applied: ForwardingPlan | undefined;
  /** Why the last attempt failed. It is repeated without being asked. */
  readonly problem: Problem | undefined;
}

export interface ForwardingOptions {
  /** Told after each attempt, also those that nobody called for: retries and repairs. */
  readonly onReport?: (report: ForwardingReport) => void;
  /** Told when the table was not as this process had left it; it is being mended. */
  readonly onDrift?: (problem: Problem) => void;
  /** Told of what failed beside the rules and is not repeated: flows that could not be cut. */
  readonly onProblem?: (problem: Problem) => void;
  readonly launch?: Launcher;
  /** Milliseconds between looks whether the table is still there. */
  readonly checkInterval?: number;
  /** 0 to 1, for the jitter of the back-off. */
  readonly random?: () => number;
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
 * Keeps the table `inet signpost` in this process' network namespace equal to the plan. The table stays when the
 * process ends: traffic goes on, and the next process starts from it.
 */
export function createForwarding(options: ForwardingOptions = {}): Forwarding {
  return new Reconciler(options);
}

/** Milliseconds. */
const BACKOFF = { initial: 50, maximum: 5_000, jitter: 0.3 };

const NO_BOUNCES = Table.empty<Vip, Bounce>();

interface AppliedTable {
  readonly state: TableState;
  readonly plan: ForwardingPlan;
}

class Reconciler implements Forwarding {
  readonly #options: ForwardingOptions;
  readonly #launch: Launcher;
  readonly #nft: NftProcess;
  readonly #cutter: FlowCutter;
  readonly #backoff: Backoff;
  readonly #checks: NodeJS.Timeout;
  readonly #closing = new AbortController();
  /** Undefined: what the kernel holds is not known. */
  #table: AppliedTable | undefined;
  #wanted: ForwardingPlan | undefined;
  /** In the kernel; undefined: not known. */
  #bounces: Table<Vip, Bounce> | undefined;
  #capable = false;
  #waiting: ((report: ForwardingReport) => void)[] = [];
  #running: Promise<void> | undefined;
  #checkDue = false;

  constructor(options: ForwardingOptions) {
    const { launch = launchDirectly, checkInterval = 2_000, random = Math.random } = options;
    this.#options = options;
    this.#launch = launch;
    this.#nft = new NftProcess(launch);
    this.#cutter = new FlowCutter(launch, (problem) => options.onProblem?.(problem));
    this.#backoff = new Backoff(BACKOFF, random);
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
    await this.#nft[Symbol.asyncDispose]();
    this.#answer(this.#waiting, this.#report(undefined));
  }

  #wake(): void {
    if (this.#running === undefined && this.#hasWork()) this.#running = this.#work();
  }

  #hasWork(): boolean {
    if (this.#closing.signal.aborted || this.#wanted === undefined) return false;
    return this.#checkDue || this.#waiting.length > 0 || this.#table?.plan !== this.#wanted;
  }

  async #work(): Promise<void> {
    while (this.#hasWork()) {
      if (this.#checkDue) await this.#check();
      if (this.#wanted === undefined || this.#table?.plan === this.#wanted) {
        this.#answer(this.#waiting.splice(0), this.#report(undefined));
        continue;
      }
      const waiting = this.#waiting.splice(0);
      const problem = await this.#attempt(this.#wanted);
      const report = this.#report(problem);
      this.#answer(waiting, report);
      this.#options.onReport?.(report);
      if (problem === undefined) this.#backoff.reset();
      else await this.#pause(this.#backoff.next());
    }
    this.#running = undefined;
  }

  async #check(): Promise<void> {
    this.#checkDue = false;
    const table = this.#table;
    if (table === undefined) return;
    const { problem } = await this.#nft.run(nft`list set ${TABLE} ${CANARY}`);
    if (problem === undefined) return this.#bounce(table.plan);
    this.#table = undefined;
    this.#options.onDrift?.(problem);
  }

  #report(problem: Problem | undefined): ForwardingReport {
    return { applied: this.#table?.plan, problem };
  }

  #answer(waiting: readonly ((report: ForwardingReport) => void)[], report: ForwardingReport): void {
    for (const resolve of waiting) resolve(report);
  }

  /** Ends early at the closing. */
  async #pause(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.#closing.signal }).catch(() => undefined);
  }

  async #attempt(plan: ForwardingPlan): Promise<Problem | undefined> {
    const known = this.#table;
    // Void while it is under way and, if it fails, for good: only the kernel knows then how far it came.
    this.#table = undefined;
    const problem = known ? await this.#advance(known, plan) : await this.#adopt(plan);
    if (problem === undefined) await this.#bounce(plan);
    return problem;
  }

  async #advance({ state, plan: from }: AppliedTable, to: ForwardingPlan): Promise<Problem | undefined> {
    const problem = await this.#run(state.advance(from, to));
    if (problem !== undefined) {
      // Somebody took the table away, or nft died: both mend at once.
      this.#options.onDrift?.(problem);
      return this.#adopt(to);
    }
    this.#keep(state, to);
    return undefined;
  }

  async #adopt(plan: ForwardingPlan): Promise<Problem | undefined> {
    this.#bounces = undefined;
    const found = await this.#list();
    if (found.problem !== undefined) return found.problem;
    const lacking = this.#capable ? undefined : await missingFeatures(this.#nft);
    if (lacking !== undefined) return lacking;
    this.#capable = true;
    const [state, transactions] = TableState.adopt(found.ok, plan);
    const problem = await this.#run(transactions);
    if (problem === undefined) this.#keep(state, plan);
    return problem;
  }

  #keep(state: TableState, plan: ForwardingPlan): void {
    this.#table = { state, plan };
    this.#cutter.cut(state.takeStaleFlows());
  }

  /** Open connections are worth less than the table: what fails here is told, and repeated at the next check. */
  async #bounce({ bounces = NO_BOUNCES }: ForwardingPlan): Promise<void> {
    if (this.#bounces === bounces) return;
    const { problem } = await this.#nft.run(bounceTransaction(bounces));
    this.#bounces = problem === undefined ? bounces : undefined;
    if (problem !== undefined) this.#options.onProblem?.(problem);
  }

  async #run(transactions: Iterable<Transaction>): Promise<Problem | undefined> {
    for (const transaction of transactions) {
      const { problem } = await this.#nft.run(transaction.line());
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  /** By a process of its own: what a long listing takes is given back. */
  async #list(): Promise<Result<ListedTable | undefined>> {
    const listing = await runProgram(this.#launch, 'nft', ['-s', 'list', 'table', 'inet', 'signpost']);
    if (listing.problem === undefined) return ok(parseListing(listing.ok));
    return /No such file or directory/.test(listing.problem.message) ? ok(undefined) : listing;
  }
}
