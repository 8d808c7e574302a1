import { ms } from '../../net/clock.ts';
import type { NodeName } from '../../net/names.ts';
import { hash32 } from '../../net/rendezvous.ts';
import { claimsOf } from './claims.ts';
import { statusPages } from './members.ts';
import type { Message } from './messages.ts';
import { pages } from './pages.ts';
import { type KnownClaim, type State, send, type Turn } from './state.ts';

export const BUCKETS = 32;
const COMPARE_EVERY = ms(250);
/** Buckets repaired in one answer: a table that is far behind catches up over several. */
const BUCKETS_AT_ONCE = 8;

/** Keeps the sums of the table: two nodes with equal sums know the same claims. */
export function countClaim(turn: Turn, before: KnownClaim | undefined, entry: KnownClaim): void {
  const { state } = turn;
  const { vip, epoch, holder } = entry.claim;
  entry.sum = hash32(`${vip} ${epoch} ${holder.incarnation} ${holder.list.version} ${holder.released}`);
  addSum(state, vip, (before?.sum ?? 0) ^ entry.sum);
}

export function uncountClaim(state: State, entry: KnownClaim): void {
  addSum(state, entry.claim.vip, entry.sum);
}

export function bucketOf(key: string): number {
  return hash32(key) % BUCKETS;
}

/** XOR, so that the order of learning does not matter. */
export function addSum(state: State, key: string, sum: number): void {
  const bucket = bucketOf(key);
  state.sums[bucket] = ((state.sums[bucket] ?? 0) ^ sum) >>> 0;
  state.digest = (state.digest ^ sum) >>> 0;
}

/** A heartbeat or its acknowledgement told what the peer knows. */
export function noticeDigest(turn: Turn, from: NodeName, digest: number): void {
  if (digest !== turn.state.digest && turn.state.config.rules.digests) compareTables(turn, from, false);
}

export function compareTables(turn: Turn, to: NodeName, reply: boolean): void {
  const { state, now } = turn;
  const member = state.members.get(to);
  if (member === undefined || (!reply && now - member.comparedAt < COMPARE_EVERY)) return;
  if (!reply) member.comparedAt = now;
  send(turn, to, { type: 'digest', sums: [...state.sums], reply });
}

export function onDigest(turn: Turn, from: NodeName, message: Extract<Message, { type: 'digest' }>): void {
  const { state } = turn;
  if (!message.reply) compareTables(turn, from, true);
  if (!state.config.rules.digests) return;
  const differing = new Set<number>();
  for (let bucket = 0; bucket < BUCKETS && differing.size < BUCKETS_AT_ONCE; bucket++) {
    if ((state.sums[bucket] ?? 0) !== (message.sums[bucket] ?? 0)) differing.add(bucket);
  }
  if (differing.size === 0) return;
  const vips = [...state.claims.keys()].filter((vip) => differing.has(bucketOf(vip)));
  for (const claims of pages(claimsOf(turn, vips))) send(turn, from, { type: 'claims', claims });
  for (const [node, { status }] of state.members) {
    if (status === undefined || !differing.has(bucketOf(node))) continue;
    for (const page of statusPages(turn, node)) send(turn, from, page);
  }
}
