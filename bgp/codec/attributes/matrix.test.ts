import { describe, expect, test } from 'vitest';
import { Writer } from '../../../net/cursor.ts';
import { expand } from '../../../test/vectors/bgp.ts';
import { AttributeType, MessageType } from '../constants.ts';
import { strongestReaction } from '../errors.ts';
import { frame } from '../header.ts';
import { decodeMessage } from '../messages/table.ts';
import { externalSession, internalSession } from '../testing/sessions.ts';
import type { SessionParameters } from '../types.ts';

const EXTERNAL = externalSession(65_001);
const INTERNAL = internalSession(65_001);
/** The peer speaks two-octet AS numbers. */
const OLD = externalSession(65_001, { fourOctetAs: false });

/** What becomes of one attribute of an UPDATE that is well formed otherwise. */
const FAULTS = {
  'as it should be': (a: Attribute) => [a],
  'one octet short': (a: Attribute) => [{ ...a, value: a.value.subarray(0, -1) }],
  'one octet long': (a: Attribute) => [{ ...a, value: Uint8Array.of(...a.value, 0xff) }],
  empty: (a: Attribute) => [{ ...a, value: new Uint8Array() }],
  'Optional inverted': (a: Attribute) => [{ ...a, flags: a.flags ^ 0x80 }],
  'Transitive inverted': (a: Attribute) => [{ ...a, flags: a.flags ^ 0x40 }],
  'Partial set': (a: Attribute) => [{ ...a, flags: a.flags | 0x20 }],
  'unused flags set': (a: Attribute) => [{ ...a, flags: a.flags | 0x0f }],
  'length in two octets': (a: Attribute) => [{ ...a, flags: a.flags | 0x10 }],
  twice: (a: Attribute) => [a, a],
  missing: () => [],
} as const;

type Fault = keyof typeof FAULTS;
/** In short: ok, discard, taw (treat-as-withdraw), or the code and subcode of the NOTIFICATION. */
type Expectation = 'ok' | 'discard' | 'taw' | '3/1' | '3/2' | '3/9';

interface Attribute {
  readonly type: number;
  readonly flags: number;
  readonly value: Uint8Array;
}

interface Row extends Partial<Record<Fault, Expectation>> {
  readonly name: string;
  readonly session: SessionParameters;
  readonly attribute: Attribute;
  /** Where a row says nothing. */
  readonly malformed: Expectation;
  readonly missing: Expectation;
}

function attribute(type: number, flags: number, value: string): Attribute {
  return { type, flags, value: expand(value) };
}

const ORIGIN = attribute(1, 0x40, '00');
const AS_PATH = attribute(2, 0x40, '02010000fde9');
const NEXT_HOP = attribute(3, 0x40, 'c0000201');
const LOCAL_PREF = attribute(5, 0x40, '00000064');
const MP_REACH = attribute(14, 0x80, '000201 10 20010db8 00*11 01 00 20 20010db8');

/** What this peer must not send is discarded whatever it is, but wrong flags withdraw the route. */
const DISCARDED = {
  malformed: 'discard',
  missing: 'ok',
  'as it should be': 'discard',
  'Partial set': 'discard',
  'unused flags set': 'discard',
  'length in two octets': 'discard',
} as const;

const ROWS: readonly Row[] = [
  // RFC 7606 section 7.1.
  { name: 'ORIGIN', session: EXTERNAL, attribute: ORIGIN, malformed: 'taw', missing: 'taw' },
  // RFC 7606 section 7.2; RFC 4271 section 6.3 for the first AS number.
  { name: 'AS_PATH', session: EXTERNAL, attribute: AS_PATH, malformed: 'taw', missing: 'taw' },
  { name: 'AS_PATH from iBGP', session: INTERNAL, attribute: AS_PATH, malformed: 'taw', missing: 'taw', empty: 'ok' },
  {
    name: 'AS_PATH of two octets',
    session: OLD,
    attribute: attribute(2, 0x40, '0201fde9'),
    malformed: 'taw',
    missing: 'taw',
  },
  // RFC 7606 section 7.3.
  { name: 'NEXT_HOP', session: EXTERNAL, attribute: NEXT_HOP, malformed: 'taw', missing: 'taw' },
  // RFC 7606 section 7.4.
  {
    name: 'MULTI_EXIT_DISC',
    session: EXTERNAL,
    attribute: attribute(4, 0x80, '00000001'),
    malformed: 'taw',
    missing: 'ok',
  },
  // RFC 7606 section 7.5.
  { name: 'LOCAL_PREF from iBGP', session: INTERNAL, attribute: LOCAL_PREF, malformed: 'taw', missing: 'taw' },
  {
    name: 'LOCAL_PREF from eBGP',
    session: EXTERNAL,
    attribute: LOCAL_PREF,
    ...DISCARDED,
  },
  // RFC 7606 section 7.6.
  {
    name: 'ATOMIC_AGGREGATE',
    session: EXTERNAL,
    attribute: attribute(6, 0x40, ''),
    malformed: 'discard',
    missing: 'ok',
    empty: 'ok',
    'one octet short': 'ok',
  },
  // RFC 7606 section 7.7.
  {
    name: 'AGGREGATOR',
    session: EXTERNAL,
    attribute: attribute(7, 0xc0, '0000fde9c0000201'),
    malformed: 'discard',
    missing: 'ok',
  },
  {
    name: 'AGGREGATOR of two octets',
    session: OLD,
    attribute: attribute(7, 0xc0, 'fde9c0000201'),
    malformed: 'discard',
    missing: 'ok',
  },
  // RFC 7606 section 7.8.
  {
    name: 'COMMUNITIES',
    session: EXTERNAL,
    attribute: attribute(8, 0xc0, 'fde90001'),
    malformed: 'taw',
    missing: 'ok',
  },
  // RFC 7606 section 7.9.
  {
    name: 'ORIGINATOR_ID from iBGP',
    session: INTERNAL,
    attribute: attribute(9, 0x80, 'c0000201'),
    malformed: 'taw',
    missing: 'ok',
  },
  {
    name: 'ORIGINATOR_ID from eBGP',
    session: EXTERNAL,
    attribute: attribute(9, 0x80, 'c0000201'),
    ...DISCARDED,
  },
  // RFC 7606 section 7.10.
  {
    name: 'CLUSTER_LIST from iBGP',
    session: INTERNAL,
    attribute: attribute(10, 0x80, 'c0000201'),
    malformed: 'taw',
    missing: 'ok',
  },
  {
    name: 'CLUSTER_LIST from eBGP',
    session: EXTERNAL,
    attribute: attribute(10, 0x80, 'c0000201'),
    ...DISCARDED,
  },
  // RFC 7606 section 7.11 and section 3 (g).
  { name: 'MP_REACH_NLRI', session: EXTERNAL, attribute: MP_REACH, malformed: '3/9', missing: 'ok', twice: '3/1' },
  // RFC 7606 section 7.12.
  {
    name: 'MP_UNREACH_NLRI',
    session: EXTERNAL,
    attribute: attribute(15, 0x80, '000201 20 20010db8'),
    malformed: '3/9',
    missing: 'ok',
    twice: '3/1',
  },
  // RFC 7606 section 7.14.
  {
    name: 'EXTENDED_COMMUNITIES',
    session: EXTERNAL,
    attribute: attribute(16, 0xc0, '0002fde900000064'),
    malformed: 'taw',
    missing: 'ok',
  },
  // RFC 6793 section 6.
  {
    name: 'AS4_PATH',
    session: OLD,
    attribute: attribute(17, 0xc0, '02010000fde9'),
    malformed: 'discard',
    missing: 'ok',
  },
  {
    name: 'AS4_AGGREGATOR',
    session: OLD,
    attribute: attribute(18, 0xc0, '0000fde9c0000201'),
    malformed: 'discard',
    missing: 'ok',
  },
  // RFC 6793 section 4.1.
  {
    name: 'AS4_PATH from a speaker of four octets',
    session: EXTERNAL,
    attribute: attribute(17, 0xc0, '02010000fde9'),
    ...DISCARDED,
  },
  // RFC 9012 section 13.
  {
    name: 'TUNNEL_ENCAPSULATION',
    session: EXTERNAL,
    attribute: attribute(23, 0xc0, '000800020000'),
    malformed: 'taw',
    missing: 'ok',
  },
  // RFC 7606 section 7.15.
  {
    name: 'IPV6_EXTENDED_COMMUNITIES',
    session: EXTERNAL,
    attribute: attribute(25, 0xc0, '0002 20010db8 00*12 0064'),
    malformed: 'taw',
    missing: 'ok',
  },
  // RFC 8092 section 6.
  {
    name: 'LARGE_COMMUNITIES',
    session: EXTERNAL,
    attribute: attribute(32, 0xc0, '0000fde90000000100000002'),
    malformed: 'taw',
    missing: 'ok',
  },
  // RFC 9234 section 5.
  {
    name: 'ONLY_TO_CUSTOMER',
    session: EXTERNAL,
    attribute: attribute(35, 0xc0, '0000fde9'),
    malformed: 'taw',
    missing: 'ok',
  },
  // RFC 4271 section 5: unrecognized.
  {
    name: 'unrecognized, optional',
    session: EXTERNAL,
    attribute: attribute(99, 0xc0, '0102'),
    malformed: 'ok',
    missing: 'ok',
    'Optional inverted': '3/2',
    'Transitive inverted': 'ok',
  },
];

/** Faults that are none, unless the row says otherwise. */
const HARMLESS: readonly Fault[] = ['as it should be', 'Partial set', 'unused flags set', 'length in two octets'];

function expected(row: Row, fault: Fault): Expectation {
  const own = row[fault];
  if (own !== undefined) return own;
  if (HARMLESS.includes(fault)) return 'ok';
  if (fault === 'twice') return 'discard';
  // RFC 7606 section 3 (c).
  return fault === 'Optional inverted' || fault === 'Transitive inverted' ? 'taw' : row.malformed;
}

function bodyOf(attributes: readonly Attribute[], nlri: Uint8Array): Uint8Array {
  const list = new Writer();
  for (const { type, flags, value } of attributes) {
    list.u8(flags).u8(type);
    if ((flags & 0x10) === 0) list.u8(value.length);
    else list.u16(value.length);
    list.bytes(value);
  }
  const bytes = list.finish();
  return new Writer().u16(0).u16(bytes.length).bytes(bytes).bytes(nlri).finish();
}

/** The mandatory attributes of the session, the tested one in its place or behind. */
function attributesWith({ session, attribute: tested }: Row, fault: Fault): readonly Attribute[] {
  const path = session.fourOctetAs ? AS_PATH : attribute(2, 0x40, '0201fde9');
  const mandatory = [ORIGIN, path, NEXT_HOP, ...(session.peering === 'internal' ? [LOCAL_PREF] : [])];
  const others = mandatory.filter(({ type }) => type !== tested.type);
  return [...others, ...FAULTS[fault](tested)];
}

function reaction(body: Uint8Array, session: SessionParameters): string {
  const decoded = decodeMessage(frame(MessageType.UPDATE, body), session);
  if (decoded.outcome === 'session-reset') return `${decoded.notification.code}/${decoded.notification.subcode}`;
  const words = { ignore: 'ok', 'attribute-discard': 'discard', 'treat-as-withdraw': 'taw', 'session-reset': 'reset' };
  return words[strongestReaction(decoded.errors).kind];
}

test('every attribute that is registered has a row', () => {
  const types = new Set<number>(ROWS.map(({ attribute: { type } }) => type));
  expect(Object.values(AttributeType).filter((type) => !types.has(type))).toEqual([]);
});

describe.each(ROWS)('$name', (row) => {
  const faults = Object.keys(FAULTS) as Fault[];
  test.each(faults)('%s', (fault) => {
    const got = reaction(bodyOf(attributesWith(row, fault), expand('20cb007109')), row.session);
    expect(got).toBe(expected(row, fault));
  });

  // RFC 7606 section 5.2.
  test('an error that would withdraw resets where no route is announced', () => {
    const withdraws = faults.filter((fault) => fault !== 'missing' && expected(row, fault) === 'taw');
    const lonely = withdraws.filter((fault) => row.attribute !== MP_REACH && !needsRoute(row, fault));
    const got = lonely.map((fault) => reaction(bodyOf(attributesWith(row, fault), new Uint8Array()), row.session));
    expect(got).toEqual(lonely.map(() => '3/1'));
  });
});

/** Whether an AS_PATH begins with the peer matters only where it has a route. */
function needsRoute({ attribute: { type }, session }: Row, fault: Fault): boolean {
  return type === AS_PATH.type && fault === 'empty' && session.peering === 'external';
}
