import { isIPv4, isIPv6 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  compareIps,
  familyOf,
  type Ip,
  ipFromBigInt,
  ipFromBytes,
  ipToBigInt,
  ipToBytes,
  isLinkLocal,
  isLoopback,
  isMulticast,
  isV4Mapped,
  parseIp,
} from './ip.ts';
import { must } from './result.ts';

const ip = (text: string): Ip => must(parseIp(text));

describe('parseIp', () => {
  test.each([
    ['203.0.113.10', '203.0.113.10'],
    ['0.0.0.0', '0.0.0.0'],
    ['2001:DB8::10', '2001:db8::10'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['::ffff:192.0.2.1', '::ffff:c000:201'],
    ['0:0:0:0:0:0:0:0', '::'],
  ])('%s is %s (RFC 5952)', (text, canonical) => {
    expect(ip(text)).toBe(canonical);
  });

  test.each([
    '',
    '1.2.3',
    '1.2.3.4.5',
    '01.2.3.4',
    '256.1.1.1',
    '1.2.3.4 ',
    ':',
    ':::',
    '1:2',
    '1::2::3',
    '12345::',
    'fe80::1%eth0',
    '1:2:3:4:5:6:7::8',
    '1.2.3.4:',
    '::1.2.3',
    'g::',
  ])('%j is refused', (text) => {
    expect(parseIp(text, 'spec.address').problem?.field).toBe('spec.address');
  });

  test('accepts what Node accepts and refuses the rest', () => {
    const alphabet = fc.constantFrom(...'0123456789abcf:.'.split(''));
    fc.assert(
      fc.property(fc.string({ unit: alphabet, maxLength: 20 }), (text) => {
        const accepted = parseIp(text).problem === undefined;
        expect(accepted).toBe(isIPv4(text) || isIPv6(text));
      }),
      { numRuns: 2000 },
    );
  });
});

test('bytes, numbers and text are the same address', () => {
  const lengths = fc.constantFrom(4, 16);
  fc.assert(
    fc.property(
      lengths.chain((n) => fc.uint8Array({ minLength: n, maxLength: n })),
      (bytes) => {
        const address = ipFromBytes(bytes);
        expect(ip(address)).toBe(address);
        expect(ipToBytes(address)).toEqual(bytes);
        expect(ipFromBigInt(ipToBigInt(address), familyOf(address))).toBe(address);
      },
    ),
  );
});

test('order is IPv4 first, then by number', () => {
  const sorted = ['10.0.0.2', '10.0.0.10', '::1', '2001:db8::9', '2001:db8::10'].map(ip);
  expect([...sorted].reverse().sort(compareIps)).toEqual(sorted);
});

test('kinds of addresses', () => {
  expect(isMulticast(ip('224.0.0.1'))).toBe(true);
  expect(isMulticast(ip('ff02::1'))).toBe(true);
  expect(isMulticast(ip('203.0.113.1'))).toBe(false);
  expect(isLoopback(ip('127.8.8.8'))).toBe(true);
  expect(isLoopback(ip('::1'))).toBe(true);
  expect(isLinkLocal(ip('169.254.1.1'))).toBe(true);
  expect(isLinkLocal(ip('febf::1'))).toBe(true);
  expect(isLinkLocal(ip('fec0::1'))).toBe(false);
  expect(isV4Mapped(ip('::ffff:192.0.2.1'))).toBe(true);
  expect(isV4Mapped(ip('::fffe:192.0.2.1'))).toBe(false);
});
