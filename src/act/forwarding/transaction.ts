import {
  type ChainObject,
  deleteObject,
  type Element,
  type Presence,
  restoreObject,
  rewriteChain,
  TABLE,
  type TableObject,
} from './table.ts';
import { join, type NftText, nft } from './text.ts';

/** What leads from one state of a table to another: one transaction of the kernel, all or nothing. */
export class Transaction {
  readonly #first: NftText[] = [];
  readonly #last: NftText[] = [];
  readonly #deleted = new Map<NftText, NftText[]>();
  readonly #added = new Map<NftText, NftText[]>();
  readonly #table: NftText;
  #edits = 0;

  constructor(table: NftText = TABLE) {
    this.#table = table;
  }

  /** Number of elements added and deleted. */
  get size(): number {
    return this.#edits;
  }

  get empty(): boolean {
    return this.#first.length + this.#last.length + this.#edits === 0;
  }

  /** Before all elements, in the order of the calls. */
  command(...commands: readonly NftText[]): void {
    this.#first.push(...commands);
  }

  /** Makes an object what it should be, given what the table has. */
  restore(object: TableObject, presence: Presence): void {
    this.#first.push(...restoreObject(this.#table, object, presence));
  }

  /** Makes the rules of a chain that is there those of the object. */
  rewrite(chain: ChainObject): void {
    this.#first.push(...rewriteChain(this.#table, chain));
  }

  /** Empties a chain, that others may be removed which it refers to. */
  flush(chain: NftText): void {
    this.#first.push(nft`flush chain ${this.#table} ${chain}`);
  }

  /** After all elements, in the order of the calls: what refers must go before what it refers to. */
  remove(object: Pick<TableObject, 'kind' | 'name'>): void {
    this.#last.push(deleteObject(this.#table, object));
  }

  /** Changed data is a deletion and an addition: the kernel refuses to add over an element with other data. */
  edit(before: readonly Element[], after: readonly Element[]): void {
    const kept = before.length === 0 || after.length === 0 ? NONE : intersect(before, after);
    for (const element of before) if (!has(kept, element)) this.#push(this.#deleted, element.set, element.key);
    for (const element of after) {
      if (has(kept, element)) continue;
      const { set, key, data } = element;
      this.#push(this.#added, set, data === undefined ? key : nft`${key} : ${data}`);
    }
  }

  /** One line for nft. */
  line(): NftText {
    const deletions = Array.from(this.#deleted, ([set, keys]) => elements(nft`delete`, this.#table, set, keys));
    const additions = Array.from(this.#added, ([set, keys]) => elements(nft`add`, this.#table, set, keys));
    return join([...this.#first, ...deletions, ...additions, ...this.#last], '; ');
  }

  #push(to: Map<NftText, NftText[]>, set: NftText, text: NftText): void {
    const list = to.get(set);
    if (list) list.push(text);
    else to.set(set, [text]);
    this.#edits++;
  }
}

function elements(verb: NftText, table: NftText, set: NftText, list: readonly NftText[]): NftText {
  return nft`${verb} element ${table} ${set} { ${join(list, ', ')} }`;
}

const NONE: ReadonlySet<string> = new Set();

/** Those that are the same in both. */
function intersect(before: readonly Element[], after: readonly Element[]): ReadonlySet<string> {
  const there = new Set(before.map(identity));
  return new Set(after.map(identity).filter((id) => there.has(id)));
}

/** Spares the making of an identity where there is nothing to find. */
function has(set: ReadonlySet<string>, element: Element): boolean {
  return set.size > 0 && set.has(identity(element));
}

function identity({ set, key, data }: Element): string {
  return `${set} ${key} : ${data}`;
}
