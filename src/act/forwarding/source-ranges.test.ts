import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ipFromBigInt } from '../../../net/ip.ts';
import { makePrefix, prefixContains, prefixRange, rangesOverlap } from '../../../net/prefix.ts';
import { disjointPrefixes } from './source-ranges.ts';

/** Within 192.0.2.0/24, where they often overlap, and so that each of its addresses can be tried. */
const network = fc
  .record({ host: fc.integer({ min: 0, max: 255 }), length: fc.integer({ min: 24, max: 32 }) })
  .map(({ host, length }) => makePrefix(ipFromBigInt(0xc0000200n + BigInt(host), 'IPv4'), length));

describe('disjoint prefixes', () => {
  test('cover the same addresses and do not overlap', () => {
    fc.assert(
      fc.property(fc.array(network, { maxLength: 8 }), (networks) => {
        const disjoint = disjointPrefixes(networks, 'IPv4');
        for (let host = 0n; host < 256n; host++) {
          const client = ipFromBigInt(0xc0000200n + host, 'IPv4');
          const admits = (prefix: (typeof networks)[number]) => prefixContains(prefix, client);
          expect(disjoint.filter(admits)).toHaveLength(networks.some(admits) ? 1 : 0);
        }
        disjoint.forEach((a, i) =>
          disjoint.slice(i + 1).forEach((b) => expect(rangesOverlap(prefixRange(a), prefixRange(b))).toBe(false)),
        );
      }),
      { numRuns: 40 },
    );
  });

  test.each([
    [['10.0.0.0/8', '11.0.0.0/8'], 'IPv4', ['10.0.0.0/7']],
    [['0.0.0.0/0', '10.0.0.0/8'], 'IPv4', ['0.0.0.0/0']],
    [['::/0'], 'IPv6', ['::/0']],
    [['2001:db8::/33', '2001:db8:8000::/33'], 'IPv6', ['2001:db8::/32']],
    [['10.0.0.0/8', '2001:db8::/32', 'anybody', '10.0.0.1/8', ''], 'IPv4', ['10.0.0.0/8']],
  ] as const)('of %j in %s are %j', (ranges, family, expected) => {
    expect(disjointPrefixes(ranges, family)).toEqual(expected);
  });
});
