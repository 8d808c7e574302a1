import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hash32, rendezvousOrder } from './rendezvous.ts';

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
