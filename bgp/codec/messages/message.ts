import type { Decoded } from '../errors.ts';
import type { Message, SessionParameters } from '../types.ts';

/** A kind of message; bodies are what follows the header. */
export interface MessageCodec<M extends Message> {
  readonly type: number;
  /** Whole messages, in octets; the header is refused outside of these (RFC 4271 section 6.1). */
  readonly minimum: number;
  /** Undefined: as large as the session allows. */
  readonly maximum?: number;
  readonly decode: (body: Uint8Array, session: SessionParameters) => Decoded;
  readonly encode: (message: M, session: SessionParameters) => Uint8Array;
}

export function accepted(message: Message): Decoded {
  return { outcome: 'message', message, errors: [] };
}
