import { type MonotonicNs, NS_PER_MS } from '../../net/clock.ts';

export interface Rate {
  readonly perSecond: number;
  /** How many may come at once after a rest. */
  readonly burst: number;
}

/** A rate limit that forgives bursts. */
export class TokenBucket {
  readonly #rate: Rate;
  #tokens: number;
  #at: MonotonicNs;

  constructor(rate: Rate, now: MonotonicNs) {
    this.#rate = rate;
    this.#tokens = rate.burst;
    this.#at = now;
  }

  /** Takes a token and returns 0, or returns the milliseconds after which there is one. */
  take(now: MonotonicNs): number {
    const wait = this.wait(now);
    if (wait === 0) this.#tokens = Math.max(0, this.#tokens - 1);
    return wait;
  }

  /** Milliseconds after which there is a token. */
  wait(now: MonotonicNs): number {
    const { perSecond, burst } = this.#rate;
    const seconds = (now - this.#at) / NS_PER_MS / 1000;
    this.#tokens = Math.min(burst, this.#tokens + seconds * perSecond);
    this.#at = now;
    // What floating point loses must not make anybody wait for a hair of a token.
    return this.#tokens < 1 - 1e-9 ? Math.ceil(((1 - this.#tokens) / perSecond) * 1000) : 0;
  }
}
