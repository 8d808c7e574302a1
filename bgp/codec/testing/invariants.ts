import { isDeepStrictEqual } from 'node:util';
import { type Decoded, describeError, strongestReaction } from '../errors.ts';
import { hardReset } from '../messages/notification.ts';
import { decodeMessage, encodeMessage } from '../messages/table.ts';
import { UNNEGOTIATED } from '../negotiate.ts';
import { prefixesOf } from '../nlri.ts';
import type { Message, SessionParameters } from '../types.ts';

/** Error code and subcodes that a decoder may answer with. */
const NOTIFICATIONS: Readonly<Record<number, readonly number[]>> = {
  1: [1, 2, 3],
  2: [0, 1, 2, 3, 4, 6],
  3: [1, 2, 9, 10],
  7: [1],
};

/** Values in a decoded message for each octet of it; and for a message of any length. */
const WEIGHT_PER_OCTET = 8;
const WEIGHT_AT_LEAST = 600;

/**
 * What holds for any bytes at all: a decoder does not throw, answers out of the RFCs' set, makes no more objects
 * than the message has octets for, and what it accepted can be written and read again with the same result.
 * @throws an Error that names what does not hold.
 */
export function invariants(bytes: Uint8Array, session: SessionParameters): Decoded | undefined {
  if (bytes.length < 19) return undefined;
  const decoded = decodeMessage(bytes, session);
  for (const error of decoded.errors) demand(describeError(error).length > 0, 'an error has no words');
  demand(weight(decoded) <= WEIGHT_AT_LEAST + WEIGHT_PER_OCTET * bytes.length, 'it allocates too much');
  const reaction = strongestReaction(decoded.errors);
  if (decoded.outcome === 'session-reset') {
    const { code, subcode } = decoded.notification;
    demand(NOTIFICATIONS[code]?.includes(subcode) === true, `NOTIFICATION ${code}/${subcode} is no decoder's`);
    demand(reaction.kind === 'session-reset', 'the errors do not cause the reset');
    encodeMessage(hardReset(decoded.notification), UNNEGOTIATED);
    return decoded;
  }
  demand(reaction.kind !== 'session-reset', 'the errors cause a reset that does not come');
  if (decoded.outcome === 'message') fixedPoint(decoded.message, session);
  return decoded;
}

function fixedPoint(message: Message, session: SessionParameters): void {
  if (message.type === 'UPDATE') {
    for (const nlri of [...message.withdrawn, ...message.announced.map((a) => a.nlri)]) {
      demand([...prefixesOf(nlri)].length === nlri.count, 'prefixes are miscounted');
    }
  }
  const once = encodeMessage(message, session);
  const again = decodeMessage(once, session);
  if (again.outcome !== 'message') throw new Error(`our own bytes are answered by ${again.outcome}`);
  demand(isDeepStrictEqual(encodeMessage(again.message, session), once), 'encoding is no fixed point');
}

/** Values reachable from a decoded message; octets count one a 16. */
function weight(value: unknown): number {
  if (value instanceof Uint8Array) return 1 + value.length / 16;
  if (typeof value === 'string') return 1 + value.length / 16;
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, member) => sum + weight(member), 1);
}

function demand(condition: boolean, otherwise: string): void {
  if (!condition) throw new Error(otherwise);
}
