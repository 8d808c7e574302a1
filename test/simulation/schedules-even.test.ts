import { expect, it } from 'vitest';
import { search } from './search.ts';

// In parts, so that none comes near the limit of one test on a busy machine.
it.each([0, 1, 2, 3, 4])(
  'keeps every property over 10,000 cluster-seconds of random faults (even seeds, part %i)',
  (part) => {
    expect(search(2 + 2 * part, 10, 10_000)).toEqual([]);
  },
);
