const encoder = new TextEncoder();

/**
 * MurmurHash3 (x86, 32 bits) of the UTF-8 bytes of `text`: the same number on every node and version,
 * since ranks and tables are compared between nodes.
 */
export function hash32(text: string, seed = 0): number {
  const bytes = encoder.encode(text);
  const blocks = bytes.length >>> 2;
  let h = seed >>> 0;
  for (let i = 0; i < blocks; i++) {
    h ^= mixBlock(littleEndian(bytes, 4 * i, 4));
    h = (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0;
  }
  h ^= mixBlock(littleEndian(bytes, 4 * blocks, bytes.length & 3)) ^ bytes.length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

function littleEndian(bytes: Uint8Array, offset: number, length: number): number {
  let value = 0;
  for (let i = length - 1; i >= 0; i--) value = (value << 8) | (bytes[offset + i] as number);
  return value;
}

function mixBlock(block: number): number {
  const k = Math.imul(block, 0xcc9e2d51);
  return Math.imul((k << 15) | (k >>> 17), 0x1b873593);
}

/**
 * Names by descending highest-random-weight for `key` (rendezvous hashing): each key has its own order,
 * and a name that goes moves only the keys that it was first for.
 */
export function rendezvousOrder<N extends string>(key: string, names: Iterable<N>): N[] {
  return Array.from(names, (name) => ({ name, weight: hash32(`${key}\0${name}`) }))
    .sort((a, b) => b.weight - a.weight || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    .map(({ name }) => name);
}
