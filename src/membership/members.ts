import { after, type MonotonicNs, ms } from '../../net/clock.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import { hash32 } from '../../net/rendezvous.ts';
import { ofEligibility } from './candidates.ts';
import { resumeHoldings } from './claims.ts';
import { addSum } from './digest.ts';
import type { Message, StatusException } from './messages.ts';
import { replan, reviewOrphans } from './orphans.ts';
import { PAGE_BYTES } from './pages.ts';
import {
  LONG_AGO,
  type MemberState,
  type MemberStatus,
  others,
  report,
  type State,
  send,
  sessionOf,
  type Turn,
  wake,
  wakeIn,
} from './state.ts';
import { supersede } from './suspicion.ts';
import { TELL_AT } from './timings.ts';
import type { Incarnation, Member, SessionId } from './types.ts';
import { sendUnfenced } from './unfenced.ts';
import { beaten, dropFormer } from './voters.ts';

const GREET_FIRST = ms(100);
const GREET_AT_MOST = ms(2000);
const BLOCKED_AFTER = ms(1500);
const LOOK_EVERY = ms(500);
const STATUS_GAP = ms(20);

export function setMembers(turn: Turn, members: readonly Member[]): void {
  const { state, now } = turn;
  const listed = new Set(members.map(({ name }) => name));
  state.listed = listed.has(state.config.self);
  listed.add(state.config.self);
  for (const [node, member] of state.members) {
    if (listed.has(node)) continue;
    countStatus(state, member, undefined);
    state.members.delete(node);
    state.removedAt.set(node, now);
    if (member.session !== undefined) state.former.set(node, member.session);
  }
  for (const node of listed) {
    state.former.delete(node);
    state.removedAt.delete(node);
  }
  dropFormer(state);
  for (const { name, witness } of members) {
    const known = state.members.get(name);
    if (known !== undefined) known.witness = witness;
    else state.members.set(name, newMember(name, witness, now));
  }
  if (!state.members.has(state.config.self)) {
    state.members.set(state.config.self, newMember(state.config.self, state.config.witness, now));
  }
  const self = state.members.get(state.config.self);
  if (self !== undefined) {
    self.session = state.config.session;
    self.incarnation = state.incarnation;
  }
  state.orders.clear();
  renewStatus(turn);
  replan(turn);
  resumeHoldings(turn);
  for (const task of ['members', 'voters', 'lease', 'handOver', 'unfenced'] as const) wake(turn, task, now);
}

function newMember(node: NodeName, witness: boolean, now: MonotonicNs): MemberState {
  return {
    node,
    witness,
    session: undefined,
    sessionSince: now,
    incarnation: undefined,
    heardAt: LONG_AGO,
    dead: false,
    leaving: false,
    status: undefined,
    statusPages: undefined,
    greetAt: now,
    greetGap: GREET_FIRST,
    comparedAt: LONG_AGO,
    answeredAt: LONG_AGO,
    told: undefined,
  };
}

/** Any authentic datagram of a member. */
export function hear(turn: Turn, from: NodeName, session: SessionId): void {
  const { state, now } = turn;
  const member = state.members.get(from);
  if (member === undefined) return;
  const silence = now - member.heardAt;
  member.heardAt = now;
  if (silence > 3 * state.config.timings.heartbeat) welcome(turn, from);
  if (member.dead) {
    member.dead = false;
    replan(turn);
  }
  if (member.session === session) return;
  member.session = session;
  member.sessionSince = now;
  member.incarnation = undefined;
  member.leaving = false;
  countStatus(state, member, undefined);
  member.status = undefined;
  member.statusPages = undefined;
  reportMember(turn, member);
  greet(turn, member);
  wake(turn, 'voters', now);
  wakeIn(turn, 'members', state.config.timings.vote + 1);
}

/** What the member must know at once after a silence: that we live, and what we claim. */
function welcome(turn: Turn, node: NodeName): void {
  const { state, now } = turn;
  sendUnfenced(turn, node);
  reviewOrphans(turn, node);
  if (!state.formed || state.lease.held || !beaten(state.lease).some((voter) => voter.node === node)) return;
  state.lease.nextBeat = now;
  wake(turn, 'lease', now);
}

/** A heartbeat tells the life that its sender lives. */
export function hearLife(turn: Turn, from: NodeName, incarnation: Incarnation): void {
  const member = turn.state.members.get(from);
  if (member === undefined || member.session !== sessionOf(incarnation)) return;
  if (member.incarnation !== undefined && member.incarnation >= incarnation) return;
  member.incarnation = incarnation;
  supersede(turn, { node: from, incarnation });
  reviewOrphans(turn, from);
}

function reportMember(turn: Turn, member: MemberState): void {
  const { node, session, dead, status, told } = member;
  const [alive, draining, witness] = [!dead, status?.draining ?? false, member.witness || (status?.witness ?? false)];
  const same = told?.session === session && told?.alive === alive && told.draining === draining;
  if (same && told.witness === witness) return;
  member.told = { session, alive, draining, witness };
  report(turn, { kind: 'member', node, ...(session === undefined ? {} : { session }), alive, draining, witness });
}

// --- Own status ------------------------------------------------------------------------------------------------------

/** After anything that this node says of itself may have changed. */
export function renewStatus(turn: Turn): void {
  const { state } = turn;
  const exceptions: StatusException[] = [];
  for (const { vip, eligibility, ready } of state.vips.values()) {
    const found = ofEligibility(eligibility, ready);
    if (found === undefined) continue;
    const kind = eligibility.kind === 'ineligible' ? 'ineligible' : found.lastResort ? 'lastResort' : 'notReady';
    exceptions.push({ vip, kind, reason: found.reason });
  }
  const text = JSON.stringify([state.draining, exceptions]);
  if (text === state.status.text) return;
  Object.assign(state.status, { text, exceptions });
  announceStatus(turn);
}

/** Also without a change: after a time in which others may have taken this node for dead. */
export function announceStatus(turn: Turn): void {
  const { state, now } = turn;
  const { status } = state;
  // VIPs whose rules come into the kernel one by one would else be told of one by one.
  const at = Math.max(now, after(status.sentAt, status.drainingTold === state.draining ? STATUS_GAP : 0));
  Object.assign(status, { version: status.version + 1, at, step: 0 });
  const self = state.members.get(state.config.self);
  if (self !== undefined) {
    const { version, exceptions } = state.status;
    const { session, witness } = state.config;
    adopt(turn, self, { session, version, draining: state.draining, witness }, exceptions);
  }
  wake(turn, 'members', now);
}

export function statusPages(turn: Turn, node: NodeName): Message[] {
  const { state } = turn;
  const member = state.members.get(node);
  const status = member?.status;
  if (member === undefined || status === undefined) return [];
  const pages = exceptionPages([...status.exceptions.values()]);
  return pages.map((exceptions, page) => ({
    type: 'status',
    subject: node,
    session: status.session,
    version: status.version,
    page,
    pages: pages.length,
    draining: status.draining,
    witness: status.witness,
    exceptions,
  }));
}

/** A reason is written once a page. */
function exceptionPages(exceptions: readonly StatusException[]): StatusException[][] {
  const sorted = [...exceptions].sort((a, b) => (a.reason < b.reason ? -1 : a.reason > b.reason ? 1 : 0));
  const pages: StatusException[][] = [[]];
  let bytes = 0;
  let reason: string | undefined;
  for (const exception of sorted) {
    const own = 20 + (exception.reason === reason ? 0 : 3 * exception.reason.length + 3);
    if (bytes + own > PAGE_BYTES) {
      pages.push([]);
      bytes = 3 * exception.reason.length + 3;
    }
    pages.at(-1)?.push(exception);
    bytes += own;
    reason = exception.reason;
  }
  return pages;
}

/** Tells a member who we are: our session and what we may not lead. */
function greet(turn: Turn, member: MemberState): void {
  const { self } = turn.state.config;
  if (member.node === self) return;
  for (const page of statusPages(turn, self)) send(turn, member.node, page);
  member.greetAt = after(turn.now, member.greetGap);
  member.greetGap = Math.min(GREET_AT_MOST, 2 * member.greetGap);
}

// --- Others' status --------------------------------------------------------------------------------------------------

export function onStatus(turn: Turn, from: NodeName, message: Extract<Message, { type: 'status' }>): void {
  const { state } = turn;
  const member = state.members.get(message.subject);
  if (member === undefined || message.subject === state.config.self) return;
  // A third member's word counts only for the session that was heard here: sessions have no order.
  if (member.session !== message.session) return;
  if (member.status !== undefined && member.status.version >= message.version) return;
  let partial = member.statusPages;
  if (
    partial?.session !== message.session ||
    partial.version !== message.version ||
    partial.pages.length !== message.pages
  ) {
    if (partial?.session === message.session && partial.version > message.version) return;
    partial = {
      session: message.session,
      version: message.version,
      pages: new Array<undefined>(message.pages).fill(undefined),
    };
    member.statusPages = partial;
  }
  if (message.page >= message.pages) return;
  partial.pages[message.page] = message.exceptions;
  if (partial.pages.includes(undefined)) return;
  member.statusPages = undefined;
  const exceptions = partial.pages.flatMap((page) => page ?? []);
  adopt(turn, member, message, exceptions);
  if (message.subject === from || !member.dead) reportMember(turn, member);
}

function adopt(
  turn: Turn,
  member: MemberState,
  { session, version, draining, witness }: Pick<MemberStatus, 'session' | 'version' | 'draining' | 'witness'>,
  exceptions: readonly StatusException[],
): void {
  const { state, now } = turn;
  const before = member.status;
  const byVip = new Map(exceptions.map((exception) => [exception.vip, exception]));
  const eligibleSince = new Map<Vip, MonotonicNs>();
  if (before !== undefined) {
    for (const [vip, at] of before.eligibleSince) if (!byVip.has(vip)) eligibleSince.set(vip, at);
    for (const vip of before.exceptions.keys()) if (!byVip.has(vip)) eligibleSince.set(vip, now);
  }
  const kept = before !== undefined && before.session === session && !before.draining;
  const since = kept ? before.since : now;
  const status = { session, version, draining, witness, exceptions: byVip, eligibleSince, since };
  countStatus(state, member, status);
  member.status = status;
  replan(turn);
  wake(turn, 'handOver', now);
}

function statusSum(node: NodeName, status: MemberStatus | undefined): number {
  return status === undefined ? 0 : hash32(`${node} ${status.session} ${status.version}`);
}

function countStatus(state: State, member: MemberState, next: MemberStatus | undefined): void {
  addSum(state, member.node, statusSum(member.node, member.status) ^ statusSum(member.node, next));
}

// --- Housekeeping ----------------------------------------------------------------------------------------------------

export function runMembers(turn: Turn): void {
  const { state, now } = turn;
  wakeIn(turn, 'members', LOOK_EVERY);
  tellStatus(turn);
  for (const member of state.members.values()) {
    if (member.session === undefined && member.greetAt <= now) greet(turn, member);
    if (member.session === undefined) wake(turn, 'members', member.greetAt);
  }
  watchBlocked(turn);
}

function tellStatus(turn: Turn): void {
  const { state, now } = turn;
  const { status } = state;
  if (status.at > now) {
    wake(turn, 'members', status.at);
    return;
  }
  const pages = statusPages(turn, state.config.self);
  for (const node of others(turn)) for (const page of pages) send(turn, node, page);
  status.sentAt = now;
  status.drainingTold = state.draining;
  status.step++;
  status.at = after(now, (TELL_AT[status.step] ?? Infinity) - (TELL_AT[status.step - 1] ?? 0));
  wake(turn, 'members', status.at);
}

/** Voters that answer ARP or NDP but none of our datagrams: something drops UDP between us. */
function watchBlocked(turn: Turn): void {
  const { state, now } = turn;
  if (now - state.startedAt < BLOCKED_AFTER) return;
  const silent = beaten(state.lease)
    .map(({ node }) => state.members.get(node))
    .filter((member) => member !== undefined && member.node !== state.config.self)
    .filter((member) => now - (member?.heardAt ?? now) > BLOCKED_AFTER);
  const nodes = silent.flatMap((member) =>
    member !== undefined && now - member.answeredAt < 2 * BLOCKED_AFTER ? [member.node] : [],
  );
  if (nodes.join(' ') !== state.blocked.join(' ')) {
    state.blocked = nodes;
    report(turn, { kind: 'heartbeatsBlocked', nodes });
  }
  if (silent.length === 0) return;
  turn.effects.push({ type: 'probeNeighbours', members: silent.flatMap((member) => (member ? [member.node] : [])) });
}

/** A member that leaves takes no vote with it. */
export function onLeaving(turn: Turn, from: NodeName): void {
  const member = turn.state.members.get(from);
  if (member === undefined || member.leaving) return;
  member.leaving = true;
  replan(turn);
  wake(turn, 'voters', turn.now);
}
