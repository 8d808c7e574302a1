/** Reads the kernel's number of nftables transactions so far; undefined where it cannot be known. */
export type ReadGeneration = () => number | undefined;

/** Tells whether any other program changed any nftables rule: the kernel counts transactions, and ours are known. */
export class ForeignChanges {
  readonly #read: ReadGeneration;
  #expected: number | undefined;
  #seen = true;

  constructor(read: ReadGeneration) {
    this.#read = read;
  }

  /** Since the last `forget`. True where it cannot be known. */
  get seen(): boolean {
    const now = this.#read();
    return this.#seen || now === undefined || now !== this.#expected;
  }

  /** Before the table is read: what changed until now will be read with it. */
  forget(): void {
    this.#expected = this.#read();
    this.#seen = false;
  }

  /** Runs a transaction of ours, which counts for one if it succeeds. */
  async during<T extends { readonly problem?: unknown }>(transaction: () => Promise<T>): Promise<T> {
    this.#seen = this.seen;
    const before = this.#read();
    const result = await transaction();
    const own = result.problem === undefined ? 1 : 0;
    this.#expected = this.#read();
    if (before === undefined || this.#expected !== before + own) this.#seen = true;
    return result;
  }
}
