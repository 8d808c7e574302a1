import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type IpFamily, type IpV4, type IpV6, ipToBytes } from '../../net/ip.ts';
import { type Prefix, prefixAddress, prefixLength } from '../../net/prefix.ts';
import { decodeMessage, encodeMessage } from './messages/table.ts';
import { endOfRib, endOfRibUpdate } from './messages/update.ts';
import { nlriOf, prefixesOf } from './nlri.ts';
import { encodeUpdates, encodeWithdrawals, type PackedUpdate, type RouteGroup } from './pack.ts';
import { prefixSize, writePrefix } from './prefix-bytes.ts';
import { prefix } from './testing/arbitraries.ts';
import { externalSession } from './testing/sessions.ts';
import type { SessionParameters, Update } from './types.ts';

const session = externalSession(65_001, { extendedNextHop: true });
const attributes: RouteGroup['attributes'] = { origin: 'IGP', asPath: [{ kind: 'AS_SEQUENCE', asns: [65_001] }] };
const V4 = { address: '192.0.2.1' as IpV4 };
const V6 = { address: '2001:db8::1' as IpV6, linkLocal: 'fe80::1' as IpV6 };

function hosts(count: number, family: IpFamily): Prefix[] {
  return Array.from({ length: count }, (_, i) =>
    family === 'IPv4'
      ? (`10.${i >> 16}.${(i >> 8) & 0xff}.${i & 0xff}/32` as Prefix)
      : (`2001:db8:5::${((i >> 16) + 1).toString(16)}:${(i & 0xffff || 1).toString(16)}/128` as Prefix),
  );
}

function decoded({ bytes }: PackedUpdate, parameters: SessionParameters = session): Update {
  const result = decodeMessage(bytes, parameters);
  if (result.outcome !== 'message' || result.message.type !== 'UPDATE') throw new Error(result.outcome);
  expect(result.errors).toEqual([]);
  return result.message;
}

describe('50,000 routes', () => {
  const prefixes = hosts(50_000, 'IPv4');

  test('announced are 62 UPDATEs of 252,666 octets', () => {
    const updates = [...encodeUpdates({ family: 'IPv4', nextHop: V4, attributes }, prefixes, session)];
    expect(updates).toHaveLength(62);
    expect(updates[0]?.count).toBe(810);
    expect(updates.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBe(252_666);
    const routes = updates.flatMap((update) => decoded(update).announced.flatMap(({ nlri }) => [...prefixesOf(nlri)]));
    expect(routes).toEqual(prefixes);
  });

  test('withdrawn are 814 an UPDATE', () => {
    const updates = [...encodeWithdrawals('IPv4', prefixes, session)];
    expect(updates).toHaveLength(62);
    expect(updates[0]?.count).toBe(814);
    expect(updates.flatMap((update) => decoded(update).withdrawn.flatMap((nlri) => [...prefixesOf(nlri)]))).toEqual(
      prefixes,
    );
  });

  test('fit in 4 extended messages', () => {
    const extended = { ...session, extendedMessage: true };
    const updates = [...encodeUpdates({ family: 'IPv4', nextHop: V4, attributes }, prefixes, extended)];
    expect(updates).toHaveLength(4);
    expect(updates[0]?.bytes.length).toBeLessThanOrEqual(65_535);
  });
});

test('IPv6 hosts: 237 announced and 239 withdrawn an UPDATE', () => {
  const prefixes = hosts(500, 'IPv6');
  const nextHop = { address: V6.address };
  expect([...encodeUpdates({ family: 'IPv6', nextHop, attributes }, prefixes, session)][0]?.count).toBe(237);
  expect([...encodeWithdrawals('IPv6', prefixes, session)][0]?.count).toBe(239);
});

const GROUPS: readonly RouteGroup[] = [
  { family: 'IPv4', nextHop: V4, attributes },
  { family: 'IPv4', nextHop: V6, attributes },
  { family: 'IPv6', nextHop: V6, attributes: { ...attributes, med: 7, communities: [1, 2, 3] } },
];

test('what is packed is what was given, in its order, and each UPDATE but the last is full', () => {
  const cases = fc
    .constantFrom(...GROUPS)
    .chain((g) => fc.record({ group: fc.constant(g), prefixes: fc.array(prefix(g.family), { maxLength: 1200 }) }));
  fc.assert(
    fc.property(cases, ({ group: g, prefixes }) => {
      const updates = [...encodeUpdates(g, prefixes, session)];
      let taken = 0;
      for (const update of updates) {
        const { announced, withdrawn, attributes: got } = decoded(update);
        expect({ withdrawn, got }).toEqual({ withdrawn: [], got: g.attributes });
        expect(announced.map(({ nextHop }) => nextHop)).toEqual([g.nextHop]);
        expect(announced.flatMap(({ nlri }) => [...prefixesOf(nlri)])).toEqual(
          prefixes.slice(taken, taken + update.count),
        );
        taken += update.count;
        const following = prefixes[taken];
        expect(update.bytes.length).toBeLessThanOrEqual(4096);
        if (following !== undefined) expect(update.bytes.length + prefixSize(following)).toBeGreaterThan(4096);
      }
      expect(taken).toBe(prefixes.length);
    }),
    { numRuns: 30 },
  );
});

test.each(GROUPS)('one UPDATE is what the message codec writes: $family by $nextHop.address', (group) => {
  const prefixes = hosts(40, group.family);
  const [packed] = encodeUpdates(group, prefixes, session);
  const announced = [{ nlri: nlriOf(group.family, prefixes), nextHop: group.nextHop }];
  const message: Update = { type: 'UPDATE', withdrawn: [], announced, attributes: group.attributes };
  expect(packed && decoded(packed)).toEqual(message);
  // The packer always writes two octets of length for MP_REACH_NLRI.
  if (group.nextHop === V4) expect(packed?.bytes).toEqual(encodeMessage(message, session));
});

test('packing is as lazy as its consumer', () => {
  let pulled = 0;
  const prefixes = (function* () {
    for (const host of hosts(50_000, 'IPv4')) {
      pulled++;
      yield host;
    }
  })();
  const updates = encodeUpdates({ family: 'IPv4', nextHop: V4, attributes }, prefixes, session);
  updates.next();
  expect(pulled).toBe(811);
});

test('attributes that fill the message are refused', () => {
  const communities = Array.from({ length: 1020 }, (_, i) => i);
  const large: RouteGroup = { family: 'IPv4', nextHop: V4, attributes: { ...attributes, communities } };
  expect(() => [...encodeUpdates(large, hosts(1, 'IPv4'), session)]).toThrow(RangeError);
});

test('a next hop that the session does not carry is refused', () => {
  const plain = { ...session, extendedNextHop: false };
  const v4ByV6: RouteGroup = { family: 'IPv4', nextHop: V6, attributes };
  const v6ByV4: RouteGroup = { family: 'IPv6', nextHop: V4, attributes };
  expect(() => [...encodeUpdates(v4ByV6, hosts(1, 'IPv4'), plain)]).toThrow(RangeError);
  expect(() => [...encodeUpdates(v6ByV4, hosts(1, 'IPv6'), session)]).toThrow(RangeError);
});

test.each(['IPv4', 'IPv6'] as const)('the End-of-RIB of %s', (family) => {
  const bytes = encodeMessage(endOfRibUpdate(family), session);
  expect(bytes).toHaveLength(family === 'IPv4' ? 23 : 29);
  expect(endOfRib(decoded({ bytes, count: 0 }))).toBe(family);
});

test('an UPDATE of a family that was not negotiated is no End-of-RIB', () => {
  const bytes = encodeMessage(endOfRibUpdate('IPv6'), session);
  const result = decodeMessage(bytes, { ...session, families: ['IPv4'] });
  expect(result).toMatchObject({ outcome: 'message', errors: [{ kind: 'family-not-negotiated', afi: 2, safi: 1 }] });
  expect(result.outcome === 'message' && result.message.type === 'UPDATE' && endOfRib(result.message)).toBe(undefined);
});

describe('prefixes as octets', () => {
  test.each(['IPv4', 'IPv6'] as const)('%s: the fast writer does as the general parser does', (family) => {
    fc.assert(
      fc.property(prefix(family), (text) => {
        const octets = Math.ceil(prefixLength(text) / 8);
        const naive = Uint8Array.of(prefixLength(text), ...ipToBytes(prefixAddress(text)).subarray(0, octets));
        const fast = new Uint8Array(prefixSize(text));
        expect(writePrefix(text, fast, 0)).toBe(fast.length);
        expect(fast).toEqual(naive);
        expect([...prefixesOf({ family, count: 1, bytes: fast })]).toEqual([text]);
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    '0.0.0.0/0',
    '::/0',
    '::/128',
    '::1/128',
    '2001:db8::/29',
    '1::/16',
    '1:2:3:4:5:6:7:8/128',
    '::ffff:102:304/127',
  ])('%s', (text) => {
    const family = text.includes(':') ? 'IPv6' : 'IPv4';
    expect([...prefixesOf(nlriOf(family, [text as Prefix]))]).toEqual([text]);
  });

  test('bits beyond the length read as zero', () => {
    const bytes = Uint8Array.of(30, 203, 0, 113, 11, 9, 203, 255);
    expect([...prefixesOf({ family: 'IPv4', count: 2, bytes })]).toEqual(['203.0.113.8/30', '203.128.0.0/9']);
  });
});
