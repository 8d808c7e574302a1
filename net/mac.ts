import type { Brand } from './brand.ts';
import { ok, problem, type Result } from './result.ts';

/** A 48-bit hardware address, lower-case and colon-separated: `02:00:5e:10:00:01`. */
export type Mac = Brand<string, 'Mac'>;

export const MAC_BROADCAST = 'ff:ff:ff:ff:ff:ff' as Mac;

const MAC_PATTERN = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/;

export function parseMac(text: string, field = ''): Result<Mac> {
  const lower = text.toLowerCase().replaceAll('-', ':');
  return MAC_PATTERN.test(lower)
    ? ok(lower as Mac)
    : problem(field, text, 'is not a MAC address', 'write six hexadecimal bytes, e.g. 02:00:5e:10:00:01');
}

export function macToBytes(mac: Mac): Uint8Array {
  return Uint8Array.from(mac.split(':'), (byte) => Number.parseInt(byte, 16));
}

/** @param bytes at least six, of which the first six are read. */
export function macFromBytes(bytes: Uint8Array): Mac {
  return Array.from(bytes.subarray(0, 6), (byte) => byte.toString(16).padStart(2, '0')).join(':') as Mac;
}

/** The I/G bit (IEEE 802): set for broadcast and multicast, which no host may have as its own address. */
export function isGroupMac(mac: Mac): boolean {
  return (Number.parseInt(mac.slice(0, 2), 16) & 1) === 1;
}
