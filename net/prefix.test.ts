import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Ip, ipFromBigInt, ipToBigInt, parseIp } from './ip.ts';
import {
  formatRange,
  makePrefix,
  parsePrefix,
  parseRange,
  prefixContains,
  prefixRange,
  rangeContains,
  rangeSize,
  rangesOverlap,
} from './prefix.ts';
import { formatProblem, must } from './result.ts';

const ip = (text: string): Ip => must(parseIp(text));

describe('parsePrefix', () => {
  test.each(['0.0.0.0/0', '203.0.113.0/26', '203.0.113.9/32', '2001:db8::/32', '::/0', '2001:db8::1/128'])(
    '%s',
    (text) => {
      expect(must(parsePrefix(text))).toBe(text);
    },
  );

  test.each(['203.0.113.0', '203.0.113.0/', '203.0.113.0/33', '203.0.113.0/026', '::/129', 'x/8', '1.2.3.4/8/9', '/8'])(
    '%j is refused',
    (text) => {
      expect(parsePrefix(text).problem).toBeDefined();
    },
  );

  test('host bits are named with the network that was meant', () => {
    const refused = parsePrefix('203.0.113.9/26', 'spec.addresses[0]').problem;
    expect(refused && formatProblem(refused)).toBe(
      'spec.addresses[0]: has bits set beyond its prefix length (got "203.0.113.9/26"); write 203.0.113.0/26',
    );
  });
});

test('a prefix holds exactly the addresses that share its leading bits', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 0xffffffffn), fc.bigInt(0n, 0xffffffffn), fc.nat(32), (a, b, length) => {
      const prefix = makePrefix(ipFromBigInt(a, 'IPv4'), length);
      const shift = BigInt(32 - length);
      expect(prefixContains(prefix, ipFromBigInt(b, 'IPv4'))).toBe(a >> shift === b >> shift);
      expect(rangeSize(prefixRange(prefix))).toBe(1n << shift);
    }),
  );
});

describe('parseRange', () => {
  test.each([
    ['203.0.113.10', '203.0.113.10'],
    ['203.0.113.0/30', '203.0.113.0-203.0.113.3'],
    ['203.0.113.100 - 203.0.113.120', '203.0.113.100-203.0.113.120'],
    ['2001:db8::1-2001:db8::f', '2001:db8::1-2001:db8::f'],
  ])('%s is %s', (text, formatted) => {
    expect(formatRange(must(parseRange(text)))).toBe(formatted);
  });

  test('ends before it begins: the fix is the range turned round', () => {
    expect(parseRange('203.0.113.9-203.0.113.1').problem?.fix).toBe('write 203.0.113.1-203.0.113.9');
  });

  test.each(['203.0.113.1-::1', 'a-b', '1.2.3.4-1.2.3.5-1.2.3.6', ''])('%j is refused', (text) => {
    expect(parseRange(text).problem).toBeDefined();
  });
});

test('families never overlap or hold each other', () => {
  const v4 = must(parseRange('0.0.0.0/0'));
  const v6 = must(parseRange('::/0'));
  expect(rangesOverlap(v4, v6)).toBe(false);
  expect(rangeContains(v6, ip('10.0.0.1'))).toBe(false);
  expect(rangesOverlap(must(parseRange('10.0.0.0/30')), must(parseRange('10.0.0.3-10.0.0.9')))).toBe(true);
  expect(ipToBigInt(ip('0.0.1.0'))).toBe(256n);
});
