import { after, ms } from '../../net/clock.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import { hash32 } from '../../net/rendezvous.ts';
import { claimsOf, formerHolders, learn, take, tell } from './claims.ts';
import { compareBallots, keyOf } from './grants.ts';
import { onReleaseAccepted } from './hand-over.ts';
import type { Ballot, Claim, Grant, Holder, Life, Message, Seat, VoterList } from './messages.ts';
import { decides, type Replies, reforms } from './quorum.ts';
import { isOwnLife, ownHolder, ownLife, type Proposal, type State, send, type Turn, wake } from './state.ts';
import { newestList } from './suspicion.ts';
import { DEAD_VOTER, REFORM_AFTER } from './timings.ts';
import type { AnswerCause, Incarnation } from './types.ts';

const ASK_AGAIN = ms(15);
const ASK_AGAIN_AT_MOST = ms(200);
const GIVE_UP = ms(2000);

const NOBODY: Life = { node: '' as NodeName, incarnation: 0 as Incarnation };
const NO_LIST: VoterList = { version: 0, voters: [] };

/** Asks the voters of the last holder for the next epoch. */
export function propose(turn: Turn, last: Claim): void {
  const { holder, vip, epoch } = last;
  const seat: Seat = {
    vip,
    epoch,
    life: { node: holder.node, incarnation: holder.incarnation },
    open: holder.released && turn.state.config.rules.openRelease,
  };
  const list = newestList(turn.state, holder, holder.list);
  begin(turn, seat, list, epoch + 1, 'succession');
}

/** Asks the members for the first epoch of a VIP that nobody ever held. */
export function proposeFirst(turn: Turn, vip: Vip): void {
  const { state } = turn;
  const entry = state.vips.get(vip);
  const epoch = entry?.firstClaim.kind === 'written' ? Math.max(1, entry.firstClaim.epoch) : 1;
  if (!state.config.rules.firstClaimGranted) {
    take(
      turn,
      { vip, epoch, holder: ownHolder(state), routeKey: entry?.routeKey ?? '', moves: [], formerHolders: [] },
      'firstClaim',
      undefined,
    );
    return;
  }
  begin(turn, { vip, epoch: 0, life: NOBODY, open: false }, NO_LIST, epoch, 'firstClaim');
}

function begin(turn: Turn, seat: Seat, list: VoterList, epoch: number, cause: AnswerCause): void {
  const { state, now } = turn;
  const proposal: Proposal = {
    seat,
    list,
    ballot: { round: 1, life: ownLife(state) },
    claimant: ownHolder(state),
    cause,
    phase: 'prepare',
    reform: false,
    value: undefined,
    promises: new Map(),
    accepts: new Map(),
    epoch,
    startedAt: now,
    sendAt: now,
    gap: ASK_AGAIN,
  };
  state.proposals.set(seat.vip, proposal);
  ask(turn, proposal);
}

function restart(turn: Turn, proposal: Proposal, round: number, wait: number): void {
  proposal.ballot = { round, life: ownLife(turn.state) };
  proposal.phase = 'prepare';
  proposal.value = undefined;
  proposal.promises.clear();
  proposal.accepts.clear();
  proposal.gap = ASK_AGAIN;
  proposal.sendAt = after(turn.now, wait);
  if (wait === 0) ask(turn, proposal);
  wake(turn, 'succession', proposal.sendAt);
}

/** Sends what is due to those who have not answered, and again later. */
function ask(turn: Turn, proposal: Proposal): void {
  const { state, now } = turn;
  const { seat, list, ballot, reform, value, epoch } = proposal;
  const answered: ReadonlyMap<NodeName, unknown> = proposal.phase === 'prepare' ? proposal.promises : proposal.accepts;
  for (const node of electors(state, proposal)) {
    if (answered.has(node)) continue;
    if (value === undefined) send(turn, node, { type: 'prepare', seat, list, ballot, claimant: ballot.life, reform });
    else send(turn, node, { type: 'accept', seat, list, ballot, holder: value, epoch, reform });
  }
  proposal.sendAt = after(now, proposal.gap);
  proposal.gap = Math.min(ASK_AGAIN_AT_MOST, 2 * proposal.gap);
  wake(turn, 'succession', proposal.sendAt);
}

function electors(state: State, { list, reform, seat }: Proposal): Iterable<NodeName> {
  const voters = list.voters.map(({ node }) => node);
  return reform || seat.epoch === 0 ? new Set([...state.members.keys(), ...voters]) : voters;
}

export function runProposals(turn: Turn): void {
  const { state, now } = turn;
  for (const proposal of state.proposals.values()) {
    const stuck = now - proposal.startedAt;
    if (stuck > GIVE_UP) {
      state.proposals.delete(proposal.seat.vip);
      continue;
    }
    if (proposal.sendAt <= now) {
      if (stuck > REFORM_AFTER) reform(turn, proposal);
      ask(turn, proposal);
    }
    wake(turn, 'succession', proposal.sendAt);
  }
}

/** Too few voters remember: from now on a majority of the members is asked. */
function reform(turn: Turn, proposal: Proposal): void {
  if (proposal.reform || !turn.state.config.rules.reform) return;
  proposal.reform = true;
  restart(turn, proposal, proposal.ballot.round + 1, 0);
}

function enough({ state, now }: Turn, { seat, list, reform }: Proposal, replies: Replies): boolean {
  if (seat.epoch > 0 && decides(list.voters, replies)) return true;
  // A member removed lately may still be one in the eyes of others, and vote.
  const isGone = (node: NodeName) =>
    !state.members.has(node) && now - (state.removedAt.get(node) ?? state.startedAt) > DEAD_VOTER;
  return (reform || seat.epoch === 0) && reforms(list.voters, [...state.members.keys()], replies, isGone);
}

function proposalFor(turn: Turn, seat: Seat, ballot: Ballot): Proposal | undefined {
  const proposal = turn.state.proposals.get(seat.vip);
  if (proposal === undefined || keyOf(proposal.seat) !== keyOf(seat)) return undefined;
  return proposal.ballot.round === ballot.round && isOwnLife(turn.state, ballot.life) ? proposal : undefined;
}

export function onPromise(turn: Turn, from: NodeName, message: Extract<Message, { type: 'promise' }>): void {
  const proposal = proposalFor(turn, message.seat, message.ballot);
  if (proposal?.phase !== 'prepare') return;
  proposal.promises.set(from, { remembers: message.remembers, grant: message.grant });
  const replies = new Map([...proposal.promises].map(([node, { remembers }]) => [node, remembers]));
  if (!enough(turn, proposal, replies)) {
    if (proposal.seat.epoch > 0 && proposal.list.voters.every(({ node }) => replies.has(node))) reform(turn, proposal);
    return;
  }
  const granted = turn.state.config.rules.adoptGrants ? highestGrant(turn.state, proposal) : undefined;
  proposal.phase = 'accept';
  proposal.value = granted?.holder ?? proposal.claimant;
  if (granted !== undefined) proposal.epoch = granted.epoch;
  proposal.gap = ASK_AGAIN;
  ask(turn, proposal);
}

function highestGrant(state: State, { promises }: Proposal): Grant | undefined {
  let highest: Grant | undefined;
  for (const { grant } of promises.values()) {
    if (grant === undefined) continue;
    if (highest === undefined || compareBallots(state, grant.ballot, highest.ballot) > 0) highest = grant;
  }
  return highest;
}

export function onAccepted(turn: Turn, from: NodeName, message: Extract<Message, { type: 'accepted' }>): void {
  if (message.ballot.round === 0) {
    onReleaseAccepted(turn, from, message.seat);
    return;
  }
  const proposal = proposalFor(turn, message.seat, message.ballot);
  if (proposal?.phase !== 'accept' || proposal.value === undefined) return;
  proposal.accepts.set(from, proposal.promises.get(from)?.remembers ?? true);
  if (enough(turn, proposal, proposal.accepts)) decide(turn, proposal, proposal.value);
}

function decide(turn: Turn, proposal: Proposal, holder: Holder): void {
  const { state } = turn;
  const { vip } = proposal.seat;
  const last = claimsOf(turn, [vip])[0];
  const claim: Claim = {
    vip,
    epoch: proposal.epoch,
    holder,
    routeKey: state.vips.get(vip)?.routeKey ?? last?.routeKey ?? '',
    moves: last?.moves ?? [],
    formerHolders: last === undefined ? [] : formerHolders(last, holder.node),
  };
  state.proposals.delete(vip);
  if (isOwnLife(state, holder) && !holder.released) {
    take(turn, claim, proposal.cause, last?.holder.node);
    return;
  }
  // Somebody else was granted it before: the chain goes on behind that claim.
  learn(turn, claim);
  if (!holder.released) send(turn, holder.node, { type: 'decided', claim });
  tell(turn, [vip]);
}

export function onDecided(turn: Turn, from: NodeName, claim: Claim): void {
  const { state } = turn;
  const mine = isOwnLife(state, claim.holder) && !claim.holder.released;
  const known = state.claims.get(claim.vip)?.claim;
  if (mine && !state.holdings.has(claim.vip) && (known === undefined || claim.epoch > known.epoch)) {
    take(turn, claim, from === known?.holder.node ? 'handOver' : 'succession', known?.holder.node);
  } else learn(turn, claim);
}

export function onRefused(turn: Turn, from: NodeName, message: Extract<Message, { type: 'refused' }>): void {
  const { state } = turn;
  if (message.claim !== undefined) learn(turn, message.claim);
  const proposal = proposalFor(turn, message.seat, message.ballot);
  if (proposal === undefined) return;
  if (message.list !== undefined && message.list.version > proposal.list.version) {
    proposal.list = message.list;
    restart(turn, proposal, proposal.ballot.round + 1, 0);
  } else if (message.promised !== undefined) {
    const round = Math.max(proposal.ballot.round, message.promised.round) + 1;
    const turnOf = hash32(`${state.config.self} ${from} ${round}`) % 8;
    restart(turn, proposal, round, ms(2 + 4 * turnOf));
  }
}
