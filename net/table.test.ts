import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Table } from './table.ts';

type Edits = readonly (readonly [string, number | undefined])[];

const value = fc.option(fc.nat(9), { nil: undefined });
const some = fc.array(fc.tuple(fc.string({ maxLength: 3 }), value));
/** Whole ranges come and go, so that leaves are divided, branches too, and become leaves again. */
const ranges = fc
  .array(fc.tuple(fc.nat(6000), fc.nat(4000), value), { maxLength: 4 })
  .map(
    (list): Edits =>
      list.flatMap(([from, length, given]) => Array.from({ length }, (_, i) => [`key-${from + i}`, given] as const)),
  );
const edits: fc.Arbitrary<Edits> = fc.oneof({ arbitrary: some, weight: 3 }, ranges);

function twin(from: ReadonlyMap<string, number>, list: Edits) {
  const map = new Map(from);
  for (const [key, given] of list) {
    if (given === undefined) map.delete(key);
    else map.set(key, given);
  }
  return map;
}

test('a table behaves as a Map does', () => {
  fc.assert(
    fc.property(edits, edits, (first, second) => {
      const base = twin(new Map(), first);
      const before = Table.empty<string, number>().with(first);
      const after = before.with(second);
      const expected = twin(base, second);
      expect(new Map(after)).toEqual(expected);
      expect(after.size).toBe(expected.size);
      expect(new Map(before)).toEqual(base);
      expect([...expected].filter(([key, given]) => after.get(key) !== given)).toEqual([]);
      expect(before.has('absent')).toBe(false);
    }),
  );
});

test('changes lists exactly what differs', () => {
  fc.assert(
    fc.property(edits, edits, (first, second) => {
      const before = Table.empty<string, number>().with(first);
      const after = before.with(second);
      const seen = [...after.changes(before)];
      expect(new Set(seen.map((change) => change.key)).size).toBe(seen.length);
      const wrong = seen.filter(
        (change) =>
          change.before !== before.get(change.key) ||
          change.after !== after.get(change.key) ||
          change.before === change.after,
      );
      expect(wrong).toEqual([]);
      expect(new Map(before.with(seen.map((change) => [change.key, change.after] as const)))).toEqual(new Map(after));
    }),
  );
});

test('an edit that changes nothing answers the same table', () => {
  const table = Table.from<string, number>([['a', 1]]);
  expect(table.set('a', 1)).toBe(table);
  expect(table.delete('b')).toBe(table);
});

test('a version that was edited back differs in nothing, whatever its shape', () => {
  fc.assert(
    fc.property(edits, edits, (first, second) => {
      const before = Table.empty<string, number>().with(first);
      const back = before.with(second).with(
        before
          .with(second)
          .changes(before)
          .map(({ key, before: old }) => [key, old]),
      );
      expect(back.changes(before)).toEqual([]);
      expect(before.changes(back)).toEqual([]);
      expect(back.size).toBe(before.size);
    }),
  );
});
