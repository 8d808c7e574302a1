const BUCKETS = 512;

export interface Change<K, V> {
  readonly key: K;
  readonly before: V | undefined;
  readonly after: V | undefined;
}

type Bucket<K, V> = ReadonlyMap<K, V>;

/**
 * An immutable map whose versions share what they have in common: an edit copies one bucket of 512, and
 * `changes` finds what differs between two versions without looking at what does not.
 * Iteration order is unspecified.
 */
export class Table<K extends string, V> implements Iterable<readonly [K, V]> {
  readonly size: number;
  readonly #buckets: readonly (Bucket<K, V> | undefined)[];

  private constructor(buckets: readonly (Bucket<K, V> | undefined)[], size: number) {
    this.#buckets = buckets;
    this.size = size;
  }

  static empty<K extends string, V>(): Table<K, V> {
    return new Table<K, V>(new Array<undefined>(BUCKETS).fill(undefined), 0);
  }

  static from<K extends string, V>(entries: Iterable<readonly [K, V]>): Table<K, V> {
    return Table.empty<K, V>().with(entries);
  }

  get(key: K): V | undefined {
    return this.#buckets[bucketOf(key)]?.get(key);
  }

  has(key: K): boolean {
    return this.#buckets[bucketOf(key)]?.has(key) ?? false;
  }

  set(key: K, value: V): Table<K, V> {
    return this.with([[key, value]]);
  }

  delete(key: K): Table<K, V> {
    return this.with([[key, undefined]]);
  }

  /** Every edit at once; a value of undefined deletes its key. This table itself where nothing differs. */
  with(edits: Iterable<readonly [K, V | undefined]>): Table<K, V> {
    const copies = new Map<number, Map<K, V>>();
    let size = this.size;
    for (const [key, value] of edits) {
      const index = bucketOf(key);
      const current = copies.get(index) ?? this.#buckets[index];
      const before = current?.get(key);
      if (before === value) continue;
      const copy = copies.get(index) ?? new Map(current);
      copies.set(index, copy);
      if (value === undefined) copy.delete(key);
      else copy.set(key, value);
      size += (value === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
    }
    if (copies.size === 0) return this;
    const buckets = this.#buckets.slice();
    for (const [index, copy] of copies) buckets[index] = copy;
    return new Table(buckets, size);
  }

  *[Symbol.iterator](): Iterator<readonly [K, V]> {
    for (const bucket of this.#buckets) if (bucket) yield* bucket;
  }

  *keys(): Generator<K> {
    for (const bucket of this.#buckets) if (bucket) yield* bucket.keys();
  }

  *values(): Generator<V> {
    for (const bucket of this.#buckets) if (bucket) yield* bucket.values();
  }

  /** What must be done to `previous` to make it this table. Values are compared by identity. */
  *changes(previous: Table<K, V>): Generator<Change<K, V>> {
    if (previous === this) return;
    for (let i = 0; i < BUCKETS; i++) {
      const [old, now] = [previous.#buckets[i], this.#buckets[i]];
      if (old === now) continue;
      for (const [key, before] of old ?? []) {
        const after = now?.get(key);
        if (after !== before) yield { key, before, after };
      }
      for (const [key, after] of now ?? []) if (!old?.has(key)) yield { key, before: undefined, after };
    }
  }
}

/** FNV-1a over UTF-16 units: fast, and spread evenly enough for buckets. */
function bucketOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 15)) & (BUCKETS - 1);
}
