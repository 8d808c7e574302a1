import type { Brand } from './brand.ts';

/**
 * Nanoseconds on CLOCK_MONOTONIC, the same origin in every thread of one process.
 * A double keeps whole nanoseconds for 104 days of uptime and 2 ns steps for the next 104.
 */
export type MonotonicNs = Brand<number, 'MonotonicNs'>;

export interface Clock {
  now(): MonotonicNs;
}

export const monotonicClock: Clock = {
  now: () => Number(process.hrtime.bigint()) as MonotonicNs,
};

export const NS_PER_MS = 1_000_000;

export function ms(milliseconds: number): number {
  return milliseconds * NS_PER_MS;
}

export function after(now: MonotonicNs, nanoseconds: number): MonotonicNs {
  return (now + nanoseconds) as MonotonicNs;
}

/** A clock that moves only when told: for tests and simulations. */
export class ManualClock implements Clock {
  #now: MonotonicNs;

  constructor(start = 0) {
    this.#now = start as MonotonicNs;
  }

  now(): MonotonicNs {
    return this.#now;
  }

  advance(nanoseconds: number): void {
    this.#now = after(this.#now, nanoseconds);
  }
}
