import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HASH_BUCKETS, hashTable } from './hash-table.ts';

const pods = (count: number, network = 1) =>
  Array.from({ length: count }, (_, i) => `10.244.${network}.${i + 5} . 8080`);
const even = (names: readonly string[]) => names.map(() => 1);

describe('the hash table', () => {
  test('depends on the set of endpoints alone, not on their order', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 250 }), { minLength: 1, maxLength: 12 }), (numbers) => {
        const names = numbers.map((n) => `10.0.0.${n} . 80`);
        const shuffled = [...names].reverse();
        const one = hashTable(names, even(names)).map((i) => names[i]);
        expect(hashTable(shuffled, even(shuffled)).map((i) => shuffled[i])).toEqual(one);
      }),
    );
  });

  test.each([2, 3, 5, 10, 20])('of %i endpoints: one that goes moves 1/n + 2 %% of the clients on average', (count) => {
    let moved = 0;
    const networks = 20;
    for (let network = 0; network < networks; network++) {
      const names = pods(count, network);
      const before = hashTable(names, even(names)).map((i) => names[i]);
      for (const gone of names) {
        const rest = names.filter((name) => name !== gone);
        const after = hashTable(rest, even(rest)).map((i) => rest[i]);
        moved += before.filter((name, bucket) => name !== after[bucket]).length;
      }
    }
    expect(moved / (networks * count * HASH_BUCKETS)).toBeLessThanOrEqual(1 / count + 0.02);
  });

  test('gives nobody more than 1.25 times its fair share', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 10 }), (weights) => {
        const table = hashTable(pods(weights.length), weights);
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        weights.forEach((weight, index) => {
          const share = table.filter((i) => i === index).length;
          expect(share).toBeLessThanOrEqual(Math.ceil((HASH_BUCKETS * 1.25 * weight) / total));
        });
        expect(table).toHaveLength(HASH_BUCKETS);
      }),
    );
  });

  test('of nobody is empty', () => {
    expect(hashTable([], [])).toEqual([]);
  });
});
