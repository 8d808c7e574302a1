import { describe, expect, test } from 'vitest';
import type { IpV4, IpV6 } from '../../../net/ip.ts';
import type { Prefix } from '../../../net/prefix.ts';
import { expand } from '../../../test/vectors/bgp.ts';
import { MessageType } from '../constants.ts';
import { type Decoded, describeError } from '../errors.ts';
import { frame } from '../header.ts';
import { nlriOf, prefixesOf } from '../nlri.ts';
import { externalSession, internalSession } from '../testing/sessions.ts';
import type { PathAttributes, Role, SessionParameters, Update } from '../types.ts';
import { hardReset } from './notification.ts';
import { decodeMessage, encodeMessage } from './table.ts';

const PEER = 65_001;
const session = externalSession(PEER);
const V4 = nlriOf('IPv4', ['203.0.113.9/32' as Prefix]);
const V6 = nlriOf('IPv6', ['2001:db8::9/128' as Prefix]);
const HOP_V4 = { address: '192.0.2.1' as IpV4 };
const HOP_V6 = { address: '2001:db8::1' as IpV6 };

function announcing(
  attributes: PathAttributes,
  announced: Update['announced'] = [{ nlri: V4, nextHop: HOP_V4 }],
): Update {
  return { type: 'UPDATE', withdrawn: [], announced, attributes: { origin: 'IGP', ...attributes } };
}

/** As `sender` would write it, read with `session`. */
function received(update: Update, reader: SessionParameters, sender = reader): Decoded {
  return decodeMessage(encodeMessage(update, sender), reader);
}

function words({ errors }: Decoded): readonly string[] {
  return errors.map(describeError);
}

const own: PathAttributes = { asPath: [{ kind: 'AS_SEQUENCE', asns: [PEER] }] };

describe('the first AS number is the peer (RFC 4271 section 6.3)', () => {
  const strange: PathAttributes = { asPath: [{ kind: 'AS_SEQUENCE', asns: [7, PEER] }] };
  const set: PathAttributes = { asPath: [{ kind: 'AS_SET', asns: [PEER] }] };

  test.each([strange, set, { asPath: [] }])('%j is withdrawn', (attributes) => {
    const decoded = received(announcing(attributes), session);
    expect(words(decoded)).toEqual(["malformed AS_PATH: it does not begin with the peer's AS 65001"]);
  });

  test('not within an AS, nor from a route server', () => {
    expect(words(received(announcing({ ...strange, localPreference: 100 }), internalSession(PEER)))).toEqual([]);
    expect(words(received(announcing(strange), { ...session, role: 'route-server-client' }))).toEqual([]);
  });
});

describe('next hops', () => {
  const extended = { ...session, extendedNextHop: true };

  test('IPv4 routes have IPv6 ones where that was negotiated (RFC 8950)', () => {
    const update = announcing(own, [{ nlri: V4, nextHop: { ...HOP_V6, linkLocal: 'fe80::1' as IpV6 } }]);
    expect(received(update, extended)).toEqual({ outcome: 'message', message: update, errors: [] });
    expect(received(update, session, extended)).toMatchObject({
      outcome: 'session-reset',
      notification: { code: 3, subcode: 9 },
    });
  });

  test('a NEXT_HOP without routes in the NLRI field is passed over (RFC 4760 section 3)', () => {
    const body = announcing(own, [{ nlri: V6, nextHop: HOP_V6 }]);
    const bytes = encodeMessage(body, session);
    const nextHop = expand('400304e0000001');
    const grown = Uint8Array.of(...bytes, ...nextHop);
    new DataView(grown.buffer).setUint16(16, grown.length);
    new DataView(grown.buffer).setUint16(21, grown.length - 23);
    expect(decodeMessage(grown, session)).toEqual({ outcome: 'message', message: body, errors: [] });
  });

  test.each(['0.0.0.0', '127.0.0.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'])('%s withdraws', (address) => {
    const decoded = received(announcing(own, [{ nlri: V4, nextHop: { address: address as IpV4 } }]), session);
    expect(decoded.errors).toEqual([{ kind: 'unusable-next-hop', detail: expect.stringContaining(address) as string }]);
  });

  test.each(['::', '::1', 'ff02::1'])('%s withdraws', (address) => {
    const decoded = received(announcing(own, [{ nlri: V6, nextHop: { address: address as IpV6 } }]), session);
    expect(decoded.errors).toEqual([{ kind: 'unusable-next-hop', detail: expect.stringContaining(address) as string }]);
  });
});

describe('only to customers (RFC 9234 section 5)', () => {
  const marked = { ...own, onlyToCustomer: 7 };
  const leaks = (role: Role, attributes: PathAttributes) =>
    received(announcing(attributes), { ...session, role }).errors.some(({ kind }) => kind === 'route-leak');

  test.each([
    ['provider', true],
    ['route-server', true],
    ['peer', true],
    ['customer', false],
    ['route-server-client', false],
  ] as const)('to us as %s a marked route is a leak: %s', (role, expected) => {
    expect(leaks(role, marked)).toBe(expected);
    expect(leaks(role, own)).toBe(false);
  });

  test('a peer may send what it marked itself', () => {
    expect(leaks('peer', { ...own, onlyToCustomer: PEER })).toBe(false);
  });

  test('within an AS there are no leaks', () => {
    const update = announcing({ ...marked, localPreference: 100 });
    expect(words(received(update, internalSession(PEER, { role: 'provider' })))).toEqual([]);
  });
});

describe('families that were not negotiated are passed over', () => {
  const update: Update = {
    ...announcing(own, [
      { nlri: V4, nextHop: HOP_V4 },
      { nlri: V6, nextHop: HOP_V6 },
    ]),
    withdrawn: [V4, V6],
  };

  test.each(['IPv4', 'IPv6'] as const)('%s alone is carried', (family) => {
    const decoded = received(update, { ...session, families: [family] }, session);
    if (decoded.outcome !== 'message' || decoded.message.type !== 'UPDATE') throw new Error(decoded.outcome);
    expect(decoded.message.announced.map(({ nlri }) => nlri.family)).toEqual([family]);
    expect(decoded.message.withdrawn.map((nlri) => nlri.family)).toEqual([family]);
    const other = { kind: 'family-not-negotiated', afi: family === 'IPv4' ? 2 : 1, safi: 1 };
    expect(decoded.errors).toEqual([other, other]);
  });

  test('but broken IPv4 fields reset all the same', () => {
    const bytes = expand('ff*16 001a02 0000 0000 21cb00');
    const decoded = decodeMessage(bytes, { ...session, families: ['IPv6'] });
    expect(decoded).toMatchObject({ outcome: 'session-reset', notification: { code: 3, subcode: 10 } });
  });
});

test('a NOTIFICATION quotes the whole attribute (RFC 4271 section 6.3)', () => {
  const bytes = expand('ff*16 001d02 0000 0006 40630301020300');
  const quoted = expand('406303010203');
  const notification = { code: 3, subcode: 2, data: quoted };
  expect(decodeMessage(bytes.with(17, bytes.length), session)).toMatchObject({
    outcome: 'session-reset',
    notification,
  });
});

test('a NOTIFICATION is never longer than a message may be', () => {
  const refresh = frame(MessageType['ROUTE-REFRESH'], new Uint8Array(4077));
  const decoded = decodeMessage(refresh, session);
  if (decoded.outcome !== 'session-reset') throw new Error(decoded.outcome);
  expect(decoded.notification).toMatchObject({ code: 7, subcode: 1, data: refresh.subarray(0, 4075) });
  expect(encodeMessage(decoded.notification, session)).toHaveLength(4096);
  expect(encodeMessage(hardReset(decoded.notification), session)).toHaveLength(4096);
});

test('several errors are all told, and the strongest reaction holds (RFC 7606 section 3 (h))', () => {
  // ORIGIN twice, NEXT_HOP of five octets, MP_REACH_NLRI cut short.
  const attributes = expand('40010100 40010102 40020602010000fde9 400305c000020100 800e03000201');
  const body = Uint8Array.of(0, 0, 0, attributes.length, ...attributes, ...V4.bytes);
  const bytes = Uint8Array.of(...expand('ff*16'), 0, 19 + body.length, 2, ...body);
  const decoded = decodeMessage(bytes, session);
  expect(decoded).toMatchObject({ outcome: 'session-reset', notification: { code: 3, subcode: 9 } });
  expect(decoded.errors.map(({ kind }) => kind).sort()).toEqual([
    'duplicate-attribute',
    'malformed-attribute',
    'optional-attribute',
  ]);
});

test('an UPDATE holds one next hop of each form', () => {
  const two = [
    { nlri: V6, nextHop: HOP_V6 },
    { nlri: V6, nextHop: { address: '2001:db8::2' as IpV6 } },
  ];
  expect(() => encodeMessage(announcing(own, two), session)).toThrow(RangeError);
});

test('treat-as-withdraw withdraws what was announced and what was withdrawn', () => {
  const update: Update = {
    ...announcing({}, [
      { nlri: V4, nextHop: HOP_V4 },
      { nlri: V6, nextHop: HOP_V6 },
    ]),
    withdrawn: [nlriOf('IPv4', ['198.51.100.0/24' as Prefix])],
  };
  const decoded = received(update, session);
  if (decoded.outcome !== 'message' || decoded.message.type !== 'UPDATE') throw new Error(decoded.outcome);
  expect(decoded.message.announced).toEqual([]);
  expect(decoded.message.attributes).toEqual({});
  const gone = decoded.message.withdrawn.flatMap((nlri) => [...prefixesOf(nlri)]);
  expect(gone).toEqual(['198.51.100.0/24', '203.0.113.9/32', '2001:db8::9/128']);
});
