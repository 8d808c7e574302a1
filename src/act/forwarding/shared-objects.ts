import type { Selector } from './selector.ts';
import type { ChainObject, Presence, TableObject } from './table.ts';
import type { NftText } from './text.ts';
import type { Transaction } from './transaction.ts';

interface SelectorUse {
  readonly objects: readonly TableObject[];
  /** Entries that go to it. */
  users: number;
}

interface ObjectUse {
  readonly object: TableObject;
  /** Later than that of every object that it refers to. */
  readonly sequence: number;
  /** Selectors that it is part of. */
  users: number;
}

/** Counts who uses each object of the table, to make it before its first use and to remove it after its last. */
export class SharedObjects {
  readonly #selectors = new Map<string, SelectorUse>();
  readonly #objects = new Map<string, ObjectUse>();
  /** Left by an earlier run and not yet used by this one. */
  readonly #found: { readonly objects: Map<string, TableObject['kind']>; readonly rules: Presence['rules'] };
  #sequence = 0;

  constructor({ objects, rules }: Presence) {
    this.#found = { objects: new Map(objects), rules };
  }

  /** Those that are needed whatever the plan is. */
  makePermanent(objects: readonly TableObject[], transaction: Transaction): void {
    for (const object of objects) this.#use(object, transaction);
  }

  acquire(selector: Selector, transaction: Transaction): void {
    const use = this.#selectors.get(selector.chain);
    if (use) {
      use.users++;
      return;
    }
    const objects = selector.objects();
    this.#selectors.set(selector.chain, { objects, users: 1 });
    for (const object of objects) this.#use(object, transaction);
  }

  release({ chain }: Selector): void {
    const use = this.#selectors.get(chain);
    if (use) use.users--;
  }

  /** Replaces the rules of a chain where it is in use. */
  revise(object: ChainObject, transaction: Transaction): void {
    const use = this.#objects.get(object.name);
    if (use === undefined) return;
    this.#objects.set(object.name, { ...use, object });
    transaction.rewrite(object);
  }

  /** Removes what nobody uses any more: what refers before what it refers to. */
  removeUnused(transaction: Transaction): void {
    const unused: ObjectUse[] = [];
    for (const [chain, selector] of this.#selectors) {
      if (selector.users > 0) continue;
      this.#selectors.delete(chain);
      for (const { name } of selector.objects) {
        const use = this.#objects.get(name);
        if (use && --use.users === 0) unused.push(use);
      }
    }
    for (const { object } of unused.sort((a, b) => b.sequence - a.sequence)) {
      transaction.remove(object);
      this.#objects.delete(object.name);
    }
  }

  /** Removes what an earlier run left and this one has no use for. */
  removeLeftovers(transaction: Transaction): void {
    const leftovers = Array.from(this.#found.objects, ([name, kind]) => ({ kind, name: name as NftText }));
    const chains = leftovers.filter(({ kind }) => kind === 'chain');
    // Chains may refer to each other in any order, until they are empty.
    for (const { name } of chains) transaction.flush(name);
    for (const object of chains) transaction.remove(object);
    for (const object of leftovers.filter(({ kind }) => kind !== 'chain')) transaction.remove(object);
    this.#found.objects.clear();
  }

  #use(object: TableObject, transaction: Transaction): void {
    const use = this.#objects.get(object.name);
    if (use) {
      use.users++;
      return;
    }
    this.#objects.set(object.name, { object, sequence: this.#sequence++, users: 1 });
    transaction.restore(object, this.#found);
    this.#found.objects.delete(object.name);
  }
}
