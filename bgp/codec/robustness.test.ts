import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MessageType } from './constants.ts';
import { strongestReaction } from './errors.ts';
import { frame } from './header.ts';
import { decodeMessage, encodeMessage } from './messages/table.ts';
import * as arbitrary from './testing/arbitraries.ts';
import { invariants } from './testing/invariants.ts';

const type = fc.constantFrom(...Object.values(MessageType));

test('random bodies', () => {
  fc.assert(
    fc.property(type, fc.uint8Array({ maxLength: 400 }), arbitrary.session, (code, body, session) => {
      invariants(frame(code, body), session);
    }),
    { numRuns: 2000 },
  );
});

test('well-formed messages with a few octets changed', () => {
  const change = fc.tuple(fc.nat(5000), fc.nat(255));
  fc.assert(
    fc.property(
      arbitrary.message,
      fc.array(change, { minLength: 1, maxLength: 4 }),
      arbitrary.session,
      (message, changes, session) => {
        const bytes = encodeMessage(message, arbitrary.fullSession);
        for (const [at, octet] of changes) bytes[19 + (at % Math.max(1, bytes.length - 19))] = octet;
        invariants(bytes.subarray(0, (bytes[16] as number) * 256 + (bytes[17] as number)), session);
      },
    ),
    { numRuns: 2000 },
  );
});

test('a message cut short is never read beyond its end', () => {
  fc.assert(
    fc.property(arbitrary.update, fc.nat(), arbitrary.session, (message, cut, session) => {
      const whole = encodeMessage(message, arbitrary.fullSession);
      const body = whole.subarray(19, 19 + 4 + (cut % (whole.length - 22)));
      const alone = decodeMessage(frame(MessageType.UPDATE, body), session);
      // What lies behind the body in memory makes no difference.
      const padded = new Uint8Array(whole.length + 64).fill(0x5a);
      padded.set(frame(MessageType.UPDATE, body));
      expect(decodeMessage(padded.subarray(0, 19 + body.length), session)).toEqual(alone);
    }),
  );
});

test('of several errors the strongest reaction holds', () => {
  const taw = { kind: 'attribute-flags', name: 'ORIGIN', flags: 0 } as const;
  const discard = { kind: 'duplicate-attribute', name: 'ORIGIN' } as const;
  const reset = { kind: 'bad-message-type', type: 9 } as const;
  expect(strongestReaction([])).toEqual({ kind: 'ignore' });
  expect(strongestReaction([discard, taw, discard]).kind).toBe('treat-as-withdraw');
  expect(strongestReaction([taw, reset, discard]).kind).toBe('session-reset');
});
