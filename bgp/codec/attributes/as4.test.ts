import { describe, expect, test } from 'vitest';
import type { IpV4 } from '../../../net/ip.ts';
import { externalSession } from '../testing/sessions.ts';
import type { AsPathSegment } from '../types.ts';
import { addAs4, mergeAs4 } from './as4.ts';

const AS_TRANS = 23_456;
const address = '192.0.2.1' as IpV4;

function sequence(...asns: number[]): AsPathSegment {
  return { kind: 'AS_SEQUENCE', asns };
}

function set(...asns: number[]): AsPathSegment {
  return { kind: 'AS_SET', asns };
}

describe('from a speaker of two-octet AS numbers (RFC 6793 section 4.2.3)', () => {
  test('AS4_PATH replaces the end of AS_PATH', () => {
    const asPath = [sequence(1, 2, AS_TRANS, 4)];
    expect(mergeAs4({ asPath, as4Path: [sequence(100_000, 4)] }).asPath).toEqual([sequence(1, 2, 100_000, 4)]);
  });

  test('a set counts once', () => {
    const asPath = [sequence(1, AS_TRANS), set(3, AS_TRANS)];
    expect(mergeAs4({ asPath, as4Path: [sequence(100_000), set(3, 200_000)] }).asPath).toEqual([
      sequence(1, 100_000),
      set(3, 200_000),
    ]);
    expect(mergeAs4({ asPath, as4Path: [set(3, 200_000)] }).asPath).toEqual([sequence(1, AS_TRANS), set(3, 200_000)]);
  });

  test('an AS4_PATH longer than AS_PATH is ignored', () => {
    expect(mergeAs4({ asPath: [sequence(1)], as4Path: [sequence(100_000, 2)] }).asPath).toEqual([sequence(1)]);
  });

  test('an AGGREGATOR that is not AS_TRANS makes both AS4 attributes void', () => {
    const values = {
      asPath: [sequence(1, AS_TRANS)],
      as4Path: [sequence(100_000)],
      as4Aggregator: { asn: 100_000, address },
    };
    expect(mergeAs4({ ...values, aggregator: { asn: 7, address } })).toEqual({
      asPath: values.asPath,
      aggregator: { asn: 7, address },
    });
    expect(mergeAs4({ ...values, aggregator: { asn: AS_TRANS, address } })).toEqual({
      asPath: [sequence(1, 100_000)],
      aggregator: { asn: 100_000, address },
    });
    expect(mergeAs4(values)).toEqual({ asPath: [sequence(1, 100_000)] });
  });
});

test('to such a speaker AS4 attributes go along only where they are needed (section 4.2.2)', () => {
  const old = externalSession(1, { fourOctetAs: false });
  const small = { asPath: [sequence(1, 2)], aggregator: { asn: 3, address } };
  const large = { asPath: [sequence(1, 100_000)], aggregator: { asn: 200_000, address } };
  expect(addAs4(small, old)).toEqual(small);
  expect(addAs4(large, externalSession(1))).toEqual(large);
  expect(addAs4(large, old)).toEqual({ ...large, as4Path: large.asPath, as4Aggregator: large.aggregator });
});
