import type { Selector } from './selector.ts';
import { rewriteRules, type TableObject } from './table.ts';
import type { Transaction } from './transaction.ts';

interface Use {
  readonly object: TableObject;
  /** Later than that of every object it refers to. */
  readonly sequence: number;
  users: number;
}

/**
 * Counts who uses the objects beside the skeleton, to make each before its first use and to remove it after its last.
 */
export class SharedObjects {
  readonly #uses = new Map<string, Use>();
  readonly #present: ReadonlyMap<string, TableObject['kind']>;
  #sequence = 0;

  /** @param present what is in the kernel already, from an earlier run: it is used as it is, its rules are rewritten. */
  constructor(present: ReadonlyMap<string, TableObject['kind']>) {
    this.#present = present;
  }

  has(name: string): boolean {
    return this.#uses.has(name);
  }

  acquire({ objects }: Selector, transaction: Transaction): void {
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

  #introduce(object: TableObject, transaction: Transaction): void {
    this.#uses.set(object.name, { object, sequence: this.#sequence++, users: 1 });
    if (!this.#present.has(object.name)) transaction.create(object);
    else if (object.kind === 'chain') transaction.command(...rewriteRules(object));
  }
}
