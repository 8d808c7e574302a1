import { type Cursor, Writer } from '../../../net/cursor.ts';
import type { Result } from '../../../net/result.ts';
import { AS_TRANS, AttributeFlag, AttributeType } from '../constants.ts';
import type { Asn, AsPathSegment } from '../types.ts';
import type { AttributeCodec } from './attribute.ts';

/** RFC 4271 section 4.3 (b). */
const SEGMENT_KINDS: Readonly<Record<number, AsPathSegment['kind']>> = { 1: 'AS_SET', 2: 'AS_SEQUENCE' };
const SEGMENT_TYPES = { AS_SET: 1, AS_SEQUENCE: 2 } as const;
/** AS_CONFED_SEQUENCE and AS_CONFED_SET (RFC 5065 section 3). */
const CONFEDERATION_TYPES: readonly number[] = [3, 4];

/** RFC 4271 section 4.3 (b); RFC 7606 section 7.2; AS 0: RFC 7607 section 2. */
export const asPath: AttributeCodec<readonly AsPathSegment[]> = {
  type: AttributeType.AS_PATH,
  name: 'AS_PATH',
  flags: AttributeFlag.TRANSITIVE,
  malformed: 'treat-as-withdraw',
  decode: (value, session) => readSegments(value, session.fourOctetAs ? 4 : 2, false),
  encode: (segments, session) => writeSegments(segments, session.fourOctetAs ? 4 : 2),
};

/** RFC 6793 sections 3 and 6: from a speaker of two-octet AS numbers alone; malformed, it is discarded. */
export const as4Path: AttributeCodec<readonly AsPathSegment[]> = {
  type: AttributeType.AS4_PATH,
  name: 'AS4_PATH',
  flags: AttributeFlag.OPTIONAL | AttributeFlag.TRANSITIVE,
  malformed: 'attribute-discard',
  unexpected: (session) => (session.fourOctetAs ? 'the peer speaks four-octet AS numbers' : undefined),
  decode: (value) => (value.remaining === 0 ? { problem: 'it is empty' } : readSegments(value, 4, true)),
  encode: (segments) => writeSegments(segments, 4),
};

/** @param dropConfederation RFC 6793 section 6 passes over confederation segments; elsewhere they are malformed. */
function readSegments(value: Cursor, width: 2 | 4, dropConfederation: boolean): Result<AsPathSegment[], string> {
  const segments: AsPathSegment[] = [];
  while (value.remaining > 0) {
    const type = value.u8() as number;
    const count = value.u8();
    const body = count === undefined ? undefined : value.sub(count * width);
    if (body === undefined) return { problem: `the segment ${segments.length + 1} is cut short` };
    if (count === 0) return { problem: `the segment ${segments.length + 1} is empty` };
    if (dropConfederation && CONFEDERATION_TYPES.includes(type)) continue;
    const kind = SEGMENT_KINDS[type];
    if (kind === undefined) return { problem: `the segment type ${type} is unknown here` };
    const asns = Array.from({ length: count as number }, () => (width === 4 ? body.u32() : body.u16()) as number);
    if (asns.includes(0)) return { problem: 'it contains AS 0' };
    segments.push({ kind, asns });
  }
  return { ok: segments };
}

function writeSegments(segments: readonly AsPathSegment[], width: 2 | 4): Uint8Array {
  const out = new Writer();
  for (const { kind, asns } of segments) {
    if (asns.length < 1 || asns.length > 255) throw new RangeError(`a segment of ${asns.length} AS numbers`);
    out.u8(SEGMENT_TYPES[kind]).u8(asns.length);
    for (const asn of asns) {
      if (width === 4) out.u32(asn);
      else out.u16(twoOctetAs(asn));
    }
  }
  return out.finish();
}

/** RFC 6793 section 4.2.2. */
export function twoOctetAs(asn: Asn): number {
  return asn > 0xffff ? AS_TRANS : asn;
}

/** AS numbers for the comparison of lengths: a set counts once (RFC 4271 section 9.1.2.2 (a)). */
export function asPathLength(path: readonly AsPathSegment[]): number {
  return path.reduce((sum, { kind, asns }) => sum + (kind === 'AS_SET' ? 1 : asns.length), 0);
}

/** Adjoining sequences as one, as long as it fits in a segment. */
export function joinSequences(segments: readonly AsPathSegment[]): AsPathSegment[] {
  const joined: AsPathSegment[] = [];
  for (const segment of segments) {
    const last = joined.at(-1);
    const fits =
      last?.kind === 'AS_SEQUENCE' && segment.kind === 'AS_SEQUENCE' && last.asns.length + segment.asns.length <= 255;
    if (fits) joined[joined.length - 1] = { kind: 'AS_SEQUENCE', asns: [...last.asns, ...segment.asns] };
    else joined.push(segment);
  }
  return joined;
}
