import { ok, type Problem, type Result } from '../../../../net/result.ts';
import type { DirectSurroundings, ForwardingKey, ForwardingPlan } from '../../../decide/types.ts';
import { FAMILIES } from '../family.ts';
import { parseListing } from '../listing.ts';
import { join, type NftText, nft } from '../text.ts';
import { passingTable, STEERING } from './layout.ts';
import { listedPasts } from './listed-pasts.ts';
import { DirectState, type Past, type Pasts } from './state.ts';

/** Every table of Direct forwarding. */
export const DIRECT_TABLES: readonly NftText[] = [STEERING, ...FAMILIES.map(passingTable)];

export interface DirectTablesOptions {
  readonly transact: (line: NftText) => Promise<Result<string>>;
  /** Runs a line that changes nothing. */
  readonly query: (line: NftText) => Promise<Result<string>>;
  /** The text of a table; undefined where there is none. */
  readonly list: (table: NftText) => Promise<Result<string | undefined>>;
  /** What the kernel or nft cannot do; asked before the first use. */
  readonly missingFeatures: () => Promise<Problem | undefined>;
}

/** The tables of Direct forwarding in the kernel, as this process knows them. One call at a time. */
export class DirectTables {
  readonly #options: DirectTablesOptions;
  /** Undefined: what the kernel holds is not known. `state` is: no table. */
  #applied: { readonly state: DirectState | undefined; readonly plan: ForwardingPlan } | undefined;
  /** Survives the tables: what was steered where, before somebody took them away. */
  #pasts: Pasts = new Map();
  #capable = false;
  #written = false;
  #lacks: Problem | undefined;

  constructor(options: DirectTablesOptions) {
    this.#options = options;
  }

  /** Why this kernel cannot forward directly. */
  get lacks(): Problem | undefined {
    return this.#lacks;
  }

  /** Tells when a table is gone that should be there; cheap. */
  async missing(): Promise<Problem | undefined> {
    if (this.#applied?.state === undefined) return undefined;
    for (const table of DIRECT_TABLES) {
      const { problem: gone } = await this.#options.query(nft`list set ${table} members`);
      if (gone !== undefined) return gone;
    }
    return undefined;
  }

  /** The tables may not be what they were. */
  forget(): void {
    this.#applied = undefined;
  }

  /** @param translatedBefore entries were translated to any endpoint before this plan, by this run or an earlier one */
  async apply(plan: ForwardingPlan, translatedBefore: boolean): Promise<Problem | undefined> {
    const applied = this.#applied;
    if (applied?.plan === plan) return undefined;
    this.#applied = undefined;
    if (applied === undefined) return this.#adopt(plan, translatedBefore);
    if (applied.state === undefined) return this.#begin(plan, applied.plan);
    const line = applied.state.advance(applied.plan, plan, surroundingsOf(plan));
    const failure = await this.#run(applied.state.idle ? REMOVAL : line);
    if (failure === undefined) this.#keep(applied.state, plan);
    return failure;
  }

  /** To be called now and then, a time apart in which all nodes have learnt of a change of mode. */
  async settle(): Promise<Problem | undefined> {
    const applied = this.#applied;
    if (applied?.state === undefined || applied.state.settled) return undefined;
    this.#applied = undefined;
    const failure = await this.#run(applied.state.settle(applied.plan));
    if (failure === undefined) this.#keep(applied.state, applied.plan);
    return failure;
  }

  async #begin(plan: ForwardingPlan, before: ForwardingPlan): Promise<Problem | undefined> {
    if (!anyDirect(plan, before)) {
      this.#applied = { state: undefined, plan };
      return undefined;
    }
    return this.#adopt(plan, true);
  }

  /** Starts from whatever the kernel has. */
  async #adopt(plan: ForwardingPlan, translatedBefore: boolean): Promise<Problem | undefined> {
    const surroundings = surroundingsOf(plan);
    const listed = await this.#list();
    if (listed.problem !== undefined) return listed.problem;
    const [steering, ...passing] = listed.ok;
    const found = passing.flatMap((text) => [...listedPasts(text ?? '', surroundings.self)]);
    const pasts = new Map<ForwardingKey, Past>([...found, ...this.#pasts]);
    const there = listed.ok.some((text) => text !== undefined);
    if (!there && !anyDirect(plan)) {
      this.#applied = { state: undefined, plan };
      return undefined;
    }
    const lacking = this.#capable ? undefined : await this.#options.missingFeatures();
    this.#lacks = lacking;
    if (lacking !== undefined) return lacking;
    this.#capable = true;
    const parse = (text: string | undefined) => (text === undefined ? undefined : parseListing(text));
    const tables = { steering: parse(steering), passing: passing.map(parse), ours: this.#written };
    const beginning = translatedBefore ? 'endpoints' : 'unknown';
    const [state, line] = DirectState.adopt(tables, plan, surroundings, pasts, beginning);
    const failure = await this.#run(state.idle ? REMOVAL : line);
    if (failure === undefined) this.#keep(state, plan);
    return failure;
  }

  #keep(state: DirectState, plan: ForwardingPlan): void {
    this.#written = true;
    this.#pasts = state.pasts;
    this.#applied = { state: state.idle ? undefined : state, plan };
  }

  async #run(line: NftText): Promise<Problem | undefined> {
    return line === '' ? undefined : (await this.#options.transact(line)).problem;
  }

  async #list(): Promise<Result<(string | undefined)[]>> {
    const texts: (string | undefined)[] = [];
    for (const table of DIRECT_TABLES) {
      const text = await this.#options.list(table);
      if (text.problem !== undefined) return text;
      texts.push(text.ok);
    }
    return ok(texts);
  }
}

const REMOVAL = join(
  DIRECT_TABLES.flatMap((table) => [nft`add table ${table}`, nft`delete table ${table}`]),
  '; ',
);

/** A plan without them knows of no other node. */
function surroundingsOf({ direct }: ForwardingPlan): DirectSurroundings {
  return direct ?? { self: '' as DirectSurroundings['self'], interfaces: [], nodes: new Map(), gone: new Set() };
}

function anyDirect({ entries }: ForwardingPlan, before?: ForwardingPlan): boolean {
  if (before === undefined) return [...entries.values()].some(({ direct }) => direct !== undefined);
  for (const { after } of entries.changes(before.entries)) if (after?.direct !== undefined) return true;
  return false;
}
