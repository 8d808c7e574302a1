import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bgpCaptures, bgpVectors, expand } from '../../test/vectors/bgp.ts';
import { type ExplainedMessage, explain } from './explain.ts';
import { frame } from './header.ts';
import { MESSAGES } from './messages/table.ts';
import { externalSession } from './testing/sessions.ts';

/** Name and value of every field but those of the header. */
function body(message: ExplainedMessage | undefined): readonly string[] {
  return message?.fields.slice(3).map(({ name, value }) => `${name}: ${value}`) ?? [];
}

function vector(id: string): Uint8Array {
  const found = bgpVectors().find((v) => v.id === id);
  if (found === undefined) throw new Error(`no vector ${id}`);
  return found.bytes;
}

test('an UPDATE, field by field', () => {
  const [message] = explain(vector('U14'));
  expect(message?.title).toBe('UPDATE');
  expect(message?.fields.map(({ offset }) => offset)).toEqual([0, 16, 18, 19, 21, 23, 27, 36, 43]);
  expect(body(message)).toEqual([
    'withdrawn routes length: 0',
    'total path attribute length: 20',
    'ORIGIN: IGP [optional]',
    'AS_PATH: 65001 [transitive]',
    'NEXT_HOP: 192.0.2.1 [transitive]',
    'NLRI: 203.0.113.9/32',
  ]);
  expect(message?.errors).toEqual([{ text: 'ORIGIN has wrong flags 0x80', reaction: 'all its routes are withdrawn' }]);
  expect(message?.reaction).toBe('all its routes are withdrawn');
});

test('an OPEN', () => {
  const [message] = explain(vector('O18'));
  expect(body(message)).toEqual([
    'version: 4',
    'my AS: 65001',
    'hold time: 90 s',
    'BGP identifier: 10.9.9.77',
    'optional parameters length: 28',
    'capability 1: multiprotocol: IPv4 unicast',
    'capability 1: multiprotocol: IPv6 unicast',
    'capability 2: route refresh',
    'capability 65: four-octet AS number: 65001',
    'capability 69: ADD-PATH, not used: 00010107',
  ]);
  expect(message?.reaction).toBe('accepted');
});

test.each([
  ['N5', 'error: Cease/Hard Reset (6/9), reason Cease/Administrative Reset (6/4)', 'the session ends'],
  ['N3', 'error: Unknown (99/99)', 'the session ends'],
  ['R1', 'family: IPv4 unicast', 'accepted'],
  ['R2', 'family: AFI 25 SAFI 70', 'it is passed over'],
  ['O8', 'version: 4', 'NOTIFICATION Open Message Error'],
])('%s: %s', (id, first, reaction) => {
  const [message] = explain(vector(id));
  expect(body(message)[0]).toBe(first);
  expect(message?.reaction).toContain(reaction.replace('Open Message Error', 'OPEN/Unspecific (2/0), then close'));
});

test('a stream is read with the AS number of its OPEN', () => {
  for (const { speaker, messages } of bgpCaptures()) {
    const explained = explain(Uint8Array.from(messages.flatMap((bytes) => [...bytes])));
    expect(explained.map(({ title }) => title).slice(0, 2)).toEqual(['OPEN', 'KEEPALIVE']);
    expect(explained).toHaveLength(messages.length);
    const inError = explained.flatMap(({ errors }) => errors.map(({ text }) => text));
    expect(inError).toEqual(speaker.startsWith('OpenBGPD') ? ['unusable next hop: ::1 is a loopback address'] : []);
    expect(explained.filter(({ reaction }) => reaction.startsWith('accepted: End-of-RIB'))).toHaveLength(2);
  }
});

describe('assumptions', () => {
  const bytes = frame(MESSAGES.UPDATE.type, expand('0000 0012 40010100 4002040201fde9 400304c0000201 18cb0071'));

  test('decide how AS numbers are read', () => {
    expect(explain(bytes)[0]?.errors).toHaveLength(1);
    expect(explain(bytes, { fourOctetAs: false })[0]?.reaction).toBe('accepted');
  });

  test('decide whose the first AS number must be', () => {
    const asked = explain(bytes, { fourOctetAs: false, peerAsn: 7 })[0];
    expect(asked?.errors.map(({ text }) => text)).toEqual([
      "malformed AS_PATH: it does not begin with the peer's AS 7",
    ]);
  });
});

test('what is cut short says so', () => {
  expect(explain(vector('U6').subarray(0, 30)).map(({ title, fields }) => [title, fields[0]?.value])).toEqual([
    ['incomplete message', '30 of 44'],
  ]);
  expect(explain(new Uint8Array())).toEqual([]);
});

test('nothing is explained behind a broken header', () => {
  const [first, ...more] = explain(Uint8Array.from([...vector('H1'), ...vector('R1')]));
  expect(first?.reaction).toContain('Connection Not Synchronized (1/1)');
  expect(more).toEqual([]);
});

test('each vector gets the reaction that the session has', () => {
  for (const { bytes, expect: wanted, phase } of bgpVectors()) {
    const [message] = explain(bytes, { ...externalSession(65_001) });
    if (wanted.kind === 'treat-as-withdraw') expect(message?.reaction).toBe('all its routes are withdrawn');
    if (wanted.kind === 'attribute-discard') expect(message?.reaction).toMatch(/discarded|accepted/);
    // What the FSM and the configuration refuse is well formed.
    if (wanted.kind === 'notification' && phase === 'established' && wanted.code !== 5) {
      expect(message?.reaction).toContain(`(${wanted.code}/${wanted.subcode})`);
    }
  }
});

test('any octets can be explained, and every field is where it says', () => {
  const type = fc.integer({ min: 0, max: 6 });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(type, fc.uint8Array({ maxLength: 80 })), { maxLength: 3 }),
      fc.nat(200),
      (parts, cut) => {
        const stream = Uint8Array.from(parts.flatMap(([code, octets]) => [...frame(code, octets)]));
        const bytes = stream.subarray(0, Math.max(0, stream.length - (cut % 40)));
        for (const { offset, bytes: field } of explain(bytes).flatMap(({ fields }) => fields)) {
          expect(bytes.subarray(offset, offset + field.length)).toEqual(field);
        }
      },
    ),
  );
});
