import { HEADER_LENGTH } from '../constants.ts';
import { type Decoded, type DecodeError, resetBy } from '../errors.ts';
import { frame, type Header, maxMessageLength, readHeader } from '../header.ts';
import type { Message, SessionParameters } from '../types.ts';
import { keepalive } from './keepalive.ts';
import type { MessageCodec } from './message.ts';
import { notification } from './notification.ts';
import { open } from './open.ts';
import { routeRefresh } from './route-refresh.ts';
import { update } from './update.ts';

type MessageOf<T extends Message['type']> = Extract<Message, { readonly type: T }>;

export const MESSAGES: { readonly [T in Message['type']]: MessageCodec<MessageOf<T>> } = {
  OPEN: open,
  UPDATE: update,
  NOTIFICATION: notification,
  KEEPALIVE: keepalive,
  'ROUTE-REFRESH': routeRefresh,
};

type AnyCodec = MessageCodec<Message>;

const BY_TYPE: ReadonlyMap<number, AnyCodec> = new Map(
  Object.values(MESSAGES).map((codec) => [codec.type, codec as unknown as AnyCodec]),
);

/** RFC 4271 section 6.1; lengths beyond 4,096: RFC 8654 section 4. */
export function checkHeader(
  { synchronized, length, type }: Header,
  session: SessionParameters,
): DecodeError | undefined {
  if (!synchronized) return { kind: 'connection-not-synchronized' };
  if (length < HEADER_LENGTH || length > maxMessageLength(session)) return { kind: 'bad-message-length', length };
  const codec = BY_TYPE.get(type);
  if (codec === undefined) return { kind: 'bad-message-type', type };
  const inRange = length >= codec.minimum && length <= (codec.maximum ?? length);
  return inRange ? undefined : { kind: 'bad-message-length', length };
}

/** @param bytes exactly one message, header included; at least a header. */
export function decodeMessage(bytes: Uint8Array, session: SessionParameters): Decoded {
  const header = readHeader(bytes);
  const error = checkHeader(header, session);
  if (error !== undefined) return resetBy([error]);
  if (header.length !== bytes.length) return resetBy([{ kind: 'bad-message-length', length: header.length }]);
  return decodeBody(header.type, bytes.subarray(HEADER_LENGTH), session);
}

/** @param type of a header that `checkHeader` found good. */
export function decodeBody(type: number, body: Uint8Array, session: SessionParameters): Decoded {
  const codec = BY_TYPE.get(type);
  if (codec === undefined) throw new RangeError(`no message has the type ${type}`);
  return codec.decode(body, session);
}

/** The whole message. One longer than the session allows is a programming error: `encodeUpdates` packs routes. */
export function encodeMessage(message: Message, session: SessionParameters): Uint8Array {
  const codec = MESSAGES[message.type] as unknown as AnyCodec;
  const bytes = frame(codec.type, codec.encode(message, session));
  const limit = codec.maximum ?? maxMessageLength(session);
  if (bytes.length > limit) throw new RangeError(`${message.type} has ${bytes.length} octets, the limit is ${limit}`);
  return bytes;
}
