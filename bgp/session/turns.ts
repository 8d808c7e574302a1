import type { Schedule } from '../bfd/transport.ts';

/** Octets that all sessions together write before sockets and timers have their turn: some milliseconds of work. */
const TURN = 65_536;

/**
 * Shares the thread among the sessions of a speaker, so that the dump to many peers holds up no KEEPALIVE. Whoever
 * finds the turn over waits for the next one, behind those that wait already.
 */
export class Turns implements Disposable {
  readonly #schedule: Schedule;
  readonly #waiting = new Set<() => void>();
  #spent = 0;
  #next: Disposable | undefined;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  /** Nothing more may be written now. */
  isOver(): boolean {
    return this.#spent >= TURN;
  }

  spend(octets: number): void {
    this.#spent += octets;
    this.#next ??= this.#schedule(0, () => this.#begin());
  }

  /** Calls `run` in a later turn; once, however often it asks before that. */
  wait(run: () => void): void {
    this.#waiting.add(run);
  }

  forget(run: () => void): void {
    this.#waiting.delete(run);
  }

  [Symbol.dispose](): void {
    this.#next?.[Symbol.dispose]();
    this.#waiting.clear();
  }

  #begin(): void {
    this.#next = undefined;
    this.#spent = 0;
    for (const run of this.#waiting) {
      if (this.isOver()) return;
      this.#waiting.delete(run);
      run();
    }
  }
}
