import type { Random } from './random.ts';

const INTERESTING = [0, 1, 2, 3, 4, 5, 0x0f, 0x10, 0x20, 0x21, 0x40, 0x7f, 0x80, 0x81, 0xc0, 0xfe, 0xff] as const;

/** One blind change of an octet or a run of octets. */
export function mutateBytes(bytes: Uint8Array, random: Random): Uint8Array {
  if (bytes.length === 0) return random.bytes(1 + random.below(4));
  const at = random.below(bytes.length);
  const run = 1 + random.below(Math.min(8, bytes.length - at));
  switch (random.below(6)) {
    case 0:
      return bytes.with(at, (bytes[at] as number) ^ (1 << random.below(8)));
    case 1:
      return bytes.with(at, random.pick(INTERESTING));
    case 2:
      return bytes.with(at, (bytes[at] as number) + (random.oneIn(2) ? 1 : -1));
    case 3:
      return splice(bytes, at, run, new Uint8Array());
    case 4:
      return splice(bytes, at, 0, random.bytes(run));
    default:
      return splice(bytes, at, 0, bytes.subarray(at, at + run));
  }
}

/** `bytes` with `remove` octets at `at` replaced. */
export function splice(bytes: Uint8Array, at: number, remove: number, insert: Uint8Array): Uint8Array {
  const result = new Uint8Array(bytes.length - remove + insert.length);
  result.set(bytes.subarray(0, at));
  result.set(insert, at);
  result.set(bytes.subarray(at + remove), at + insert.length);
  return result;
}

/** One change of a list: an item goes, comes twice, moves, or is changed. */
export function mutateList<T>(list: readonly T[], random: Random, change: (item: T) => T, make: () => T): readonly T[] {
  if (list.length === 0) return [make()];
  const at = random.below(list.length);
  const item = list[at] as T;
  switch (random.below(7)) {
    case 0:
      return list.toSpliced(at, 1);
    case 1:
      return list.toSpliced(random.below(list.length + 1), 0, item);
    case 2:
      return list.toSpliced(random.below(list.length + 1), 0, make());
    case 3:
      return list.toSpliced(at, 1).toSpliced(random.below(list.length), 0, item);
    default:
      return list.with(at, change(item));
  }
}
