import { after, type MonotonicNs, ms } from '../../net/clock.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import { forgetClaims, resumeHoldings, runClaims, serve, stopAnswering } from './claims.ts';
import { onConflict, runConflicts } from './conflict.ts';
import { reportDark } from './dark.ts';
import { BUCKETS } from './digest.ts';
import { forgetRegisters } from './grants.ts';
import { rebalance, runHandOvers, startHandOver } from './hand-over.ts';
import { noLease, reportLease, runLease } from './lease.ts';
import { drain, leave, runLeave, undrain } from './leave.ts';
import { hear, renewStatus, runMembers, setMembers } from './members.ts';
import { onFirstProbed, replan, review, runDoubts, runOrphans } from './orphans.ts';
import { receive, receiveFormer } from './receive.ts';
import {
  incarnationOf,
  LONG_AGO,
  NEVER,
  others,
  type State,
  send,
  TASKS,
  type Task,
  type Turn,
  wake,
} from './state.ts';
import { runProposals } from './succession.ts';
import { forgetLives, noticeGap, onSocketsDrained, runSuspicion } from './suspicion.ts';
import { DEAD_VOTER, LISTEN } from './timings.ts';
import type { Effect, MembershipConfig, MembershipEvent } from './types.ts';
import { onUnfencedProbed, runUnfenced } from './unfenced.ts';
import { firstList, runVoters } from './voters.ts';

export type MembershipState = State;

export interface Step {
  readonly state: MembershipState;
  readonly effects: readonly Effect[];
}

const HOUSEKEEP_EVERY = ms(5000);

/** The machine of one segment, before its `start` event. */
export function create(config: MembershipConfig, now: MonotonicNs): MembershipState {
  const incarnation = incarnationOf(config.session, 1);
  return {
    config,
    startedAt: now,
    lives: 1,
    incarnation,
    formed: false,
    formAt: undefined,
    members: new Map(),
    former: new Map(),
    removedAt: new Map(),
    orders: new Map(),
    vips: new Map(),
    vipSince: new Map(),
    lease: noLease({ version: 0, voters: [] }, now),
    subjects: new Map(),
    claims: new Map(),
    sums: new Array<number>(BUCKETS).fill(0),
    digest: 0,
    holdings: new Map(),
    registers: new Map(),
    proposals: new Map(),
    orphans: new Map(),
    planFrom: LONG_AGO,
    handOvers: new Map(),
    unfenced: { heard: new Map(), own: new Map(), tellAt: now, lookedAt: LONG_AGO, neighboursAskedAt: LONG_AGO },
    tells: [],
    doubts: new Map(),
    doubted: new Map(),
    certificates: [],
    status: { version: 0, text: '', exceptions: [], at: NEVER, step: 0, sentAt: LONG_AGO, drainingTold: false },
    listed: true,
    draining: false,
    drainTo: undefined,
    leavingSince: undefined,
    droppedBy: undefined,
    left: false,
    stalled: false,
    carrier: true,
    neighbourAt: LONG_AGO,
    drainingSockets: undefined,
    lastStepAt: now,
    asked: new Map(),
    strangers: new Map(),
    defendedAt: new Map(),
    probes: new Map(),
    blocked: [],
    darkTold: new Map(),
    housekeepAt: after(now, HOUSEKEEP_EVERY),
    alarms: Object.fromEntries(TASKS.map((task) => [task, NEVER])) as Record<Task, MonotonicNs>,
    timerAt: NEVER,
  };
}

/**
 * The protocol: no I/O, no clock, no randomness. The state handed in is consumed (it is changed in place, since a
 * node takes a thousand messages a second): go on with the one returned.
 */
export function step(state: MembershipState, event: MembershipEvent, now: MonotonicNs): Step {
  const turn: Turn = { state, now, effects: [], inbox: [] };
  if (state.left) return { state, effects: turn.effects };
  noticeGap(turn);
  handle(turn, event);
  settle(turn);
  setTimer(turn);
  return { state, effects: turn.effects };
}

/** Whose datagrams count: the members, and those removed that still vote for this life. */
export function peers(state: MembershipState): NodeName[] {
  return [...state.members.keys(), ...state.former.keys()].filter((node) => node !== state.config.self);
}

/** Whether an answer for `vip` may leave this node at `now`: to be asked immediately before each transmission. */
export function mayAnswer(state: MembershipState, vip: Vip, now: MonotonicNs): boolean {
  if (state.unfenced.own.get(vip)?.phase === 'answering') return true;
  return now < state.lease.until && state.holdings.get(vip)?.phase === 'answering';
}

function handle(turn: Turn, event: MembershipEvent): void {
  const { state, now } = turn;
  switch (event.type) {
    case 'start':
      start(turn);
      break;
    case 'message':
      if (event.from === state.config.self) return;
      if (state.former.has(event.from)) receiveFormer(turn, event);
      if (!state.members.has(event.from)) return;
      hear(turn, event.from, event.session);
      receive(turn, event.from, event.session, event.message);
      break;
    case 'timer':
      break;
    case 'socketsDrained':
      onSocketsDrained(turn);
      break;
    case 'members':
      setMembers(turn, event.members);
      break;
    case 'vips':
      setVips(turn, event);
      break;
    case 'drain':
      drain(turn, event.to);
      break;
    case 'undrain':
      undrain(turn);
      break;
    case 'leave':
      leave(turn);
      break;
    case 'handOver':
      startHandOver(turn, event.vip, event.to, false);
      break;
    case 'rebalance':
      for (const node of others(turn)) send(turn, node, { type: 'rebalance' });
      rebalance(turn);
      break;
    case 'stalled':
      state.stalled = event.stalled;
      break;
    case 'carrier':
      setCarrier(turn, event.up);
      break;
    case 'neighbourAnswered': {
      state.neighbourAt = now;
      const member = event.node === undefined ? undefined : state.members.get(event.node);
      if (member !== undefined) member.answeredAt = now;
      break;
    }
    case 'probed': {
      const purpose = state.probes.get(event.vip);
      state.probes.delete(event.vip);
      if (purpose === 'firstClaim') onFirstProbed(turn, event.vip, event.answer);
      else if (purpose === 'unfenced') onUnfencedProbed(turn, event.vip, event.answer);
      break;
    }
    case 'conflict':
      onConflict(turn, event);
      break;
    default:
      event satisfies never;
  }
}

function start(turn: Turn): void {
  const { state, now } = turn;
  if (state.members.size === 0) setMembers(turn, [{ name: state.config.self, witness: state.config.witness }]);
  wake(turn, 'members', now);
  // Voters are chosen among those that answered the first greetings.
  const formAt = state.config.rules.listenFirst ? after(now, LISTEN / 2) : now;
  wake(turn, 'lease', formAt);
  state.formAt = formAt;
}

function setVips(turn: Turn, { upserts, deletes }: Extract<MembershipEvent, { type: 'vips' }>): void {
  const { state, now } = turn;
  for (const entry of upserts) {
    state.vips.set(entry.vip, entry);
    if (!state.vipSince.has(entry.vip)) state.vipSince.set(entry.vip, now);
    review(turn, entry.vip);
    const holding = state.holdings.get(entry.vip);
    if (holding !== undefined) serve(turn, holding);
  }
  for (const vip of deletes) {
    state.vips.delete(vip);
    state.vipSince.delete(vip);
    state.orders.delete(vip);
    state.proposals.delete(vip);
    review(turn, vip);
    const holding = state.holdings.get(vip);
    if (holding !== undefined) stopAnswering(turn, holding, 'vipRemoved');
  }
  renewStatus(turn);
  replan(turn);
  wake(turn, 'handOver', now);
  wake(turn, 'unfenced', now);
}

function setCarrier(turn: Turn, up: boolean): void {
  const { state, now } = turn;
  state.carrier = up;
  if (up) resumeHoldings(turn);
  wake(turn, 'handOver', now);
  wake(turn, 'unfenced', now);
}

const RUN: Record<Task, (turn: Turn) => void> = {
  lease: form,
  voters: runVoters,
  suspicion: runSuspicion,
  claims: runClaims,
  succession(turn) {
    runProposals(turn);
    runOrphans(turn);
  },
  handOver: runHandOvers,
  unfenced: runUnfenced,
  members(turn) {
    runMembers(turn);
    runDoubts(turn);
    runLeave(turn);
    reportDark(turn);
    housekeep(turn);
  },
  conflict: runConflicts,
};

function form(turn: Turn): void {
  const { state, now } = turn;
  if (!state.formed) {
    if (state.formAt === undefined || now < state.formAt || state.members.size === 0) {
      if (state.formAt !== undefined) wake(turn, 'lease', state.formAt);
      return;
    }
    state.formed = true;
    state.lease = noLease({ version: 1, voters: firstList(turn) }, now);
    reportLease(turn);
  }
  runLease(turn);
}

function housekeep(turn: Turn): void {
  const { state, now } = turn;
  if (now < state.housekeepAt) return;
  state.housekeepAt = after(now, HOUSEKEEP_EVERY);
  forgetClaims(turn);
  forgetLives(turn);
  for (const [node, at] of state.removedAt) if (now - at > 2 * DEAD_VOTER) state.removedAt.delete(node);
  forgetRegisters(state);
}

/** Runs due tasks and our messages to ourselves until neither is left. */
function settle(turn: Turn): void {
  const { state, now, inbox } = turn;
  const { self, session } = state.config;
  for (let rounds = 0; rounds < 1000; rounds++) {
    const message = inbox.shift();
    if (message !== undefined) {
      receive(turn, self, session, message);
      continue;
    }
    const task = TASKS.find((name) => state.alarms[name] <= now);
    if (task === undefined || state.left) return;
    state.alarms[task] = NEVER;
    RUN[task](turn);
  }
  throw new Error(`membership does not come to rest: ${TASKS.filter((name) => state.alarms[name] <= now).join(', ')}`);
}

function setTimer(turn: Turn): void {
  const { state } = turn;
  let next = NEVER;
  for (const task of TASKS) if (state.alarms[task] < next) next = state.alarms[task];
  if (next === state.timerAt || next === NEVER) return;
  state.timerAt = next;
  turn.effects.push({ type: 'timer', at: next });
}
