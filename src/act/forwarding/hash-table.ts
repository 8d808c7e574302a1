import { hash32 } from '../../../net/rendezvous.ts';

/** Buckets of clients. More make shares more even, each costs an element of the entry. */
export const HASH_BUCKETS = 256;

/** No endpoint gets more than this times its fair share of the buckets. */
const BOUND = 1.25;

/**
 * Weighted rendezvous hashing with bounded loads (Mirrokni et al., 2018): the endpoint, by index, of each bucket.
 * It depends on the set of names and weights alone, so every node has the same, and a name that goes moves its own
 * buckets and few others.
 * @param weights positive, one for each name
 */
export function hashTable(names: readonly string[], weights: readonly number[], buckets = HASH_BUCKETS): number[] {
  if (names.length === 0) return [];
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const members = names.map((name, index) => {
    const weight = weights[index] as number;
    return { index, name, hash: hash32(name), weight, free: Math.ceil((buckets * BOUND * weight) / total) };
  });
  members.sort((a, b) => (a.name < b.name ? -1 : 1));
  return Array.from({ length: buckets }, (_, bucket) => {
    const open = members.filter(({ free }) => free > 0).map((member) => ({ member, score: score(member, bucket) }));
    const { member } = open.reduce((best, next) => (next.score > best.score ? next : best));
    member.free--;
    return member.index;
  });
}

/** Rendezvous weight of a member for a bucket (Thaler and Ravishankar's, with the logarithm that makes it weighted). */
function score({ hash, weight }: { readonly hash: number; readonly weight: number }, bucket: number): number {
  let h = Math.imul(hash ^ Math.imul(bucket + 1, 0x9e3779b1), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  const uniform = (((h ^ (h >>> 16)) >>> 0) + 0.5) / 2 ** 32;
  return -weight / Math.log(uniform);
}
