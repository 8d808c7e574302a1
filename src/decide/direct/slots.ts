import type { NodeName } from '../../../net/names.ts';
import { hash32 } from '../../../net/rendezvous.ts';
import type { NodeShare } from '../types.ts';

/** Classes of clients, each sent to one node. A prime; more of them make shares finer and cost kernel memory. */
export const SLOTS = 1361;

/**
 * The node of each slot: a stable matching of slots and nodes by weighted rendezvous scores, in which each node takes
 * exactly its share of the slots. It depends on the set of shares alone, so that every node has the same table, and a
 * node that comes or goes moves its own slots and few others.
 * @param shares of distinct nodes, in any order; those of weight 0 get no slot
 */
export function slotOwners(shares: readonly NodeShare[], slots = SLOTS): NodeName[] {
  const members = membersOf(shares, slots);
  if (members.length === 0) return [];
  const order = Array.from({ length: slots }, (_, slot) => preferences(members, slot));
  const asked = new Uint32Array(slots);
  const owners: Member[] = [];
  const homeless = Array.from({ length: slots }, (_, slot) => slot);
  for (let slot = homeless.pop(); slot !== undefined; slot = homeless.pop()) {
    // Quotas add up to the number of slots: a slot that is refused finds room further down its list.
    const { member, score } = (order[slot] as Choice[])[asked[slot] as number] as Choice;
    const rejected = member.admit(slot, score);
    if (rejected !== slot) owners[slot] = member;
    if (rejected === undefined) continue;
    asked[rejected] = (asked[rejected] as number) + 1;
    homeless.push(rejected);
  }
  return owners.map(({ node }) => node);
}

interface Choice {
  readonly member: Member;
  readonly score: number;
}

/** A node while slots are given away. */
class Member {
  readonly node: NodeName;
  readonly weight: number;
  readonly hash: number;
  readonly #quota: number;
  readonly #held = new Map<number, number>();

  constructor({ node, weight }: NodeShare, quota: number) {
    this.node = node;
    this.weight = weight;
    this.hash = hash32(node);
    this.#quota = quota;
  }

  /** Takes the slot if it may; returns the slot that must look elsewhere, if any. */
  admit(slot: number, score: number): number | undefined {
    this.#held.set(slot, score);
    if (this.#held.size <= this.#quota) return undefined;
    let [worst, lowest] = [slot, score];
    for (const [held, its] of this.#held) {
      if (its < lowest || (its === lowest && held > worst)) [worst, lowest] = [held, its];
    }
    this.#held.delete(worst);
    return worst;
  }
}

/** By descending score, then by name. */
function preferences(members: readonly Member[], slot: number): Choice[] {
  return members.map((member) => ({ member, score: slotScore(member, slot) })).sort((a, b) => b.score - a.score);
}

function membersOf(shares: readonly NodeShare[], slots: number): Member[] {
  const sorted = shares.filter(({ weight }) => weight > 0).sort((a, b) => (a.node < b.node ? -1 : 1));
  const quotas = slotQuotas(sorted, slots);
  return sorted.map((share, i) => new Member(share, quotas[i] as number));
}

/** Whole numbers of slots by the method of largest remainders; among equal ones the first have it. */
export function slotQuotas(shares: readonly NodeShare[], slots: number): number[] {
  const total = shares.reduce((sum, { weight }) => sum + weight, 0);
  const exact = shares.map(({ weight }) => (slots * weight) / total);
  const quotas = exact.map(Math.floor);
  const remainders = exact.map((share, index) => ({ index, rest: share - Math.floor(share) }));
  remainders.sort((a, b) => b.rest - a.rest || a.index - b.index);
  const left = slots - quotas.reduce((sum, quota) => sum + quota, 0);
  for (const { index } of remainders.slice(0, left)) quotas[index] = (quotas[index] as number) + 1;
  return quotas;
}

/** Rendezvous weight of a node for a slot (Thaler and Ravishankar's, with the logarithm that makes it weighted). */
export function slotScore({ hash, weight }: { readonly hash: number; readonly weight: number }, slot: number): number {
  let h = Math.imul(hash ^ Math.imul(slot + 1, 0x9e3779b1), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  h = Math.imul(h ^ (h >>> 16), 0x27d4eb2f);
  const uniform = (((h ^ (h >>> 15)) >>> 0) + 0.5) / 2 ** 32;
  return -weight / Math.log(uniform);
}
