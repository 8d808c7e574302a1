import { after, type MonotonicNs } from '../../net/clock.ts';
import type { NodeName } from '../../net/names.ts';
import { dropHoldings, interruptHoldings, resumeHoldings } from './claims.ts';
import { abandonHandOvers } from './hand-over.ts';
import type { Message, Voter, VoterList } from './messages.ts';
import { replan } from './orphans.ts';
import {
  incarnationOf,
  type LeaseState,
  LONG_AGO,
  majority,
  NEVER,
  others,
  report,
  type State,
  send,
  type Turn,
  wake,
} from './state.ts';
import { YIELD_AFTER } from './timings.ts';
import type { SessionId } from './types.ts';
import { goOnUnfenced } from './unfenced.ts';
import { beaten, dropFormer, firstList, listAcknowledged, sameVoters } from './voters.ts';

const BEATS_KEPT = 64;

export function noLease(list: VoterList, now: MonotonicNs): LeaseState {
  return {
    list,
    previous: undefined,
    formedAt: now,
    acks: new Map(),
    refusers: new Set(),
    number: 0,
    sentAt: [],
    until: LONG_AGO,
    held: false,
    heldSince: now,
    lostAt: now,
    nextBeat: now,
    resendAt: NEVER,
    troubledAt: undefined,
  };
}

/** Whether this node may act as a holder now. */
export function leased(turn: Turn): boolean {
  return turn.now < turn.state.lease.until;
}

/** Whether the lease is being renewed: who is about to lose it, with its voters gone, claims nothing. */
export function firmlyLeased({ state, now }: Turn): boolean {
  return state.lease.until - now >= state.config.timings.lease / 2;
}

/** Sends heartbeats, and finds when the lease ends. */
export function runLease(turn: Turn): void {
  const { state, now } = turn;
  const { lease } = state;
  if (!state.formed) return;
  const { heartbeat } = state.config.timings;
  if (now >= lease.nextBeat) {
    lease.number++;
    lease.sentAt[lease.number % BEATS_KEPT] = now;
    lease.nextBeat = after(now, heartbeat);
    lease.resendAt = after(now, heartbeat / 2);
    for (const { node } of beaten(lease)) beat(turn, node);
  } else if (now >= lease.resendAt) {
    lease.resendAt = NEVER;
    resend(turn);
  }
  settleLease(turn);
  wake(turn, 'lease', lease.nextBeat);
  wake(turn, 'lease', lease.resendAt);
}

/** Once more, at half the interval, to living voters that have not acknowledged: a lost packet costs no lease. */
function resend(turn: Turn): void {
  const { lease } = turn.state;
  const late: NodeName[] = [];
  for (const { node } of beaten(lease)) {
    const ack = lease.acks.get(node);
    if (
      ack !== undefined &&
      ack.number < lease.number &&
      turn.now - ack.receivedAt < 20 * turn.state.config.timings.heartbeat
    ) {
      late.push(node);
    }
  }
  if (late.length === 0) return;
  lease.number++;
  lease.sentAt[lease.number % BEATS_KEPT] = turn.now;
  for (const node of late) beat(turn, node);
}

function beat(turn: Turn, to: NodeName): void {
  const { state } = turn;
  const { self } = state.config;
  if (to === self) return;
  const { list, number } = state.lease;
  const known = state.lease.acks.get(to)?.version === list.version;
  send(turn, to, {
    type: 'heartbeat',
    incarnation: state.incarnation,
    number,
    version: list.version,
    ...(known ? {} : { list }),
    digest: state.digest,
  });
}

export function onAcknowledge(
  turn: Turn,
  from: NodeName,
  session: SessionId,
  message: Extract<Message, { type: 'acknowledge' }>,
): void {
  const { state, now } = turn;
  const { lease, config } = state;
  if (message.incarnation !== state.incarnation || message.number > lease.number) return;
  if (message.number <= lease.number - BEATS_KEPT) return;
  const voter = beaten(lease).find(({ node }) => node === from);
  if (voter === undefined) return;
  if (config.rules.votersBySession && voter.session !== session) return;
  const sent = lease.sentAt[message.number % BEATS_KEPT] ?? LONG_AGO;
  const counted = config.rules.leaseFromSending ? sent : now;
  let ack = lease.acks.get(from);
  if (ack === undefined) {
    ack = { sentAt: LONG_AGO, receivedAt: now, number: 0, version: 0 };
    lease.acks.set(from, ack);
  }
  if (counted > ack.sentAt) ack.sentAt = counted;
  ack.receivedAt = now;
  if (message.number > ack.number) ack.number = message.number;
  if (message.version > ack.version) {
    ack.version = message.version;
    listAcknowledged(turn);
  }
  // One in ten is enough for a metric, and spares the main thread a message for each.
  if (message.number % 10 === 0) report(turn, { kind: 'roundTrip', voter: from, nanoseconds: now - sent });
  settleLease(turn);
}

/** Until when a majority of each list in force has acknowledged. */
function leaseEnd(state: State): MonotonicNs {
  const { list, previous } = state.lease;
  const current = majorityUntil(state, list.voters);
  return previous === undefined ? current : (Math.min(current, majorityUntil(state, previous)) as MonotonicNs);
}

function majorityUntil(state: State, voters: readonly Voter[]): MonotonicNs {
  const { acks } = state.lease;
  const { self, timings } = state.config;
  const sent = voters.map(({ node }) => (node === self ? NEVER : (acks.get(node)?.sentAt ?? LONG_AGO)));
  sent.sort((a, b) => b - a);
  return after(sent[majority(voters.length) - 1] ?? LONG_AGO, timings.lease);
}

/** After anything that may have moved the end of the lease. */
export function settleLease(turn: Turn): void {
  const { state, now } = turn;
  const { lease } = state;
  lease.until = leaseEnd(state);
  const held = now < lease.until;
  if (held && !lease.held) {
    lease.held = true;
    lease.heldSince = now;
    lease.troubledAt = undefined;
    reportLease(turn);
    resumeHoldings(turn);
    replan(turn);
    wake(turn, 'voters', now);
    wake(turn, 'unfenced', now);
  } else if (!held && lease.held) {
    lease.held = false;
    lease.lostAt = now;
    reportLease(turn);
    goOnUnfenced(turn);
    interruptHoldings(turn);
    wake(turn, 'unfenced', now);
  }
  if (held) {
    wake(turn, 'lease', lease.until);
    watchNeighbours(turn);
  } else {
    const yieldAt = after(lease.lostAt, YIELD_AFTER);
    if (now >= yieldAt) yieldHoldings(turn);
    else wake(turn, 'lease', yieldAt);
  }
}

/** While the lease runs low, neighbours are asked: a holder among two goes on only if one answers. */
function watchNeighbours(turn: Turn): void {
  const { state, now } = turn;
  const { lease } = state;
  const { heartbeat } = state.config.timings;
  const low = after(lease.until, -2.5 * heartbeat);
  if (now < low) {
    lease.troubledAt = undefined;
    if (state.holdings.size > 0 && lease.until !== NEVER) wake(turn, 'lease', low);
    return;
  }
  if (state.holdings.size === 0) return;
  lease.troubledAt ??= now;
  turn.effects.push({ type: 'probeNeighbours', members: others(turn) });
  wake(turn, 'lease', after(now, heartbeat / 2));
}

/**
 * Without a lease for 50 ms a node gives up what it holds: its next incarnation says so in every heartbeat. Without
 * this rule a node that can send but not receive would keep its VIPs dark, since its voters hear it.
 */
function yieldHoldings(turn: Turn): void {
  const { state } = turn;
  if (state.holdings.size > 0 || state.proposals.size > 0) {
    if (state.config.rules.yieldWithoutLease) beginLife(turn);
    return;
  }
  if (!sameVoters(firstList(turn), state.lease.list.voters)) beginLife(turn);
}

/** This life is void: nothing that it held is held any more. */
export function beginLife(turn: Turn): void {
  const { state, now } = turn;
  if (state.lease.held) {
    state.lease.lostAt = now;
    interruptHoldings(turn);
  }
  const lostAt = state.lease.lostAt;
  state.lives++;
  state.incarnation = incarnationOf(state.config.session, state.lives);
  state.proposals.clear();
  abandonHandOvers(turn);
  state.lease = noLease({ version: 1, voters: firstList(turn) }, now);
  state.lease.lostAt = lostAt;
  dropHoldings(turn);
  dropFormer(state);
  reportLease(turn);
  wake(turn, 'lease', now);
}

/** A voter of this life voted it void. */
export function onOwnVoid(turn: Turn, from: NodeName): void {
  const { lease } = turn.state;
  if (!beaten(lease).some(({ node }) => node === from)) return;
  lease.refusers.add(from);
  const blocks = (voters: readonly Voter[]) =>
    voters.filter(({ node }) => lease.refusers.has(node)).length > voters.length - majority(voters.length);
  if (blocks(lease.list.voters) || (lease.previous !== undefined && blocks(lease.previous))) beginLife(turn);
  else wake(turn, 'voters', turn.now);
}

export function reportLease(turn: Turn): void {
  const { state } = turn;
  const { list, held } = state.lease;
  report(turn, {
    kind: 'lease',
    held,
    incarnation: state.incarnation,
    voters: list.voters.map(({ node }) => node),
    version: list.version,
  });
}
