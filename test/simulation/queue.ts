interface Entry {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** Things to do in virtual time: by time, then in the order in which they were added. */
export class EventQueue {
  readonly #heap: Entry[] = [];
  #order = 0;

  add(at: number, run: () => void): void {
    const heap = this.#heap;
    heap.push({ at, order: this.#order++, run });
    for (let i = heap.length - 1; i > 0; ) {
      const parent = (i - 1) >> 1;
      if (!this.#before(i, parent)) break;
      this.#swap(i, parent);
      i = parent;
    }
  }

  get nextAt(): number {
    return this.#heap[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  take(): Entry | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    heap[0] = last;
    for (let i = 0; ; ) {
      let least = i;
      for (const child of [2 * i + 1, 2 * i + 2]) if (child < heap.length && this.#before(child, least)) least = child;
      if (least === i) return first;
      this.#swap(i, least);
      i = least;
    }
  }

  #before(i: number, j: number): boolean {
    const a = this.#heap[i] as Entry;
    const b = this.#heap[j] as Entry;
    return a.at < b.at || (a.at === b.at && a.order < b.order);
  }

  #swap(i: number, j: number): void {
    const held = this.#heap[i] as Entry;
    this.#heap[i] = this.#heap[j] as Entry;
    this.#heap[j] = held;
  }
}
