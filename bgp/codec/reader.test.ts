import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HEADER_LENGTH } from './constants.ts';
import type { Decoded } from './errors.ts';
import { frame } from './header.ts';
import { decodeMessage, encodeMessage } from './messages/table.ts';
import { MessageReader } from './reader.ts';
import { fullSession, message } from './testing/arbitraries.ts';
import { externalSession } from './testing/sessions.ts';
import type { SessionParameters } from './types.ts';

const session = externalSession(65_001);
const KEEPALIVE = encodeMessage({ type: 'KEEPALIVE' }, session);

function takeAll(reader: MessageReader, parameters: SessionParameters): Decoded[] {
  const taken: Decoded[] = [];
  for (let next = reader.next(parameters); next !== undefined; next = reader.next(parameters)) taken.push(next);
  return taken;
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

test('messages are the same however the stream is cut', () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 6 }), fc.array(fc.nat(900), { maxLength: 20 }), (messages, cuts) => {
      const encoded = messages.map((m) => encodeMessage(m, fullSession));
      const stream = concat(encoded);
      const bounds = [0, ...cuts.map((cut) => cut % (stream.length + 1)).sort((a, b) => a - b), stream.length];
      const reader = new MessageReader();
      const taken = bounds.slice(1).flatMap((end, i) => {
        reader.push(stream.slice(bounds[i], end));
        return takeAll(reader, fullSession);
      });
      expect(taken).toEqual(encoded.map((bytes) => decodeMessage(bytes, fullSession)));
      expect(reader.buffered).toBe(0);
    }),
  );
});

test('a peer that sends one octet at a time costs no more than twice its message in memory', () => {
  const long = encodeMessage({ type: 'NOTIFICATION', code: 6, subcode: 2, data: new Uint8Array(4000) }, session);
  const reader = new MessageReader();
  for (const octet of long.subarray(0, -1)) {
    reader.push(Uint8Array.of(octet));
    expect(reader.next(session)).toBeUndefined();
  }
  expect(reader.buffered).toBe(long.length - 1);
  reader.push(long.subarray(-1));
  expect(reader.next(session)).toEqual(decodeMessage(long, session));
  expect(reader.buffered).toBe(0);
});

test('chunks are not written to', () => {
  const chunk = concat([KEEPALIVE, KEEPALIVE]).subarray(0, 30);
  const before = chunk.slice();
  const reader = new MessageReader();
  reader.push(chunk);
  takeAll(reader, session);
  reader.push(KEEPALIVE.subarray(11));
  expect(takeAll(reader, session)).toHaveLength(1);
  expect(chunk).toEqual(before);
});

describe('a broken header', () => {
  const kinds: readonly (readonly [string, Uint8Array, number, readonly number[]])[] = [
    ['a marker with a zero', concat([KEEPALIVE.subarray(0, 5), Uint8Array.of(0), KEEPALIVE.subarray(6)]), 1, []],
    ['a length below a header', header(18, 4), 2, [0, 18]],
    ['a length above the limit', header(4097, 2), 2, [0x10, 0x01]],
    ['a KEEPALIVE with a body', header(20, 4), 2, [0, 20]],
    ['an OPEN too short', header(28, 1), 2, [0, 28]],
    ['a NOTIFICATION too short', header(20, 3), 2, [0, 20]],
    ['an unknown type', header(19, 6), 3, [6]],
  ];

  test.each(kinds)('%s ends the stream before its body is there', (_, bytes, subcode, data) => {
    const reader = new MessageReader();
    reader.push(concat([KEEPALIVE, bytes]));
    const [first, second, ...more] = takeAll(reader, session);
    expect(first).toEqual({ outcome: 'message', message: { type: 'KEEPALIVE' }, errors: [] });
    expect(second).toMatchObject({
      outcome: 'session-reset',
      notification: { type: 'NOTIFICATION', code: 1, subcode, data: Uint8Array.from(data) },
    });
    expect(more).toEqual([]);
    reader.push(KEEPALIVE);
    expect(reader.next(session)).toBeUndefined();
    expect(reader.buffered).toBe(0);
  });
});

test('the limit is that of the session at each message, and never more than 4,096 for an OPEN', () => {
  const extended = { ...session, extendedMessage: true };
  const large = frame(3, new Uint8Array(60_000));
  const reader = new MessageReader();
  reader.push(KEEPALIVE);
  reader.push(large);
  expect(reader.next(session)?.outcome).toBe('message');
  expect(reader.next(extended)).toMatchObject({ outcome: 'message', message: { type: 'NOTIFICATION' } });
  reader.push(header(4097, 1));
  expect(reader.next(extended)).toMatchObject({ outcome: 'session-reset', notification: { code: 1, subcode: 2 } });
});

function header(length: number, type: number): Uint8Array {
  const bytes = new Uint8Array(HEADER_LENGTH).fill(0xff, 0, 16);
  bytes.set([length >> 8, length & 0xff, type], 16);
  return bytes;
}
