/** Cuts a stream of text into lines; what comes after the last newline waits for the rest. */
export class LineSplitter {
  readonly #limit: number;
  #rest = '';

  /** @param limit characters of a line above which the stream is broken */
  constructor(limit: number) {
    this.#limit = limit;
  }

  push(chunk: string): string[] {
    // Joined only where a line ends: a long line that comes in many chunks costs no more than its length.
    if (!chunk.includes('\n')) {
      this.#keep(this.#rest + chunk);
      return [];
    }
    const lines = (this.#rest + chunk).split('\n');
    this.#keep(lines.pop() ?? '');
    return lines.filter((line) => line !== '');
  }

  #keep(rest: string): void {
    if (rest.length > this.#limit) throw new Error(`a line of more than ${this.#limit} characters`);
    this.#rest = rest;
  }
}
