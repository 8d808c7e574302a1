import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { NodeName } from '../../../net/names.ts';
import { hash32 } from '../../../net/rendezvous.ts';
import type { NodeShare } from '../types.ts';
import { SLOTS, slotOwners, slotQuotas, slotScore } from './slots.ts';

const FEW_SLOTS = 61;

const anyShares = (max: number) =>
  fc
    .uniqueArray(fc.nat(999), { minLength: 1, maxLength: max })
    .chain((numbers) =>
      fc
        .array(fc.integer({ min: 1, max: 9 }), { minLength: numbers.length, maxLength: numbers.length })
        .map((weights) => numbers.map((number, i) => share(number, weights[i]))),
    );

function share(number: number, weight = 1): NodeShare {
  return { node: `node-${number}` as NodeName, weight };
}

/** The same matching, found by giving away the best pair of slot and node again and again. */
function naive(shares: readonly NodeShare[], slots: number): NodeName[] {
  const sorted = [...shares].sort((a, b) => (a.node < b.node ? -1 : 1));
  const room = slotQuotas(sorted, slots);
  const pairs = sorted.flatMap(({ node, weight }, index) =>
    Array.from({ length: slots }, (_, slot) => ({
      index,
      slot,
      score: slotScore({ hash: hash32(node), weight }, slot),
    })),
  );
  pairs.sort((a, b) => b.score - a.score || a.index - b.index || a.slot - b.slot);
  const owners: NodeName[] = [];
  for (const { index, slot } of pairs) {
    if (owners[slot] !== undefined || room[index] === 0) continue;
    owners[slot] = (sorted[index] as NodeShare).node;
    room[index] = (room[index] as number) - 1;
  }
  return owners;
}

function moved(before: readonly NodeName[], after: readonly NodeName[]): number {
  return before.filter((node, slot) => node !== after[slot]).length / before.length;
}

test('it is the naive matching', () => {
  fc.assert(
    fc.property(anyShares(12), (shares) => {
      expect(slotOwners(shares, FEW_SLOTS)).toEqual(naive(shares, FEW_SLOTS));
    }),
  );
});

test('the order of the shares does not matter', () => {
  fc.assert(
    fc.property(
      anyShares(8).chain((shares) =>
        fc.tuple(fc.constant(shares), fc.shuffledSubarray(shares, { minLength: shares.length })),
      ),
      ([shares, shuffled]) => {
        expect(slotOwners(shuffled, FEW_SLOTS)).toEqual(slotOwners(shares, FEW_SLOTS));
      },
    ),
  );
});

test('weight 0 and no shares at all take nothing', () => {
  expect(slotOwners([])).toEqual([]);
  expect(slotOwners([share(1, 0)])).toEqual([]);
  expect(new Set(slotOwners([share(1, 0), share(2, 3)]))).toEqual(new Set(['node-2']));
});

test('each share is within 5 % of its weight, or within one slot', () => {
  fc.assert(
    fc.property(anyShares(20), (shares) => {
      const owners = slotOwners(shares);
      const total = shares.reduce((sum, { weight }) => sum + weight, 0);
      for (const { node, weight } of shares) {
        const fair = (SLOTS * weight) / total;
        const has = owners.filter((owner) => owner === node).length;
        expect(Math.abs(has - fair)).toBeLessThanOrEqual(Math.max(1, 0.05 * fair));
      }
    }),
    { numRuns: 20 },
  );
});

describe('when one of n equal nodes goes', () => {
  test.each([2, 3, 5, 8, 12, 16, 20])('n = %i: 1/n + 2 percent of the slots move, on average over the nodes', (n) => {
    const clusters = [0, 100, 200].map((first) => Array.from({ length: n }, (_, i) => share(first + i)));
    const moves = clusters.flatMap((shares) => {
      const before = slotOwners(shares);
      return shares.map((gone) => moved(before, slotOwners(shares.filter((one) => one !== gone))));
    });
    const mean = moves.reduce((sum, value) => sum + value, 0) / moves.length;
    expect(mean).toBeGreaterThanOrEqual(1 / n - 0.01);
    expect(mean).toBeLessThanOrEqual(1 / n + 0.02);
  });
});

test('a weight that changes moves little more than its difference', () => {
  const shares = [share(1), share(2), share(3, 2), share(4)];
  const before = slotOwners(shares);
  const after = slotOwners(shares.map((one) => (one === shares[2] ? share(3, 3) : one)));
  // From 2/5 to 3/6 of the slots.
  expect(moved(before, after)).toBeLessThan(0.1 + 0.02);
});
