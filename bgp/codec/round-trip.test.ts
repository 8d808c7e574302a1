import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeMessage, encodeMessage } from './messages/table.ts';
import * as arbitrary from './testing/arbitraries.ts';
import { externalSession } from './testing/sessions.ts';
import type { Message, SessionParameters } from './types.ts';

/** Encode, decode, encode: the message is the same, and so are its bytes. */
function roundTrip(message: Message, session: SessionParameters): void {
  const bytes = encodeMessage(message, session);
  const decoded = decodeMessage(bytes, session);
  expect(decoded).toEqual({ outcome: 'message', message, errors: [] });
  if (decoded.outcome === 'message') expect(encodeMessage(decoded.message, session)).toEqual(bytes);
}

describe('every kind of message comes back as it was', () => {
  test.each(['open', 'update', 'notification', 'routeRefresh'] as const)('%s', (kind) => {
    fc.assert(
      fc.property(arbitrary[kind] as fc.Arbitrary<Message>, (message) => roundTrip(message, arbitrary.fullSession)),
    );
  });

  test('keepalive', () => {
    roundTrip({ type: 'KEEPALIVE' }, arbitrary.fullSession);
    expect(encodeMessage({ type: 'KEEPALIVE' }, arbitrary.fullSession)).toHaveLength(19);
  });

  test('an UPDATE to a speaker of two-octet AS numbers', () => {
    const session = { ...arbitrary.fullSession, fourOctetAs: false };
    fc.assert(
      fc.property(arbitrary.update, (message) => {
        const bytes = encodeMessage(message, session);
        const decoded = decodeMessage(bytes, session);
        expect(decoded.errors).toEqual([]);
        if (decoded.outcome !== 'message') throw new Error(decoded.outcome);
        // Adjoining sequences may have become one; the bytes do not change again.
        const again = encodeMessage(decoded.message, session);
        expect(decodeMessage(again, session)).toEqual(decoded);
      }),
    );
  });
});

test('a message longer than the session allows is refused', () => {
  const message: Message = { type: 'NOTIFICATION', code: 6, subcode: 4, data: new Uint8Array(4096) };
  const session = externalSession(1);
  expect(() => encodeMessage(message, session)).toThrow(RangeError);
  expect(encodeMessage(message, { ...session, extendedMessage: true })).toHaveLength(19 + 2 + 4096);
});
