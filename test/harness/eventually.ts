import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

export interface Patience {
  /** Milliseconds until it counts as failed. */
  readonly within?: number;
  /** Milliseconds between looks. */
  readonly every?: number;
}

/**
 * Looks until `accept` holds and returns what it saw then. At the deadline it throws with the last state, so that a
 * failed test tells what was instead. A look that throws counts as not yet.
 */
export async function eventually<T>(
  what: string,
  look: () => T | Promise<T>,
  accept: (state: T) => boolean = Boolean,
  { within = 20_000, every = 20 }: Patience = {},
): Promise<T> {
  const deadline = performance.now() + within;
  for (;;) {
    const [state, failure] = await attempt(look);
    if (failure === undefined && accept(state as T)) return state as T;
    if (performance.now() >= deadline) {
      const last =
        failure === undefined ? inspect(state, { depth: 6, breakLength: 120, maxArrayLength: 12 }) : inspect(failure);
      throw new Error(`not within ${within} ms: ${what}\nlast state: ${last}`);
    }
    await sleep(every);
  }
}

async function attempt<T>(look: () => T | Promise<T>): Promise<[T, undefined] | [undefined, unknown]> {
  try {
    return [await look(), undefined];
  } catch (error) {
    return [undefined, error];
  }
}
