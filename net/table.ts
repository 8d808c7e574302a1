/** Log2 of a branch's children. */
const BITS = 5;
const CHILDREN = 1 << BITS;
/** Keys whose hashes agree in all of these bits stay in one leaf. */
const HASH_BITS = 30;
/** A leaf that outgrows this becomes a branch; a branch of half as many becomes a leaf again. */
const LEAF_ENTRIES = 64;

export interface Change<K, V> {
  readonly key: K;
  readonly before: V | undefined;
  readonly after: V | undefined;
}

type Leaf<K, V> = ReadonlyMap<K, V>;
type Node<K, V> = Leaf<K, V> | Branch<K, V>;

interface Edit<K, V> {
  readonly key: K;
  readonly hash: number;
  readonly value: V | undefined;
}

/** Children by the next bits of their keys' hashes. */
class Branch<K, V> {
  readonly size: number;
  readonly children: readonly (Node<K, V> | undefined)[];

  constructor(children: readonly (Node<K, V> | undefined)[]) {
    this.children = children;
    this.size = children.reduce((sum, child) => sum + sizeOf(child), 0);
  }
}

/**
 * An immutable map whose versions share what they have in common: an edit copies one leaf and the way to it, and
 * `changes` finds what differs between two versions without looking at what does not.
 * Iteration order is unspecified.
 */
export class Table<K extends string, V> implements Iterable<readonly [K, V]> {
  readonly #root: Node<K, V> | undefined;

  private constructor(root: Node<K, V> | undefined) {
    this.#root = root;
  }

  static empty<K extends string, V>(): Table<K, V> {
    return new Table<K, V>(undefined);
  }

  static from<K extends string, V>(entries: Iterable<readonly [K, V]>): Table<K, V> {
    return Table.empty<K, V>().with(entries);
  }

  get size(): number {
    return sizeOf(this.#root);
  }

  get(key: K): V | undefined {
    return leafOf(this.#root, key)?.get(key);
  }

  has(key: K): boolean {
    return leafOf(this.#root, key)?.has(key) ?? false;
  }

  set(key: K, value: V): Table<K, V> {
    return this.with([[key, value]]);
  }

  delete(key: K): Table<K, V> {
    return this.with([[key, undefined]]);
  }

  /** Every edit at once, the later of one key in force; a value of undefined deletes. This table itself where nothing differs. */
  with(edits: Iterable<readonly [K, V | undefined]>): Table<K, V> {
    const hashed = Array.from(edits, ([key, value]) => ({ key, hash: hashOf(key), value }));
    if (hashed.length === 0) return this;
    const root = edited(this.#root, hashed, 0);
    return root === this.#root ? this : new Table(root);
  }

  *[Symbol.iterator](): Iterator<readonly [K, V]> {
    for (const leaf of leavesOf(this.#root)) yield* leaf;
  }

  *keys(): Generator<K> {
    for (const leaf of leavesOf(this.#root)) yield* leaf.keys();
  }

  *values(): Generator<V> {
    for (const leaf of leavesOf(this.#root)) yield* leaf.values();
  }

  /** What must be done to `previous` to make it this table. Values are compared by identity. */
  changes(previous: Table<K, V>): readonly Change<K, V>[] {
    const changes: Change<K, V>[] = [];
    compare(previous.#root, this.#root, changes);
    return changes;
  }
}

function sizeOf<K, V>(node: Node<K, V> | undefined): number {
  return node === undefined ? 0 : node.size;
}

function slotOf(hash: number, shift: number): number {
  return (hash >>> shift) & (CHILDREN - 1);
}

function leafOf<K extends string, V>(root: Node<K, V> | undefined, key: K): Leaf<K, V> | undefined {
  if (!(root instanceof Branch)) return root;
  const hash = hashOf(key);
  let node: Node<K, V> | undefined = root;
  for (let shift = 0; node instanceof Branch; shift += BITS) node = node.children[slotOf(hash, shift)];
  return node;
}

/** The node itself where nothing differs; undefined where nothing is left. */
function edited<K extends string, V>(
  node: Node<K, V> | undefined,
  edits: readonly Edit<K, V>[],
  shift: number,
): Node<K, V> | undefined {
  return node instanceof Branch ? editedBranch(node, edits, shift) : editedLeaf(node, edits, shift);
}

function editedLeaf<K extends string, V>(
  leaf: Leaf<K, V> | undefined,
  edits: readonly Edit<K, V>[],
  shift: number,
): Node<K, V> | undefined {
  let copy: Map<K, V> | undefined;
  for (const { key, value } of edits) {
    if ((copy ?? leaf)?.get(key) === value) continue;
    copy ??= new Map(leaf);
    if (value === undefined) copy.delete(key);
    else copy.set(key, value);
  }
  if (copy === undefined) return leaf;
  if (copy.size === 0) return undefined;
  return copy.size > LEAF_ENTRIES && shift < HASH_BITS ? divided(copy, shift) : copy;
}

function editedBranch<K extends string, V>(
  branch: Branch<K, V>,
  edits: readonly Edit<K, V>[],
  shift: number,
): Node<K, V> | undefined {
  let children: (Node<K, V> | undefined)[] | undefined;
  for (const [slot, own] of bySlot(edits, shift)) {
    const child = branch.children[slot];
    const now = edited(child, own, shift + BITS);
    if (now === child) continue;
    children ??= branch.children.slice();
    children[slot] = now;
  }
  if (children === undefined) return branch;
  const made = new Branch(children);
  if (made.size > LEAF_ENTRIES / 2) return made;
  return made.size === 0 ? undefined : new Map(entriesOf(made));
}

function bySlot<K, V>(edits: readonly Edit<K, V>[], shift: number): Iterable<readonly [number, readonly Edit<K, V>[]]> {
  const [only] = edits;
  if (edits.length === 1 && only !== undefined) return [[slotOf(only.hash, shift), edits]];
  const slots = new Map<number, Edit<K, V>[]>();
  for (const edit of edits) {
    const slot = slotOf(edit.hash, shift);
    const own = slots.get(slot);
    if (own === undefined) slots.set(slot, [edit]);
    else own.push(edit);
  }
  return slots;
}

function divided<K extends string, V>(leaf: Leaf<K, V>, shift: number): Branch<K, V> {
  const leaves: (Map<K, V> | undefined)[] = new Array<undefined>(CHILDREN).fill(undefined);
  for (const [key, value] of leaf) {
    const slot = slotOf(hashOf(key), shift);
    const own = leaves[slot] ?? new Map<K, V>();
    leaves[slot] = own.set(key, value);
  }
  const deeper = shift + BITS;
  return new Branch(
    leaves.map((own) =>
      own !== undefined && own.size > LEAF_ENTRIES && deeper < HASH_BITS ? divided(own, deeper) : own,
    ),
  );
}

function* leavesOf<K, V>(node: Node<K, V> | undefined): Generator<Leaf<K, V>> {
  if (node instanceof Branch) for (const child of node.children) yield* leavesOf(child);
  else if (node !== undefined) yield node;
}

function* entriesOf<K, V>(node: Node<K, V> | undefined): Generator<[K, V]> {
  for (const leaf of leavesOf(node)) yield* leaf;
}

function compare<K extends string, V>(
  old: Node<K, V> | undefined,
  now: Node<K, V> | undefined,
  changes: Change<K, V>[],
): void {
  if (old === now) return;
  if (old instanceof Branch && now instanceof Branch) {
    for (let slot = 0; slot < CHILDREN; slot++) compare(old.children[slot], now.children[slot], changes);
    return;
  }
  const [before, after] = [flat(old), flat(now)];
  for (const [key, value] of before) {
    const kept = after.get(key);
    if (kept !== value) changes.push({ key, before: value, after: kept });
  }
  for (const [key, value] of after) if (!before.has(key)) changes.push({ key, before: undefined, after: value });
}

function flat<K, V>(node: Node<K, V> | undefined): Leaf<K, V> {
  return node instanceof Branch ? new Map(entriesOf(node)) : (node ?? new Map<K, V>());
}

/** FNV-1a over UTF-16 units, its high bits mixed into the low ones: fast, and spread evenly enough. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return hash ^ (hash >>> 15);
}
