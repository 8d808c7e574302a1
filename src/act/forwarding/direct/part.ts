import type { ListedTable } from '../listing.ts';
import type { Selector } from '../selector.ts';
import { SharedObjects } from '../shared-objects.ts';
import type { ChainObject, Element, TableObject } from '../table.ts';
import { type NftText, nft } from '../text.ts';
import { Transaction } from '../transaction.ts';
import { namedByContent } from './chains.ts';
import { LAYOUT } from './layout.ts';

const COMMENT = nft`signpost direct layout ${LAYOUT}`;

const NOTHING: ListedTable = { comment: COMMENT, objects: new Map(), rules: new Map(), elements: [] };

/** What somebody needs of one table. */
export interface Use {
  readonly part: Part;
  readonly selectors: readonly Selector[];
  readonly elements: readonly Element[];
  /** Those that others may need as well. */
  readonly shared?: readonly Element[];
}

/** One of the tables, and the transaction that is being made for it. */
export class Part {
  readonly #table: NftText;
  readonly #objects: SharedObjects;
  readonly #holders = new Map<NftText, number>();
  #transaction: Transaction;
  #found: readonly Element[];

  /**
   * @param listed what the kernel has; a table of another layout is replaced
   * @param ours this run has written it: the number of rules tells whether a chain is as it was
   */
  constructor(table: NftText, skeleton: readonly TableObject[], listed: ListedTable | undefined, ours: boolean) {
    this.#table = table;
    this.#transaction = new Transaction(table);
    const kept = listed?.comment === COMMENT ? listed : NOTHING;
    if (listed !== kept) {
      if (listed !== undefined) this.#transaction.command(nft`delete table ${table}`);
      this.#transaction.command(nft`add table ${table} { comment "${COMMENT}"; }`);
    }
    this.#found = kept.elements;
    // Else rules are not compared but written anew: those of another version may be as many.
    this.#objects = new SharedObjects(ours ? kept : { ...kept, rules: rulesByContent(kept) });
    this.#objects.makePermanent(skeleton, this.#transaction);
  }

  replace(before: readonly Use[], after: readonly Use[]): void {
    for (const { selectors } of after) {
      for (const selector of selectors) this.#objects.acquire(selector, this.#transaction);
    }
    this.#transaction.edit(
      [...before.flatMap(({ elements }) => elements), ...before.flatMap(({ shared = [] }) => this.#drop(shared))],
      [...after.flatMap(({ elements }) => elements), ...after.flatMap(({ shared = [] }) => this.#hold(shared))],
    );
    for (const { selectors } of before) for (const selector of selectors) this.#objects.release(selector);
  }

  /** Gives a chain that is in use other rules; those that refer to it stay as they are. */
  revise(chain: ChainObject): void {
    this.#objects.revise(chain, this.#transaction);
  }

  /** Makes these all that the table holds, whatever it was found with. */
  replaceFound(uses: readonly Use[]): void {
    this.replace([{ part: this, selectors: [], elements: this.#found }], uses);
    this.#found = [];
  }

  /** The line that brings the kernel to where this is; empty where it is there. */
  finish(): NftText {
    this.#objects.removeUnused(this.#transaction);
    this.#objects.removeLeftovers(this.#transaction);
    const line = this.#transaction.empty ? nft`` : this.#transaction.line();
    this.#transaction = new Transaction(this.#table);
    return line;
  }

  #hold(elements: readonly Element[]): Element[] {
    return elements.filter(({ key }) => this.#count(key, 1) === 1);
  }

  #drop(elements: readonly Element[]): Element[] {
    return elements.filter(({ key }) => this.#count(key, -1) === 0);
  }

  #count(key: NftText, by: 1 | -1): number {
    const now = (this.#holders.get(key) ?? 0) + by;
    if (now === 0) this.#holders.delete(key);
    else this.#holders.set(key, now);
    return now;
  }
}

function rulesByContent({ rules }: ListedTable): ListedTable['rules'] {
  return new Map([...rules].filter(([name]) => namedByContent(name)));
}
