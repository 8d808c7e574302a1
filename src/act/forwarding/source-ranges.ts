import { type IpFamily, ipFromBigInt } from '../../../net/ip.ts';
import { addressBits, makePrefix, type Prefix, parsePrefix, prefixFamily, prefixRange } from '../../../net/prefix.ts';

/**
 * Disjoint networks that cover the same addresses, in order: an interval set refuses overlaps. What is not a network
 * of the family covers nothing, so that it never admits anyone.
 */
export function disjointPrefixes(ranges: readonly string[], family: IpFamily): Prefix[] {
  const sorted = ranges
    .flatMap((text) => parsePrefix(text).ok ?? [])
    .filter((prefix) => prefixFamily(prefix) === family)
    .map(prefixRange)
    .sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
  const merged: { first: bigint; last: bigint }[] = [];
  for (const { first, last } of sorted) {
    const previous = merged.at(-1);
    if (previous && first <= previous.last + 1n) previous.last = previous.last > last ? previous.last : last;
    else merged.push({ first, last });
  }
  return merged.flatMap(({ first, last }) => cover(first, last, family));
}

/** The fewest networks that make up a range. */
function cover(first: bigint, last: bigint, family: IpFamily): Prefix[] {
  const bits = addressBits(family);
  const prefixes: Prefix[] = [];
  for (let at = first; at <= last; ) {
    let size = 0;
    while (size < bits && at % (2n << BigInt(size)) === 0n && at + (2n << BigInt(size)) - 1n <= last) size++;
    prefixes.push(makePrefix(ipFromBigInt(at, family), bits - size));
    at += 1n << BigInt(size);
  }
  return prefixes;
}
