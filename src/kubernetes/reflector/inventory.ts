/** An object as the API server has it. */
export interface RawObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
}

export interface RawChange {
  /** `namespace/name`, or the name alone. */
  readonly key: string;
  /** Undefined: it is gone. */
  readonly object: RawObject | undefined;
}

/**
 * Knows which objects were told of at which version, and nothing of what they hold. A list is told as the difference
 * from what was told before, and nothing is taken back until the whole list is there.
 */
export class Inventory {
  readonly #versions = new Map<string, string>();
  #listed = new Set<string>();

  get size(): number {
    return this.#versions.size;
  }

  beginList(): void {
    this.#listed = new Set();
  }

  /** One page of a list. */
  list(items: readonly RawObject[]): RawChange[] {
    return items.flatMap((object) => {
      const key = keyOf(object);
      this.#listed.add(key);
      return this.#put(key, object);
    });
  }

  /** The list is complete: what it did not hold is gone. */
  endList(): RawChange[] {
    const gone = [...this.#versions.keys()].filter((key) => !this.#listed.has(key));
    this.#listed = new Set();
    return gone.map((key) => this.#drop(key));
  }

  put(object: RawObject): RawChange[] {
    return this.#put(keyOf(object), object);
  }

  remove(object: RawObject): RawChange[] {
    const key = keyOf(object);
    return this.#versions.has(key) ? [this.#drop(key)] : [];
  }

  /** The server was set back to an earlier state: a version that is known may mean another object now. */
  distrust(): void {
    for (const key of this.#versions.keys()) this.#versions.set(key, '');
  }

  #put(key: string, object: RawObject): RawChange[] {
    const { resourceVersion } = object.metadata;
    if (this.#versions.get(key) === resourceVersion) return [];
    this.#versions.set(key, resourceVersion);
    return [{ key, object }];
  }

  #drop(key: string): RawChange {
    this.#versions.delete(key);
    return { key, object: undefined };
  }
}

function keyOf({ metadata: { namespace, name } }: RawObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
