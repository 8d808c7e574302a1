import type { InterfaceName, Vip } from '../../../net/names.ts';
import { type Prefix, prefixAddress } from '../../../net/prefix.ts';
import { Table } from '../../../net/table.ts';
import type { ForwardingEntry, ForwardingKey, ForwardingPlan } from '../../decide/types.ts';
import { type PlacedEntry, placeEntry, renderEntry } from './entry.ts';
import { FAMILIES, familyName, familyTextOf } from './family.ts';
import { type StaleFlow, staleFlows, untranslatedFlows } from './flows.ts';
import { listedSlots, sortElements } from './listed-entries.ts';
import type { ListedTable } from './listing.ts';
import { SharedObjects } from './shared-objects.ts';
import { ANNOUNCING, DEFAULT_RULES, LAYOUT, type RuleOptions, skeleton } from './skeleton.ts';
import { disjointPrefixes } from './source-ranges.ts';
import { type Element, TABLE } from './table.ts';
import { type NftText, nft } from './text.ts';
import { Transaction } from './transaction.ts';

/** Elements in one transaction: more only cost memory, of nft and of the kernel. */
const CHUNK = 15_000;

const COMMENT = nft`signpost layout ${LAYOUT}`;

const NOTHING: ListedTable = { comment: COMMENT, objects: new Map(), rules: new Map(), elements: [] };

/** The parts of a plan that the table holds. */
interface Contents {
  readonly vips: Table<Vip, true>;
  readonly announcingInterfaces: readonly InterfaceName[];
  /** Disjoint. */
  readonly aggregates: readonly Prefix[];
}

/** One entry that is not as it should be. */
interface Edit {
  readonly key: ForwardingKey;
  readonly before: readonly Element[];
  readonly placedBefore: PlacedEntry | undefined;
  readonly after: ForwardingEntry | undefined;
}

/**
 * What this process has put into the kernel's table. The transactions that lead to a plan are yielded one by one, and
 * each counts as done when the next is asked for: after one that failed, the state is void and must be adopted anew.
 */
export class TableState {
  readonly #placed = new Map<ForwardingKey, PlacedEntry>();
  readonly #objects: SharedObjects;
  #contents: Contents = { vips: Table.empty(), announcingInterfaces: [], aggregates: [] };
  #stale: StaleFlow[] = [];

  private constructor(listed: ListedTable) {
    this.#objects = new SharedObjects(listed);
  }

  /**
   * Starts from the table that the kernel has, undefined where it has none. One of another layout is replaced within
   * the one transaction that makes the new.
   */
  static adopt(
    found: ListedTable | undefined,
    plan: ForwardingPlan,
    rules: RuleOptions = DEFAULT_RULES,
  ): [TableState, Iterable<Transaction>] {
    if (found?.comment === COMMENT) return TableState.#continue(found, plan, rules, []);
    const make = nft`add table ${TABLE} { comment "${COMMENT}"; }`;
    return TableState.#continue(NOTHING, plan, rules, found ? [nft`delete table ${TABLE}`, make] : [make]);
  }

  static #continue(
    listed: ListedTable,
    plan: ForwardingPlan,
    rules: RuleOptions,
    first: readonly NftText[],
  ): [TableState, Iterable<Transaction>] {
    const state = new TableState(listed);
    const transaction = new Transaction();
    transaction.command(...first);
    state.#objects.makePermanent(skeleton(rules), transaction);
    const { vips, announcing, aggregates, entries } = sortElements(listed);
    state.#contents = { vips, announcingInterfaces: announcing, aggregates };
    const edits = new Map<ForwardingKey, Edit>();
    for (const [key, before] of entries) edits.set(key, { key, before, placedBefore: undefined, after: undefined });
    for (const [key, after] of plan.entries) {
      edits.set(key, { key, before: entries.get(key) ?? [], placedBefore: undefined, after });
    }
    // What replaces a table that carries traffic must come whole.
    const chunk = first.length > 1 ? Number.POSITIVE_INFINITY : CHUNK;
    return [state, state.#transactions(transaction, edits.values(), plan, chunk)];
  }

  /** From the plan that it holds: the work is in proportion to what differs. */
  *advance(from: ForwardingPlan, to: ForwardingPlan): Generator<Transaction> {
    const edits = Array.from(to.entries.changes(from.entries), ({ key, after }): Edit => {
      const placedBefore = this.#placed.get(key);
      if (!placedBefore) this.#stale.push(...untranslatedFlows(key));
      return { key, before: placedBefore ? renderEntry(placedBefore).elements : [], placedBefore, after };
    });
    yield* this.#transactions(new Transaction(), edits, to);
  }

  /** Takes the flows of endpoints that went since the last call. */
  takeStaleFlows(): StaleFlow[] {
    const stale = this.#stale;
    this.#stale = [];
    return stale;
  }

  *#transactions(
    first: Transaction,
    edits: Iterable<Edit>,
    plan: ForwardingPlan,
    chunk = CHUNK,
  ): Generator<Transaction> {
    let transaction = first;
    const gone: PlacedEntry[] = [];
    for (const edit of edits) {
      this.#editEntry(edit, transaction);
      if (edit.placedBefore) gone.push(edit.placedBefore);
      if (transaction.size < chunk) continue;
      yield transaction;
      transaction = new Transaction();
    }
    this.#editContents(plan, transaction);
    for (const placed of gone) {
      for (const selector of renderEntry(placed).selectors) this.#objects.release(selector);
    }
    this.#objects.removeUnused(transaction);
    this.#objects.removeLeftovers(transaction);
    if (!transaction.empty) yield transaction;
  }

  #editEntry({ key, before, placedBefore, after }: Edit, transaction: Transaction): void {
    const slotsBefore = placedBefore ?? listedSlots(before);
    const placed = after && placeEntry(after, slotsBefore);
    const rendered = placed ? renderEntry(placed) : undefined;
    for (const selector of rendered?.selectors ?? []) this.#objects.acquire(selector, transaction);
    transaction.edit(before, rendered?.elements ?? []);
    if (placed) this.#placed.set(key, placed);
    else this.#placed.delete(key);
    // A change of mode is for new connections: this table never had the endpoints of the other mode's flows.
    if (placedBefore?.entry.relayed || after?.relayed) return;
    this.#stale.push(...staleFlows(key, placedBefore?.entry.endpoints ?? slotsBefore.slots, after?.endpoints ?? []));
  }

  /** Last, so that a VIP is not refused before its entries are there. */
  #editContents(
    { vips, announcingInterfaces, aggregates: announced = [] }: ForwardingPlan,
    transaction: Transaction,
  ): void {
    const aggregates = FAMILIES.flatMap((family) => disjointPrefixes(announced, familyName(family)));
    for (const { key, before, after } of vips.changes(this.#contents.vips)) {
      transaction.edit(before ? [vipElement(key)] : [], after ? [vipElement(key)] : []);
    }
    transaction.edit(
      this.#contents.announcingInterfaces.map(interfaceElement),
      announcingInterfaces.map(interfaceElement),
    );
    transaction.edit(this.#contents.aggregates.map(aggregateElement), aggregates.map(aggregateElement));
    this.#contents = { vips, announcingInterfaces, aggregates };
  }
}

function vipElement(vip: Vip): Element {
  return { set: nft`vips${familyTextOf(vip).digit}`, key: nft`${vip}` };
}

function aggregateElement(prefix: Prefix): Element {
  return { set: nft`aggregates${familyTextOf(prefixAddress(prefix)).digit}`, key: nft`${prefix}` };
}

function interfaceElement(name: InterfaceName): Element {
  return { set: ANNOUNCING, key: nft`"${name}"` };
}
