import type { Vip } from '../../../net/names.ts';
import { ok, type Problem, problem, type Result } from '../../../net/result.ts';
import { Table } from '../../../net/table.ts';
import type { Bounce, ForwardingPlan } from '../../decide/types.ts';
import { bounceTransaction } from './bounce.ts';
import { DIRECT_FEATURES } from './direct/features.ts';
import { DirectTables } from './direct/tables.ts';
import { missingFeatures } from './features.ts';
import type { StaleFlow } from './flows.ts';
import { ForeignChanges, type ReadGeneration } from './foreign-changes.ts';
import { type ListedTable, parseListing } from './listing.ts';
import { type Launcher, NftProcess, runProgram } from './nft-process.ts';
import { CANARY, type RuleOptions } from './skeleton.ts';
import { TABLE } from './table.ts';
import { TableState } from './table-state.ts';
import { type NftText, nft } from './text.ts';
import type { Transaction } from './transaction.ts';

export interface KernelTableOptions {
  readonly launch: Launcher;
  readonly rules: RuleOptions;
  readonly readGeneration: ReadGeneration;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  readonly onDrift: (problem: Problem) => void;
  readonly onProblem: (problem: Problem) => void;
  readonly onStaleFlows: (flows: readonly StaleFlow[]) => void;
}

/** A comparison takes at most this share of the time. */
const COMPARISON_SHARE = 0.02;
const COMPARISON_INTERVAL = 2_000;

/** Characters. What is larger goes to a process of its own: a long-lived nft keeps its last 800 lines in memory. */
const LARGE = 8_000;

const NO_BOUNCES = Table.empty<Vip, readonly Bounce[]>();

/** The table in the kernel, as this process knows it. One call at a time. */
export class KernelTable implements AsyncDisposable {
  readonly #options: KernelTableOptions;
  readonly #nft: NftProcess;
  readonly #foreign: ForeignChanges;
  readonly #direct: DirectTables;
  /** Undefined: what the kernel holds is not known. */
  #applied: { readonly state: TableState; readonly plan: ForwardingPlan } | undefined;
  /** In the kernel; undefined: not known. */
  #bounces: Table<Vip, readonly Bounce[]> | undefined;
  #capable = false;
  #inherited: boolean | undefined;
  /** Some VIP may have been translated here before now. */
  #translating = false;
  #nextComparison = 0;

  constructor(options: KernelTableOptions) {
    this.#options = options;
    this.#nft = new NftProcess(options.launch);
    this.#foreign = new ForeignChanges(options.readGeneration);
    this.#direct = new DirectTables({
      transact: (line) => this.#transact(line),
      query: (line) => this.#nft.run(line),
      list: (table) => this.#listText(table),
      missingFeatures: () => missingFeatures(this.#nft, DIRECT_FEATURES),
    });
  }

  /** The table of an earlier process was there when this one first looked; undefined: it has not yet. */
  get inherited(): boolean | undefined {
    return this.#inherited;
  }

  /** What the kernel's table carries. */
  get plan(): ForwardingPlan | undefined {
    return this.#applied?.plan;
  }

  /** Why this kernel cannot forward directly; undefined where it can or was not asked to. */
  get directProblem(): Problem | undefined {
    return this.#direct.lacks;
  }

  /** Makes the table carry the plan, by the difference to what it has. */
  async apply(plan: ForwardingPlan): Promise<Problem | undefined> {
    const known = this.#applied;
    // Void while it is under way and, if it fails, for good: only the kernel knows then how far it came.
    this.#applied = undefined;
    if (known) {
      const failure = await this.#run(known.state.advance(known.plan, plan));
      if (failure === undefined) return this.#keep(known.state, plan);
      // Somebody took the table away, or nft died: both mend at once.
      this.#options.onDrift(failure);
    }
    return this.#adopt(plan);
  }

  /** Looks whether the table is still what it was, and mends it. The plan is undefined after what cannot be mended. */
  async verify(): Promise<void> {
    const applied = this.#applied;
    if (!applied) return;
    if (this.#foreign.seen) {
      const canary = await this.#nft.run(nft`list set ${TABLE} ${CANARY}`);
      if (canary.problem !== undefined) {
        this.#lose(canary.problem);
        return;
      }
      const gone = await this.#direct.missing();
      if (gone !== undefined) {
        this.#options.onDrift(gone);
        this.#direct.forget();
      }
      if (this.#options.now() >= this.#nextComparison) await this.#compare(applied.plan);
    }
    await this.#bounce(applied.plan);
    await this.#steer(applied.plan);
    this.#tellProblem(await this.#direct.settle());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#nft[Symbol.asyncDispose]();
  }

  #lose(how: Problem): void {
    this.#applied = undefined;
    this.#bounces = undefined;
    this.#options.onDrift(how);
  }

  async #keep(state: TableState, plan: ForwardingPlan): Promise<undefined> {
    this.#applied = { state, plan };
    this.#options.onStaleFlows(state.takeStaleFlows());
    await this.#bounce(plan);
    await this.#steer(plan);
    this.#translating = true;
  }

  /** Starts from whatever the kernel has. */
  async #adopt(plan: ForwardingPlan): Promise<Problem | undefined> {
    this.#bounces = undefined;
    this.#direct.forget();
    const lacking = this.#capable ? undefined : await missingFeatures(this.#nft);
    if (lacking !== undefined) return lacking;
    this.#capable = true;
    const found = await this.#list();
    if (found.problem !== undefined) return found.problem;
    if (found.ok !== undefined) this.#translating = true;
    this.#inherited ??= found.ok !== undefined;
    // Rules are not compared but written anew: those of another version may be as many.
    const [state, transactions] = TableState.adopt(
      found.ok && { ...found.ok, rules: new Map() },
      plan,
      this.#options.rules,
    );
    const failure = await this.#run(transactions);
    return failure ?? this.#keep(state, plan);
  }

  async #compare(plan: ForwardingPlan): Promise<void> {
    const { now, onDrift } = this.#options;
    const started = now();
    this.#direct.forget();
    const found = await this.#list();
    if (found.problem !== undefined) {
      this.#lose(found.problem);
      return;
    }
    const [state, transactions] = TableState.adopt(found.ok, plan, this.#options.rules);
    const failure = await this.#run(tap(transactions, () => onDrift(CHANGED)));
    if (failure === undefined) await this.#keep(state, plan);
    else this.#lose(failure);
    this.#nextComparison = now() + Math.max(COMPARISON_INTERVAL, (now() - started) / COMPARISON_SHARE);
  }

  /** Open connections are worth less than the table: what fails here is told, and repeated at the next look. */
  async #bounce({ bounces = NO_BOUNCES }: ForwardingPlan): Promise<void> {
    if (this.#bounces === bounces) return;
    const { problem: failure } = await this.#transact(bounceTransaction(bounces));
    this.#bounces = failure === undefined ? bounces : undefined;
    if (failure !== undefined) this.#options.onProblem(failure);
  }

  /** Where it fails the table here carries all traffic; it is told, and repeated at the next look. */
  async #steer(plan: ForwardingPlan): Promise<void> {
    this.#tellProblem(await this.#direct.apply(plan, this.#translating));
  }

  #tellProblem(failure: Problem | undefined): void {
    if (failure !== undefined && failure !== this.#direct.lacks) this.#options.onProblem(failure);
  }

  async #run(transactions: Iterable<Transaction>): Promise<Problem | undefined> {
    for (const transaction of transactions) {
      const { problem: failure } = await this.#transact(transaction.line());
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  #transact(line: NftText): Promise<Result<string>> {
    return this.#foreign.during(() =>
      line.length < LARGE ? this.#nft.run(line) : runProgram(this.#options.launch, 'nft', ['-f', '-'], line),
    );
  }

  /** By a process of its own: the memory that a long listing takes is given back. */
  async #list(): Promise<Result<ListedTable | undefined>> {
    this.#foreign.forget();
    const listing = await this.#listText(TABLE);
    return listing.problem === undefined
      ? ok(listing.ok === undefined ? undefined : parseListing(listing.ok))
      : listing;
  }

  async #listText(table: NftText): Promise<Result<string | undefined>> {
    const listing = await runProgram(this.#options.launch, 'nft', ['-s', 'list', 'table', ...table.split(' ')]);
    if (listing.problem === undefined) return listing;
    return /No such file or directory/.test(listing.problem.message) ? ok(undefined) : listing;
  }
}

/** Calls `atFirst` where there is any. */
function* tap<T>(items: Iterable<T>, atFirst: () => void): Generator<T> {
  let first = true;
  for (const item of items) {
    if (first) atFirst();
    first = false;
    yield item;
  }
}

const CHANGED = problem(
  '',
  undefined,
  'another program changed the table inet signpost',
  'find who does: nft monitor',
).problem;
