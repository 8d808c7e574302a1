import type { NodeName, Vip } from '../../net/names.ts';
import type { Ballot, Life, Message, Seat, VoterList } from './messages.ts';
import { LONG_AGO, type Register, type State, sameLife, send, sessionOf, type Turn } from './state.ts';
import { hasVoted, newestList } from './suspicion.ts';
import { FIRST_CLAIM_PATIENCE, LISTEN } from './timings.ts';
import { claimsFirst } from './unfenced.ts';

type Prepare = Extract<Message, { type: 'prepare' }>;
type Accept = Extract<Message, { type: 'accept' }>;

export function compareBallots(state: State, a: Ballot, b: Ballot): number {
  const named = state.config.rules.ballotNamesIncarnation ? a.life.incarnation - b.life.incarnation : 0;
  return a.round - b.round || (a.life.node < b.life.node ? -1 : a.life.node > b.life.node ? 1 : 0) || named;
}

export function keyOf({ vip, epoch, life }: Seat): string {
  return `${vip} ${epoch} ${life.incarnation} ${life.node}`;
}

function registerOf(state: State, seat: Seat): Register {
  const key = keyOf(seat);
  let register = state.registers.get(key);
  if (register === undefined) {
    register = { seat, promised: undefined, grant: undefined };
    state.registers.set(key, register);
  }
  return register;
}

/** Registers of seats that later claims have passed. */
export function forgetRegisters(state: State): void {
  for (const [key, { seat }] of state.registers) {
    const known = state.claims.get(seat.vip)?.claim;
    if (known !== undefined && known.epoch > seat.epoch) state.registers.delete(key);
  }
}

type Standing = 'silent' | 'refuses' | 'remembers' | 'forgot';

/** As what this node may answer about a seat. */
function standing(turn: Turn, seat: Seat, list: VoterList, claimant: Life, reform: boolean): Standing {
  const { state, now } = turn;
  const { self, session, rules, timings } = state.config;
  const age = now - state.startedAt;
  if (claimsFirst(turn, seat.vip, claimant.node)) return 'refuses';
  const young = rules.listenFirst && age < LISTEN;
  if (seat.epoch === 0) return young || !mayBeFirst(turn, seat.vip, claimant) ? 'silent' : 'remembers';
  const listed = list.voters.find(({ node }) => node === self);
  if (listed === undefined) return reform && !young ? 'remembers' : 'silent';
  if (rules.votersBySession && listed.session !== session) {
    if (age < timings.vote) return 'silent';
    return 'forgot';
  }
  if (seat.open || hasVoted(turn, seat.life)) return 'remembers';
  return 'refuses';
}

/** Whether the claimant is the one written, or the written one had its time. */
function mayBeFirst(turn: Turn, vip: Vip, claimant: Life): boolean {
  const { state, now } = turn;
  const entry = state.vips.get(vip);
  if (entry?.firstClaim.kind !== 'written' || entry.firstClaim.holder === claimant.node) return true;
  return now - (state.vipSince.get(vip) ?? LONG_AGO) >= FIRST_CLAIM_PATIENCE;
}

export function onPrepare(turn: Turn, from: NodeName, message: Prepare): void {
  const { state } = turn;
  const { seat, ballot, list } = message;
  const stands = standing(turn, seat, list, message.claimant, message.reform);
  if (stands === 'silent' || refusedForMore(turn, from, seat, ballot, list)) return;
  if (stands === 'refuses') {
    send(turn, from, { type: 'refused', seat, ballot });
    return;
  }
  const register = registerOf(state, seat);
  if (register.promised !== undefined && compareBallots(state, ballot, register.promised) < 0) {
    send(turn, from, { type: 'refused', seat, ballot, promised: register.promised });
    return;
  }
  register.promised = ballot;
  send(turn, from, {
    type: 'promise',
    seat,
    ballot,
    remembers: stands === 'remembers',
    ...(register.grant === undefined ? {} : { grant: register.grant }),
  });
}

/** Tells the claimant of a later claim, or of a later list of voters. */
function refusedForMore(turn: Turn, from: NodeName, seat: Seat, ballot: Ballot, list: VoterList): boolean {
  const known = turn.state.claims.get(seat.vip)?.claim;
  const claim = known !== undefined && known.epoch > seat.epoch ? known : undefined;
  const newest = seat.epoch === 0 ? list : newestList(turn.state, seat.life, list);
  if (claim === undefined && newest.version <= list.version) return false;
  send(turn, from, {
    type: 'refused',
    seat,
    ballot,
    ...(newest.version > list.version ? { list: newest } : {}),
    ...(claim === undefined ? {} : { claim }),
  });
  return true;
}

export function onAccept(turn: Turn, from: NodeName, message: Accept): void {
  const { state } = turn;
  const { seat, ballot, list, holder, epoch } = message;
  const release = ballot.round === 0 && ballot.life.node === from && sameLife(ballot.life, seat.life);
  if (!release) {
    const stands = standing(turn, seat, list, ballot.life, message.reform);
    if (stands === 'silent' || stands === 'refuses' || refusedForMore(turn, from, seat, ballot, list)) return;
  } else if (!mayRelease(state, from, seat, list)) return;
  const register = registerOf(state, seat);
  if (register.promised !== undefined && compareBallots(state, ballot, register.promised) < 0) {
    send(turn, from, { type: 'refused', seat, ballot, promised: register.promised });
    return;
  }
  register.promised = ballot;
  register.grant = { ballot, holder, epoch };
  send(turn, from, { type: 'accepted', seat, ballot });
}

/** A release counts only with those voters that the life lists as what they are. */
function mayRelease(state: State, from: NodeName, seat: Seat, list: VoterList): boolean {
  const { self, session } = state.config;
  const current = from === self ? session : state.members.get(from)?.session;
  if (current !== sessionOf(seat.life.incarnation)) return false;
  return list.voters.some((voter) => voter.node === self && voter.session === session);
}
