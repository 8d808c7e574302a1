import fc from 'fast-check';
import { expect, test } from 'vitest';
import { internetChecksum } from './checksum.ts';

test('checksum: the example of RFC 1071 section 3', () => {
  expect(internetChecksum(Uint8Array.of(0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7))).toBe(~0xddf2 & 0xffff);
});

test('checksum of parts is the checksum of the whole, and verifies to zero', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), fc.uint8Array({ maxLength: 64 }), (a, b) => {
      const whole = Uint8Array.of(...a, ...b);
      const sum = internetChecksum(a, b);
      expect(sum).toBe(internetChecksum(whole));
      const padded = whole.length % 2 === 0 ? whole : Uint8Array.of(...whole, 0);
      expect(internetChecksum(padded, Uint8Array.of(sum >> 8, sum & 0xff))).toBe(0);
    }),
  );
});
