import { Writer } from '../../net/cursor.ts';
import { type IpFamily, ipFromBytes } from '../../net/ip.ts';
import { addressBits, type Prefix } from '../../net/prefix.ts';
import type { Result } from '../../net/result.ts';
import { prefixSize, writePrefix } from './prefix-bytes.ts';
import type { Nlri } from './types.ts';

/**
 * Checks a list of prefixes (RFC 4271 section 4.3, RFC 7606 section 5.3) without decoding it: the cost is one
 * object, whatever the number of prefixes.
 */
export function scanNlri(family: IpFamily, bytes: Uint8Array): Result<Nlri, string> {
  const bits = addressBits(family);
  let count = 0;
  for (let offset = 0; offset < bytes.length; count++) {
    const length = bytes[offset] as number;
    if (length > bits) return { problem: `prefix length ${length} is above ${bits}` };
    offset += 1 + ((length + 7) >> 3);
    if (offset > bytes.length) return { problem: `the last prefix, of length ${length}, is cut short` };
  }
  return { ok: { family, count, bytes } };
}

/** Bits beyond the prefix length are irrelevant (RFC 4271 section 4.3) and read as zero. */
export function* prefixesOf({ family, bytes }: Nlri): Generator<Prefix> {
  const address = new Uint8Array(addressBits(family) / 8);
  for (let offset = 0; offset < bytes.length; ) {
    const length = bytes[offset] as number;
    const octets = (length + 7) >> 3;
    address.fill(0);
    address.set(bytes.subarray(offset + 1, offset + 1 + octets));
    const spare = 8 * octets - length;
    if (spare > 0) address[octets - 1] = ((address[octets - 1] as number) >> spare) << spare;
    yield `${ipFromBytes(address)}/${length}` as Prefix;
    offset += 1 + octets;
  }
}

/** @param prefixes all of `family`. */
export function nlriOf(family: IpFamily, prefixes: readonly Prefix[]): Nlri {
  const bytes = new Uint8Array(prefixes.reduce((sum, prefix) => sum + prefixSize(prefix), 0));
  prefixes.reduce((offset, prefix) => writePrefix(prefix, bytes, offset), 0);
  return { family, count: prefixes.length, bytes };
}

/** @param parts all of `family`. */
export function joinNlri(family: IpFamily, parts: readonly Nlri[]): Nlri {
  const bytes = new Writer(parts.reduce((sum, part) => sum + part.bytes.length, 0));
  for (const part of parts) bytes.bytes(part.bytes);
  return { family, count: parts.reduce((sum, { count }) => sum + count, 0), bytes: bytes.finish() };
}
