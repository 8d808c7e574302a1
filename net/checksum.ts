/**
 * The Internet checksum (RFC 1071) over the concatenation of `parts`.
 * @returns 16 bits, ones' complement, ready to be written in network byte order.
 */
export function internetChecksum(...parts: readonly Uint8Array[]): number {
  let sum = 0;
  let odd = false;
  for (const part of parts) {
    for (const byte of part) {
      sum += odd ? byte : byte << 8;
      odd = !odd;
    }
    // Folding per part keeps the sum far below 2^53 for any length.
    sum = (sum & 0xffff) + Math.floor(sum / 0x10000);
  }
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
