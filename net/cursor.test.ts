import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Cursor, Writer } from './cursor.ts';

test('what a Writer writes a Cursor reads, and nothing beyond', () => {
  fc.assert(
    fc.property(fc.nat(0xff), fc.nat(0xffff), fc.nat(0xffffffff), fc.bigInt(0n, (1n << 64n) - 1n), (a, b, c, d) => {
      const bytes = new Writer(1).u8(a).u16(b).u32(c).u64(d).bytes(Uint8Array.of(7)).finish();
      const cursor = new Cursor(bytes);
      expect([cursor.u8(), cursor.u16(), cursor.u32(), cursor.u64()]).toEqual([a, b, c, d]);
      expect(cursor.u16()).toBeUndefined();
      expect(cursor.sub(2)).toBeUndefined();
      expect(cursor.bytes(-1)).toBeUndefined();
      expect(cursor.rest()).toEqual(Uint8Array.of(7));
      expect(cursor.u8()).toBeUndefined();
    }),
  );
});

test('a sub-cursor cannot leave its slice', () => {
  const outer = new Cursor(Uint8Array.of(1, 2, 3));
  const inner = outer.sub(2);
  expect(inner?.u16()).toBe(0x0102);
  expect(inner?.u8()).toBeUndefined();
  expect(outer.u8()).toBe(3);
});

test('Writer patches a length that is known at the end', () => {
  expect(new Writer().u16(0).u8(9).patchU16(0, 0x0102).finish()).toEqual(Uint8Array.of(1, 2, 9));
  expect(() => new Writer().u8(1).patchU16(0, 1)).toThrow(RangeError);
});
