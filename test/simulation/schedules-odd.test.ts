import { expect, it } from 'vitest';
import { search } from './search.ts';

it('keeps every property over 50,000 cluster-seconds of random faults (odd seeds)', () => {
  expect(search(1, 2, 50_000)).toEqual([]);
});
