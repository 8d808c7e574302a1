import { Writer } from '../../../net/cursor.ts';
import { CeaseSubcode, ErrorCode, HEADER_LENGTH, MAX_NOTIFICATION_DATA, MessageType } from '../constants.ts';
import type { Notification } from '../types.ts';
import { accepted, type MessageCodec } from './message.ts';

/** RFC 4271 section 4.5. Whatever it says, the session ends, so nothing in it is an error (section 6.4). */
export const notification: MessageCodec<Notification> = {
  type: MessageType.NOTIFICATION,
  minimum: HEADER_LENGTH + 2,
  decode: (body) => {
    const [code, subcode] = body as unknown as [number, number];
    // A copy: it outlives the connection in the session's record.
    return accepted({ type: 'NOTIFICATION', code, subcode, data: body.slice(2) });
  },
  encode: ({ code, subcode, data }) => new Writer(2 + data.length).u8(code).u8(subcode).bytes(data).finish(),
};

/** RFC 9003 section 2: a Cease with words for the peer's operator, cut to 255 octets of whole characters. */
export function ceaseWithCommunication(
  subcode: typeof CeaseSubcode.ADMINISTRATIVE_SHUTDOWN | typeof CeaseSubcode.ADMINISTRATIVE_RESET,
  communication: string,
): Notification {
  const text = new Uint8Array(255);
  const { written } = new TextEncoder().encodeInto(communication, text);
  const data = written === 0 ? new Uint8Array() : Uint8Array.of(written, ...text.subarray(0, written));
  return { type: 'NOTIFICATION', code: ErrorCode.CEASE, subcode, data };
}

/** RFC 8538 section 3.1: the Cease that ends a session for good though graceful restart holds for NOTIFICATIONs. */
export function hardReset(reason: Notification): Notification {
  return {
    type: 'NOTIFICATION',
    code: ErrorCode.CEASE,
    subcode: CeaseSubcode.HARD_RESET,
    data: Uint8Array.of(reason.code, reason.subcode, ...reason.data).subarray(0, MAX_NOTIFICATION_DATA),
  };
}

/** The reason inside a hard reset, if there is a well-formed one. */
export function hardResetReason({ code, subcode, data }: Notification): Notification | undefined {
  const [innerCode, innerSubcode] = data;
  if (code !== ErrorCode.CEASE || subcode !== CeaseSubcode.HARD_RESET) return undefined;
  if (innerCode === undefined || innerSubcode === undefined) return undefined;
  return { type: 'NOTIFICATION', code: innerCode, subcode: innerSubcode, data: data.subarray(2) };
}

/**
 * The words of a shutdown or reset (RFC 9003), also those inside a hard reset. Control characters are made visible,
 * since the words go to logs and terminals. Undefined where there are none or they are malformed.
 */
export function shutdownCommunication(notification: Notification): string | undefined {
  const { code, subcode, data } = hardResetReason(notification) ?? notification;
  if (code !== ErrorCode.CEASE) return undefined;
  if (subcode !== CeaseSubcode.ADMINISTRATIVE_SHUTDOWN && subcode !== CeaseSubcode.ADMINISTRATIVE_RESET)
    return undefined;
  const [length] = data;
  if (length === undefined || length === 0 || length + 1 > data.length) return undefined;
  try {
    return visible(new TextDecoder('utf-8', { fatal: true }).decode(data.subarray(1, 1 + length)));
  } catch {
    return undefined;
  }
}

function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (c) => `\\u{${(c.codePointAt(0) as number).toString(16)}}`);
}
