import { describe, expect, test } from 'vitest';
import { Cursor } from '../../../net/cursor.ts';
import { expand } from '../../../test/vectors/bgp.ts';
import { externalSession } from '../testing/sessions.ts';
import { as4Path, asPath, asPathLength, joinSequences } from './as-path.ts';

const session = externalSession(65_001);
const old = externalSession(65_001, { fourOctetAs: false });

describe('AS_PATH is malformed', () => {
  test.each([
    ['02', 'the segment 1 is cut short'],
    ['0202 0000fde9', 'the segment 1 is cut short'],
    ['0201 0000fde9 0101', 'the segment 2 is cut short'],
    ['0200', 'the segment 1 is empty'],
    ['0001 0000fde9', 'the segment type 0 is unknown here'],
    ['0301 0000fde9', 'the segment type 3 is unknown here'],
    ['0401 0000fde9', 'the segment type 4 is unknown here'],
    ['0201 00000000', 'it contains AS 0'],
  ])('%s: %s', (hex, problem) => {
    expect(asPath.decode(new Cursor(expand(hex)), session)).toEqual({ problem });
  });
});

test('AS_PATH is read in the width of the session', () => {
  const two = [{ kind: 'AS_SEQUENCE', asns: [65_001, 65_002] }];
  expect(asPath.decode(new Cursor(expand('0202 fde9 fdea')), old)).toEqual({ ok: two });
  expect(asPath.decode(new Cursor(expand('0202 0000fde9 0000fdea')), session)).toEqual({ ok: two });
});

test('confederation segments in AS4_PATH are passed over (RFC 6793 section 6)', () => {
  const value = expand('0301 0000fde9 0201 fa56ea01 0401 0000fde9');
  expect(as4Path.decode(new Cursor(value), old)).toEqual({ ok: [{ kind: 'AS_SEQUENCE', asns: [4_200_000_001] }] });
  expect(as4Path.decode(new Cursor(expand('0201 00000000')), old)).toEqual({ problem: 'it contains AS 0' });
});

test('a path to a speaker of two octets has AS_TRANS', () => {
  const path = [{ kind: 'AS_SEQUENCE' as const, asns: [4_200_000_001, 1] }];
  expect(asPath.encode(path, old)).toEqual(expand('0202 5ba0 0001'));
  expect(as4Path.encode(path, old)).toEqual(expand('0202 fa56ea01 00000001'));
});

test('a segment has 1 to 255 AS numbers', () => {
  const segment = (length: number) => [{ kind: 'AS_SEQUENCE' as const, asns: Array.from({ length }, () => 1) }];
  expect(() => asPath.encode(segment(0), session)).toThrow(RangeError);
  expect(() => asPath.encode(segment(256), session)).toThrow(RangeError);
  expect(joinSequences([...segment(200), ...segment(55)])).toEqual(segment(255));
  expect(joinSequences([...segment(200), ...segment(56)])).toEqual([...segment(200), ...segment(56)]);
  expect(asPathLength([...segment(3), { kind: 'AS_SET', asns: [1, 2] }])).toBe(4);
});
