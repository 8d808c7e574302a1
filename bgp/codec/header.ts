import { HEADER_LENGTH, MAX_EXTENDED_MESSAGE_LENGTH, MAX_MESSAGE_LENGTH } from './constants.ts';
import type { SessionParameters } from './types.ts';

const MARKER_LENGTH = 16;

/** The header before a body (RFC 4271 section 4.1). */
export function frame(type: number, body: Uint8Array): Uint8Array {
  const message = new Uint8Array(HEADER_LENGTH + body.length);
  writeHeader(message, type, message.length);
  message.set(body, HEADER_LENGTH);
  return message;
}

export function writeHeader(target: Uint8Array, type: number, length: number): void {
  target.fill(0xff, 0, MARKER_LENGTH);
  target[MARKER_LENGTH] = length >>> 8;
  target[MARKER_LENGTH + 1] = length & 0xff;
  target[MARKER_LENGTH + 2] = type;
}

export interface Header {
  readonly synchronized: boolean;
  /** Of the whole message. */
  readonly length: number;
  readonly type: number;
}

/** @param bytes at least the 19 of a header. */
export function readHeader(bytes: Uint8Array): Header {
  const [high, low, type] = bytes.subarray(MARKER_LENGTH) as unknown as [number, number, number];
  return {
    synchronized: bytes.subarray(0, MARKER_LENGTH).every((byte) => byte === 0xff),
    length: (high << 8) | low,
    type,
  };
}

/** RFC 8654 section 4. */
export function maxMessageLength({ extendedMessage }: SessionParameters): number {
  return extendedMessage ? MAX_EXTENDED_MESSAGE_LENGTH : MAX_MESSAGE_LENGTH;
}
