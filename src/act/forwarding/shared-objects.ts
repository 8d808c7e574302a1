import type { Selector } from './selector.ts';
import { type Presence, restoreObject, TABLE, type TableObject } from './table.ts';
import { type NftText, nft } from './text.ts';
import type { Transaction } from './transaction.ts';

interface Use {
  readonly object: TableObject;
  /** Later than that of every object it refers to. */
  readonly sequence: number;
  users: number;
}

/** Counts who uses each object of the table, to make it before its first use and to remove it after its last. */
export class SharedObjects {
  readonly #uses = new Map<string, Use>();
  /** Left by an earlier run and not yet used by this one. */
  readonly #found: { readonly objects: Map<string, TableObject['kind']>; readonly rules: Map<string, number> };
  #sequence = 0;

  constructor({ objects, rules }: Presence) {
    this.#found = { objects: new Map(objects), rules: new Map(rules) };
  }

  acquire({ objects }: Pick<Selector, 'objects'>, transaction: Transaction): void {
    for (const object of objects) {
      const use = this.#uses.get(object.name);
      if (use) use.users++;
      else this.#introduce(object, transaction);
    }
  }

  release({ objects }: Selector): void {
    for (const { name } of objects) {
      const use = this.#uses.get(name);
      if (use) use.users--;
    }
  }

  /** Removes what nobody uses any more: what refers before what it refers to. */
  removeUnused(transaction: Transaction): void {
    const unused = [...this.#uses.values()].filter(({ users }) => users === 0);
    for (const { object } of unused.sort((a, b) => b.sequence - a.sequence)) {
      transaction.remove(object);
      this.#uses.delete(object.name);
    }
  }

  /** Removes what an earlier run left and this one has no use for. */
  removeLeftovers(transaction: Transaction): void {
    const leftovers = Array.from(this.#found.objects, ([name, kind]) => ({ kind, name: name as NftText }));
    const chains = leftovers.filter(({ kind }) => kind === 'chain');
    // Chains may refer to each other in any order, until they are empty.
    for (const { name } of chains) transaction.command(nft`flush chain ${TABLE} ${name}`);
    for (const object of leftovers.filter(({ kind }) => kind !== 'chain')) transaction.remove(object);
    for (const object of chains) transaction.remove(object);
    this.#found.objects.clear();
  }

  #introduce(object: TableObject, transaction: Transaction): void {
    this.#uses.set(object.name, { object, sequence: this.#sequence++, users: 1 });
    transaction.command(...restoreObject(object, this.#found));
    this.#found.objects.delete(object.name);
  }
}
