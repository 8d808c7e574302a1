import { type Ip, ipToBytes } from '../../../net/ip.ts';
import type { Port } from '../types.ts';
import { SLOTS } from './slots.ts';

/** Every node and every run must hash alike; without a seed of ours the kernel draws one at each load. */
export const HASH_SEED = 0x7369676e;

/**
 * The slot of a client, as `jhash ip saddr . th sport mod SLOTS seed HASH_SEED` of nftables finds it on a
 * little-endian machine.
 * @param port absent: the address alone decides (session affinity)
 */
export function slotOf(client: Ip, port?: Port): number {
  const address = ipToBytes(client);
  const key = new Uint8Array(port === undefined ? address.length : address.length + 4);
  key.set(address);
  // A port has a whole register of the kernel's, in network byte order from its first byte.
  if (port !== undefined) new DataView(key.buffer).setUint16(address.length, port);
  // The kernel's reciprocal_scale(): the upper half of the product.
  return Number((BigInt(jhash(key, HASH_SEED)) * BigInt(SLOTS)) >> 32n);
}

/** Bob Jenkins' lookup3 `hashlittle`, as the kernel's <linux/jhash.h> has it: 32 bits of bytes in multiples of four. */
function jhash(bytes: Uint8Array, seed: number): number {
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let offset = 0;
  let left = bytes.length;
  const next = () => {
    const word = words.getUint32(offset, true);
    offset += 4;
    return word;
  };
  let a = (0xdeadbeef + left + seed) | 0;
  let b = a;
  let c = a;
  for (; left > 12; left -= 12) {
    a = (a + next()) | 0;
    b = (b + next()) | 0;
    c = (c + next()) | 0;
    a = ((a - c) | 0) ^ rotate(c, 4);
    c = (c + b) | 0;
    b = ((b - a) | 0) ^ rotate(a, 6);
    a = (a + c) | 0;
    c = ((c - b) | 0) ^ rotate(b, 8);
    b = (b + a) | 0;
    a = ((a - c) | 0) ^ rotate(c, 16);
    c = (c + b) | 0;
    b = ((b - a) | 0) ^ rotate(a, 19);
    a = (a + c) | 0;
    c = ((c - b) | 0) ^ rotate(b, 4);
    b = (b + a) | 0;
  }
  if (left === 0) return c >>> 0;
  a = (a + next()) | 0;
  if (left > 4) b = (b + next()) | 0;
  if (left > 8) c = (c + next()) | 0;
  c = ((c ^ b) - rotate(b, 14)) | 0;
  a = ((a ^ c) - rotate(c, 11)) | 0;
  b = ((b ^ a) - rotate(a, 25)) | 0;
  c = ((c ^ b) - rotate(b, 16)) | 0;
  a = ((a ^ c) - rotate(c, 4)) | 0;
  b = ((b ^ a) - rotate(a, 14)) | 0;
  return ((c ^ b) - rotate(b, 24)) >>> 0;
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
