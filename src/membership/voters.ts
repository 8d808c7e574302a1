import { ms } from '../../net/clock.ts';
import type { NodeName } from '../../net/names.ts';
import { rendezvousOrder } from '../../net/rendezvous.ts';
import { relistClaims } from './claims.ts';
import { compareTables } from './digest.ts';
import { leased, reportLease } from './lease.ts';
import type { Voter } from './messages.ts';
import { type LeaseState, majority, type State, type Turn, wake, wakeIn } from './state.ts';
import { DEAD_VOTER, MAX_VOTERS } from './timings.ts';
import type { SessionId } from './types.ts';

/** Stands for a member that was never heard: it acknowledges nothing until its session takes its place. */
const UNKNOWN_SESSION = 0 as SessionId;
/** The names of all voters must fit into one datagram beside a claim. */
const MAX_NAME_BYTES = 640;
const LIVELY = ms(1000);

/** Whom this life sends heartbeats: its voters, and those of the list before until that is acknowledged. */
export function beaten(lease: LeaseState): readonly Voter[] {
  const { list, previous } = lease;
  if (previous === undefined) return list.voters;
  return [...list.voters, ...previous.filter((voter) => !list.voters.some(({ node }) => node === voter.node))];
}

/** The list that a life begins with: members that are heard first, then by rank; itself too if they are even. */
export function firstList(turn: Turn): Voter[] {
  const { state } = turn;
  const ranked = rankedMembers(state);
  const chosen = [
    ...ranked.filter((node) => isLively(turn, node)),
    ...ranked.filter((node) => !isLively(turn, node)),
  ].slice(0, votersThatFit(ranked));
  const voters = chosen.map((node) => voter(state, node));
  return voters.length % 2 === 0 ? [...voters, voter(state, state.config.self)] : voters;
}

function voter(state: State, node: NodeName): Voter {
  const session = node === state.config.self ? state.config.session : state.members.get(node)?.session;
  return { node, session: session ?? UNKNOWN_SESSION };
}

function rankedMembers(state: State): NodeName[] {
  const { self } = state.config;
  return rendezvousOrder(
    self,
    [...state.members.keys()].filter((node) => node !== self),
  );
}

function votersThatFit(ranked: readonly NodeName[]): number {
  const longest = ranked.reduce((bytes, node) => Math.max(bytes, node.length), 1);
  return Math.max(2, Math.min(MAX_VOTERS, Math.floor(MAX_NAME_BYTES / longest)));
}

function isLively(turn: Turn, node: NodeName): boolean {
  const member = turn.state.members.get(node);
  if (member?.session === undefined || member.dead || member.leaving) return false;
  return turn.now - member.heardAt < LIVELY;
}

export function sameVoters(a: readonly Voter[], b: readonly Voter[]): boolean {
  if (a.length !== b.length) return false;
  return a.every((one) => b.some(({ node, session }) => node === one.node && session === one.session));
}

/** Changes one voter, under a lease, when the change before is acknowledged. */
export function runVoters(turn: Turn): void {
  const { state } = turn;
  const { lease, config } = state;
  wakeIn(turn, 'voters', ms(1000));
  if (!state.formed || !leased(turn) || lease.previous !== undefined) return;
  const next = config.rules.jointMajorities ? changed(turn) : firstList(turn);
  if (next === undefined || sameVoters(next, lease.list.voters)) return;
  if (config.rules.jointMajorities) lease.previous = lease.list.voters;
  lease.list = { version: lease.list.version + 1, voters: next };
  relistClaims(turn);
  reportLease(turn);
  lease.nextBeat = turn.now;
  wake(turn, 'lease', turn.now);
  listAcknowledged(turn);
}

/** The list one step nearer to the members that live; undefined if it is right. */
function changed(turn: Turn): readonly Voter[] | undefined {
  const { state } = turn;
  const { self } = state.config;
  const { voters } = state.lease.list;
  const bad = voters.find((one) => one.node !== self && isBad(turn, one));
  const listsSelf = voters.some(({ node }) => node === self);
  if (bad !== undefined) {
    if (voters.length > 1) return voters.filter((one) => one !== bad);
    return [...voters, voter(state, self)];
  }
  const listed = voters.length - (listsSelf ? 1 : 0);
  const ranked = rankedMembers(state);
  if (listed < Math.min(votersThatFit(ranked), ranked.length)) {
    const missing = ranked.filter(
      (node) => !voters.some((one) => one.node === node) && !state.lease.refusers.has(node),
    );
    const found = missing.find((node) => isLively(turn, node));
    if (found !== undefined) return [...voters, voter(state, found)];
    // Members that nothing was heard of lately are asked, and may be added at the next look.
    for (const node of missing.slice(0, 3)) compareTables(turn, node, false);
  }
  if (listed % 2 === 0 && !listsSelf) return [...voters, voter(state, self)];
  if (listed % 2 === 1 && listsSelf) return voters.filter(({ node }) => node !== self);
  return undefined;
}

function isBad(turn: Turn, { node, session }: Voter): boolean {
  const { state, now } = turn;
  const member = state.members.get(node);
  if (member === undefined || member.leaving || state.lease.refusers.has(node)) return true;
  if (member.session !== undefined && member.session !== session) return true;
  return now - Math.max(state.lease.acks.get(node)?.receivedAt ?? 0, state.lease.formedAt) > DEAD_VOTER;
}

/** Removed members that vote no more for this life. */
export function dropFormer(state: State): void {
  const voters = beaten(state.lease);
  for (const node of state.former.keys()) if (!voters.some((one) => one.node === node)) state.former.delete(node);
}

/** The list before counts no more once a majority of both has acknowledged the new one. */
export function listAcknowledged(turn: Turn): void {
  const { lease, config } = turn.state;
  const { previous, list } = lease;
  if (previous === undefined) return;
  const knows = ({ node }: Voter) => node === config.self || lease.acks.get(node)?.version === list.version;
  const enough = (voters: readonly Voter[]) => voters.filter(knows).length >= majority(voters.length);
  if (!enough(previous) || !enough(list.voters)) return;
  lease.previous = undefined;
  for (const node of lease.acks.keys()) {
    if (!list.voters.some((one) => one.node === node)) lease.acks.delete(node);
  }
  dropFormer(turn.state);
  wake(turn, 'voters', turn.now);
}
