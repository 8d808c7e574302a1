export interface BackoffLimits {
  /** First delay, any unit of time; `next` answers in the same. */
  readonly initial: number;
  readonly maximum: number;
  /** Share of the delay that is random, 0 to 1. */
  readonly jitter: number;
}

/** Exponential back-off with jitter; `random` (0 to 1) is passed in so that tests are exact. */
export class Backoff {
  readonly #limits: BackoffLimits;
  readonly #random: () => number;
  #failures = 0;

  constructor(limits: BackoffLimits, random: () => number) {
    this.#limits = limits;
    this.#random = random;
  }

  get failures(): number {
    return this.#failures;
  }

  next(): number {
    const { initial, maximum, jitter } = this.#limits;
    const full = Math.min(maximum, initial * 2 ** Math.min(this.#failures, 32));
    this.#failures++;
    return full * (1 - jitter * this.#random());
  }

  reset(): void {
    this.#failures = 0;
  }
}
