import type { NodeName } from '../../../../net/names.ts';
import { slotOwners } from '../../../decide/direct/slots.ts';
import type { NodeShare } from '../../../decide/types.ts';

/** Stands for the member that a frame came from. */
export const SENDER = 'the sender';

/** Where connections of a slot may live that began before its node had it. */
export type Earlier = NodeName | typeof SENDER | undefined;

/** Who has each slot of an entry, and who had it last before. */
export interface Lineage {
  readonly owners: readonly NodeName[];
  readonly earlier: readonly Earlier[];
}

/** What a lineage begins with where no table was before it. */
export type Beginning =
  /** This node had translated to any endpoint: connections live at whoever was the leader. */
  | 'endpoints'
  /** There were no connections. */
  | 'nothing'
  /** Nothing is known: connections live at those who would have the slots without this node. */
  | 'unknown';

/**
 * Makes lineages. All entries with the same history share one, and the rules that are made of it: there are few,
 * whatever the number of entries.
 */
export class Lineages {
  readonly #self: NodeName;
  readonly #tables = new Map<string, readonly NodeName[]>();
  readonly #interned = new Map<string, Lineage>();
  readonly #next = new WeakMap<Lineage, Map<readonly NodeName[], Lineage>>();

  constructor(self: NodeName) {
    this.#self = self;
  }

  begin(shares: readonly NodeShare[], beginning: Beginning): Lineage {
    const owners = this.#ownersOf(shares);
    return this.intern({ owners, earlier: this.#before(owners, shares, beginning) });
  }

  #before(owners: readonly NodeName[], shares: readonly NodeShare[], beginning: Beginning): readonly Earlier[] {
    switch (beginning) {
      case 'endpoints':
        return owners.map(() => SENDER);
      case 'nothing':
        return owners.map(() => undefined);
      case 'unknown':
        return this.#ownersOf(shares.filter(({ node }) => node !== this.#self));
    }
  }

  /** A slot that changes its node remembers the one before. */
  advance(before: Lineage, shares: readonly NodeShare[]): Lineage {
    const owners = this.#ownersOf(shares);
    const known = this.#next.get(before)?.get(owners);
    if (known !== undefined) return known;
    const earlier = owners.map((owner, slot) =>
      owner === before.owners[slot] ? before.earlier[slot] : before.owners[slot],
    );
    const next = this.intern({ owners, earlier });
    const successors = this.#next.get(before) ?? new Map<readonly NodeName[], Lineage>();
    this.#next.set(before, successors.set(owners, next));
    return next;
  }

  /** After a time in which this node translated to any endpoint. */
  resume(before: Lineage, shares: readonly NodeShare[]): Lineage {
    return this.advance(this.intern({ owners: before.owners, earlier: before.owners.map(() => SENDER) }), shares);
  }

  /** The one object for equal lineages. */
  intern(lineage: Lineage): Lineage {
    return remember(this.#interned, `${lineage.owners.join(' ')}|${lineage.earlier.join(' ')}`, () => lineage);
  }

  #ownersOf(shares: readonly NodeShare[]): readonly NodeName[] {
    const text = shares.map(({ node, weight }) => `${node}=${weight}`).join(' ');
    return remember(this.#tables, text, () => slotOwners(shares));
  }
}

/** Beyond this the memory is worth more than the time: all are forgotten, and made anew as they are needed. */
const KEPT = 512;

function remember<T>(cache: Map<string, T>, key: string, make: () => T): T {
  const known = cache.get(key);
  if (known !== undefined) return known;
  if (cache.size >= KEPT) cache.clear();
  const made = make();
  cache.set(key, made);
  return made;
}
