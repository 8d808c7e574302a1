import type { NodeName } from '../../../../net/names.ts';
import { slotOwners } from '../../../decide/direct/slots.ts';
import type { NodeShare } from '../../../decide/types.ts';
import { MOST_PASSES } from '../code-points.ts';

/** Who has a slot, and where connections of it may live that began before. One object for equal ones. */
export interface Tenure {
  readonly owner: NodeName;
  /** The nodes that had it before, the latest first. */
  readonly earlier: readonly NodeName[];
  /** A member that sends such a segment here may know it: it had translated to any endpoint. */
  readonly bySender: boolean;
}

/** The tenures of an entry's slots. */
export type Lineage = readonly Tenure[];

/** How many nodes a slot remembers: as many as can be asked one after the other. */
export const REMEMBERED = MOST_PASSES - 1;

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
  readonly #tenures = new Map<string, Tenure>();
  readonly #numbers = new WeakMap<Tenure, number>();
  readonly #interned = new Map<string, Lineage>();
  readonly #next = new WeakMap<Lineage, Map<readonly NodeName[], Lineage>>();
  #count = 0;

  constructor(self: NodeName) {
    this.#self = self;
  }

  begin(shares: readonly NodeShare[], beginning: Beginning): Lineage {
    const owners = this.#ownersOf(shares);
    const before =
      beginning === 'unknown' ? this.#ownersOf(shares.filter(({ node }) => node !== this.#self)) : undefined;
    return this.intern(
      owners.map((owner, slot) => {
        const former = before?.[slot];
        const earlier = former === undefined || former === owner ? [] : [former];
        return { owner, earlier, bySender: beginning === 'endpoints' };
      }),
    );
  }

  /** A slot that changes its node remembers those before. */
  advance(before: Lineage, shares: readonly NodeShare[]): Lineage {
    const owners = this.#ownersOf(shares);
    const known = this.#next.get(before)?.get(owners);
    if (known !== undefined) return known;
    const next = this.intern(owners.map((owner, slot) => succeed(before[slot] as Tenure, owner)));
    const successors = this.#next.get(before) ?? new Map<readonly NodeName[], Lineage>();
    this.#next.set(before, successors.set(owners, next));
    return next;
  }

  /** After a time in which this node translated to any endpoint. */
  resume(before: Lineage, shares: readonly NodeShare[]): Lineage {
    return this.advance(this.intern(before.map((tenure) => ({ ...tenure, bySender: true }))), shares);
  }

  /** The one object for equal lineages. */
  intern(lineage: Lineage): Lineage {
    const tenures = lineage.map((tenure) => this.#internTenure(tenure));
    const key = tenures.map((tenure) => this.#numbers.get(tenure)).join();
    return remember(this.#interned, key, () => tenures);
  }

  #internTenure(tenure: Tenure): Tenure {
    if (this.#numbers.has(tenure)) return tenure;
    const key = `${tenure.owner} ${tenure.earlier.join()} ${tenure.bySender}`;
    return remember(this.#tenures, key, () => {
      this.#numbers.set(tenure, this.#count++);
      return tenure;
    });
  }

  #ownersOf(shares: readonly NodeShare[]): readonly NodeName[] {
    const text = shares.map(({ node, weight }) => `${node}=${weight}`).join(' ');
    return remember(this.#tables, text, () => slotOwners(shares));
  }
}

function succeed(before: Tenure, owner: NodeName): Tenure {
  if (owner === before.owner) return before;
  const earlier = [before.owner, ...before.earlier.filter((node) => node !== owner)].slice(0, REMEMBERED);
  return { owner, earlier, bySender: before.bySender };
}

/** Beyond this the memory is worth more than the time: all are forgotten, and made anew as they are needed. */
const KEPT = 4_096;

function remember<T>(cache: Map<string, T>, key: string, make: () => T): T {
  const known = cache.get(key);
  if (known !== undefined) return known;
  if (cache.size >= KEPT) cache.clear();
  const made = make();
  cache.set(key, made);
  return made;
}
