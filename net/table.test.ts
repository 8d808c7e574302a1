import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Table } from './table.ts';

const edits = fc.array(fc.tuple(fc.string({ maxLength: 3 }), fc.option(fc.nat(9), { nil: undefined })));

function twin(from: ReadonlyMap<string, number>, list: readonly (readonly [string, number | undefined])[]) {
  const map = new Map(from);
  for (const [key, value] of list) {
    if (value === undefined) map.delete(key);
    else map.set(key, value);
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
      for (const [key, value] of expected) expect(after.get(key)).toBe(value);
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
      for (const change of seen) {
        expect(change.before).toBe(before.get(change.key));
        expect(change.after).toBe(after.get(change.key));
        expect(change.before).not.toBe(change.after);
      }
      expect(new Map(before.with(seen.map((change) => [change.key, change.after] as const)))).toEqual(new Map(after));
    }),
  );
});

test('an edit that changes nothing answers the same table', () => {
  const table = Table.from<string, number>([['a', 1]]);
  expect(table.set('a', 1)).toBe(table);
  expect(table.delete('b')).toBe(table);
});
