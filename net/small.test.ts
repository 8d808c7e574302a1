import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Backoff } from './backoff.ts';
import { internetChecksum } from './checksum.ts';
import { ManualClock, monotonicClock, ms } from './clock.ts';
import { Cursor, Writer } from './cursor.ts';
import { isGroupMac, MAC_BROADCAST, macFromBytes, macToBytes, parseMac } from './mac.ts';
import { parseInterfaceName, parseNodeName, parseVip } from './names.ts';
import { hash32, rendezvousOrder } from './rendezvous.ts';
import { must } from './result.ts';

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

test('back-off doubles to its maximum, less its jitter, and starts again', () => {
  const backoff = new Backoff({ initial: 100, maximum: 500, jitter: 0.5 }, () => 0.5);
  expect([backoff.next(), backoff.next(), backoff.next(), backoff.next()]).toEqual([75, 150, 300, 375]);
  backoff.reset();
  expect(backoff.next()).toBe(75);
  expect(backoff.failures).toBe(1);
});

test('clocks', () => {
  const manual = new ManualClock(5);
  manual.advance(ms(2));
  expect(manual.now()).toBe(2_000_005);
  const first = monotonicClock.now();
  expect(monotonicClock.now()).toBeGreaterThanOrEqual(first);
});

describe('hash32', () => {
  test.each([
    ['', 0, 0],
    ['', 1, 0x514e28b7],
    ['test', 0, 0xba6bd213],
    ['Hello, world!', 0, 0xc0363e43],
    ['The quick brown fox jumps over the lazy dog', 0x9747b28c, 0x2fa826cd],
  ])('MurmurHash3 of %j with seed %i', (text, seed, expected) => {
    expect(hash32(text, seed)).toBe(expected);
  });
});

describe('rendezvousOrder', () => {
  const names = ['n1', 'n2', 'n3', 'n4', 'n5'];

  test('does not depend on the order of its input, and a name that goes moves no other', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.shuffledSubarray(names, { minLength: 5 }),
        fc.constantFrom(...names),
        (key, mixed, gone) => {
          const order = rendezvousOrder(key, mixed);
          expect(order).toEqual(rendezvousOrder(key, names));
          expect(
            rendezvousOrder(
              key,
              names.filter((name) => name !== gone),
            ),
          ).toEqual(order.filter((name) => name !== gone));
        },
      ),
    );
  });

  test('each of five names is first for a fifth of the keys', () => {
    const firsts = new Map<string, number>();
    for (let i = 0; i < 10_000; i++) {
      const [first] = rendezvousOrder(`203.0.113.${i}`, names) as [string];
      firsts.set(first, (firsts.get(first) ?? 0) + 1);
    }
    for (const count of firsts.values()) expect(Math.abs(count - 2000)).toBeLessThan(150);
  });
});

test('MAC addresses', () => {
  const mac = must(parseMac('02-00-5E-10-00-01'));
  expect(mac).toBe('02:00:5e:10:00:01');
  expect(macFromBytes(macToBytes(mac))).toBe(mac);
  expect(isGroupMac(MAC_BROADCAST)).toBe(true);
  expect(isGroupMac(mac)).toBe(false);
  for (const bad of ['', '02:00:5e:10:00', '02:00:5e:10:00:0g', '2:0:5e:10:0:1'])
    expect(parseMac(bad).problem).toBeDefined();
});

test('names', () => {
  expect(must(parseNodeName('node-1.example'))).toBe('node-1.example');
  for (const bad of ['', 'Node', '-a', 'a_', 'a..b', 'x'.repeat(254)]) expect(parseNodeName(bad).problem).toBeDefined();
  expect(must(parseInterfaceName('eth0.100'))).toBe('eth0.100');
  for (const bad of ['', '.', '..', 'a b', 'a"b', 'a/b', 'a;b', 'sixteen-letters-']) {
    expect(parseInterfaceName(bad).problem).toBeDefined();
  }
});

test('a VIP is a unicast address that clients can route to', () => {
  expect(must(parseVip('203.0.113.10'))).toBe('203.0.113.10');
  expect(must(parseVip('2001:db8::1'))).toBe('2001:db8::1');
  for (const bad of [
    '0.0.0.0',
    '::',
    '127.0.0.1',
    '::1',
    '224.0.0.5',
    'ff02::5',
    '169.254.1.1',
    'fe80::1',
    '255.255.255.255',
    '::ffff:1.2.3.4',
  ]) {
    expect(parseVip(bad).problem?.fix).toMatch(/unicast/);
  }
});
