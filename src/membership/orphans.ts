import { after, type MonotonicNs, ms } from '../../net/clock.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import { bound, claimants, loads } from './candidates.ts';
import { canServe, claimsOf } from './claims.ts';
import { compareTables } from './digest.ts';
import { firmlyLeased } from './lease.ts';
import { LONG_AGO, NEVER, type Orphan, others, report, send, sessionOf, type Turn, wake } from './state.ts';
import { propose, proposeFirst } from './succession.ts';
import { isVoid } from './suspicion.ts';
import {
  CLAIMS_AT_ONCE,
  FIRST_CLAIM_PATIENCE,
  FIRST_PROBE_COUNT,
  FIRST_PROBE_INTERVAL,
  LISTEN,
  RANK_STEP,
  STRANGER_RETRY,
  UNFENCED_AFTER,
} from './timings.ts';
import type { WireAnswer } from './types.ts';
import { heardUnfenced } from './unfenced.ts';

const LOOK_AGAIN = ms(40);
const BUSY_AGAIN = ms(2);
/** After a time without a lease others are heard first: they may answer unfenced. */
const HEAR_FIRST = ms(5);
const PROBE_LOST = ms(1000);
/** A plan costs some microseconds an orphan, and a thousand VIPs that come one by one would each ask for one. */
const PLAN_EVERY_ORPHAN = ms(0.02);

/** Finds whether a VIP of the table lacks a living holder. */
export function review(turn: Turn, vip: Vip): void {
  const { state, now } = turn;
  const known = state.claims.get(vip);
  const held = known !== undefined && !known.claim.holder.released && !isVoid(turn, known.claim.holder);
  if (!state.vips.has(vip) || held || state.holdings.has(vip)) {
    state.orphans.delete(vip);
    return;
  }
  if (!state.orphans.has(vip)) state.orphans.set(vip, { since: now, startAt: undefined, probe: 'none', probedAt: now });
  wake(turn, 'succession', now);
}

/** After a change of what is known of a node's lives. */
export function reviewOrphans(turn: Turn, node: NodeName): void {
  for (const { claim } of turn.state.claims.values()) if (claim.holder.node === node) review(turn, claim.vip);
}

/** After a change of who may lead. */
export function replan(turn: Turn): void {
  for (const orphan of turn.state.orphans.values()) orphan.startAt = undefined;
  if (turn.state.orphans.size > 0) wake(turn, 'succession', turn.now);
}

/** Claims the orphans whose turn it is. */
export function runOrphans(turn: Turn): void {
  const { state, now } = turn;
  const listened = after(state.startedAt, state.config.rules.listenFirst ? LISTEN : 0);
  if (now < listened) {
    if (state.orphans.size > 0) wake(turn, 'succession', listened);
    return;
  }
  if (now >= state.planFrom && [...state.orphans.values()].some(({ startAt }) => startAt === undefined)) {
    plan(turn);
    state.planFrom = after(now, state.orphans.size * PLAN_EVERY_ORPHAN);
  }
  for (const [vip, orphan] of state.orphans) {
    const at = orphan.startAt ?? state.planFrom;
    if (at > now) {
      wake(turn, 'succession', at);
      continue;
    }
    const busy = state.proposals.size + state.probes.size >= CLAIMS_AT_ONCE;
    orphan.startAt = after(now, busy ? BUSY_AGAIN : LOOK_AGAIN);
    if (!busy && mayClaim(turn, vip)) claim(turn, vip, orphan);
    wake(turn, 'succession', orphan.startAt);
  }
}

function mayClaim(turn: Turn, vip: Vip): boolean {
  const { state, now } = turn;
  const { rules } = state.config;
  if (state.stalled || state.leavingSince !== undefined || state.proposals.has(vip) || !canServe(turn, vip))
    return false;
  if (now < (state.strangers.get(vip) ?? now)) return false;
  if (rules.listenFirst && now - state.startedAt < LISTEN) return false;
  return state.formed && (firmlyLeased(turn) || !rules.claimWithLease);
}

function claim(turn: Turn, vip: Vip, orphan: Orphan): void {
  const known = turn.state.claims.get(vip)?.claim;
  if (known !== undefined) propose(turn, known);
  else if (orphan.probe === 'silent') proposeFirst(turn, vip);
  else if (orphan.probe !== 'running' || turn.now >= orphan.probedAt + PROBE_LOST) {
    orphan.probe = 'running';
    orphan.probedAt = turn.now;
    orphan.startAt = after(turn.now, PROBE_LOST);
    turn.state.probes.set(vip, 'firstClaim');
    turn.effects.push({ type: 'probe', vip, count: FIRST_PROBE_COUNT, intervalNs: FIRST_PROBE_INTERVAL });
  }
}

export function onFirstProbed(turn: Turn, vip: Vip, answer: WireAnswer): void {
  const { state, now } = turn;
  const orphan = state.orphans.get(vip);
  if (orphan === undefined) return;
  switch (answer.kind) {
    case 'silence':
      orphan.probe = 'silent';
      orphan.startAt = now;
      break;
    case 'member':
      // Somebody of ours holds it and we have not heard: ask.
      orphan.probe = 'none';
      orphan.startAt = after(now, 5 * LOOK_AGAIN);
      send(turn, answer.node, { type: 'ask', vip });
      break;
    case 'stranger':
      orphan.probe = 'none';
      state.strangers.set(vip, after(now, STRANGER_RETRY));
      report(turn, { kind: 'conflicted', vip, mac: answer.mac, defended: false });
      break;
    default:
      answer satisfies never;
  }
  wake(turn, 'succession', now);
}

/**
 * When this node may claim each orphan. All nodes make the same plan from the same tables: VIPs in order, each to its
 * first candidate that has room; who is next in rank waits longer.
 */
function plan(turn: Turn): void {
  const { state } = turn;
  const { self } = state.config;
  const counts = loads(turn);
  for (const vip of [...state.orphans.keys()].sort()) {
    const orphan = state.orphans.get(vip);
    if (orphan === undefined) continue;
    const order = claimants(state, vip);
    const most = bound(state.vips.size, order.length);
    const hasRoom = (node: NodeName) => (counts.get(node) ?? 0) < most;
    const returning = yielded(turn, vip);
    const ranked = [
      ...order.filter((node) => node === returning),
      ...order.filter((node) => node !== returning && hasRoom(node)),
      ...order.filter((node) => node !== returning && !hasRoom(node)),
    ];
    const first = ranked[0];
    if (first !== undefined) counts.set(first, (counts.get(first) ?? 0) + 1);
    orphan.startAt ??= startOf(turn, vip, orphan, ranked.indexOf(self));
  }
}

/** The last holder, if it gave the VIP up for want of a lease and can have one again: it acknowledges. */
function yielded(turn: Turn, vip: Vip): NodeName | undefined {
  const { state, now } = turn;
  const holder = state.claims.get(vip)?.claim.holder;
  if (holder === undefined || holder.released) return undefined;
  if (holder.node === state.config.self) return holder.node;
  const sameSession = state.members.get(holder.node)?.session === sessionOf(holder.incarnation);
  const heardAt = state.lease.acks.get(holder.node)?.receivedAt ?? LONG_AGO;
  return sameSession && now - heardAt < 2 * state.config.timings.heartbeat ? holder.node : undefined;
}

function startOf(turn: Turn, vip: Vip, orphan: Orphan, rank: number): MonotonicNs {
  const { state } = turn;
  if (rank < 0) return NEVER;
  const listened = state.config.rules.listenFirst ? after(state.startedAt, LISTEN) : state.startedAt;
  const heard = after(state.lease.heldSince, HEAR_FIRST);
  const from = Math.max(orphan.since, listened, heard) as MonotonicNs;
  const ranked = after(from, rank * RANK_STEP);
  if (heardUnfenced(turn, vip)) return after(ranked, UNFENCED_AFTER);
  const entry = state.vips.get(vip);
  if (state.claims.has(vip) || entry?.firstClaim.kind !== 'written') return ranked;
  if (entry.firstClaim.holder === state.config.self) return from;
  return after(ranked, FIRST_CLAIM_PATIENCE);
}

/**
 * A voter that restarted has forgotten whom it voted for, and suspects nobody. It asks the holders that list its old
 * session; where one is silent, succession may be tried.
 */
export function runDoubts(turn: Turn): void {
  const { state, now } = turn;
  if (now - state.startedAt < LISTEN) return;
  const { self, session } = state.config;
  const silent = new Set<number>();
  for (const { claim } of state.claims.values()) {
    const { holder } = claim;
    if (holder.released || holder.node === self || isVoid(turn, holder)) continue;
    if (!holder.list.voters.some((voter) => voter.node === self && voter.session !== session)) continue;
    if (now - (state.members.get(holder.node)?.heardAt ?? state.startedAt) < LISTEN) continue;
    silent.add(holder.incarnation);
    const since = state.doubts.get(holder.incarnation);
    if (since === undefined) state.doubts.set(holder.incarnation, now);
    else if (now - since >= LISTEN) {
      for (const node of [...others(turn), self]) {
        send(turn, node, { type: 'certificate', life: holder, list: holder.list, proven: false });
      }
      state.doubts.set(holder.incarnation, now);
    }
    compareTables(turn, holder.node, false);
  }
  for (const incarnation of state.doubts.keys()) if (!silent.has(incarnation)) state.doubts.delete(incarnation);
}

export function onAsk(turn: Turn, from: NodeName, vip: Vip): void {
  const claims = claimsOf(turn, [vip]);
  send(turn, from, { type: 'claims', claims });
}
