import { HEADER_LENGTH, MessageType } from '../constants.ts';
import type { Keepalive } from '../types.ts';
import { accepted, type MessageCodec } from './message.ts';

/** RFC 4271 section 4.4. */
export const keepalive: MessageCodec<Keepalive> = {
  type: MessageType.KEEPALIVE,
  minimum: HEADER_LENGTH,
  maximum: HEADER_LENGTH,
  decode: () => accepted({ type: 'KEEPALIVE' }),
  encode: () => new Uint8Array(),
};
