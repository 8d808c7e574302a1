import { after, type MonotonicNs, ms } from '../../net/clock.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import { candidates, orderOf } from './candidates.ts';
import { canServe, claimsOf, formerHolders } from './claims.ts';
import { leased } from './lease.ts';
import type { Claim, Message } from './messages.ts';
import {
  type HeardUnfenced,
  LONG_AGO,
  NEVER,
  type OwnUnfenced,
  others,
  report,
  type State,
  send,
  type Turn,
  wake,
} from './state.ts';
import { isVoid } from './suspicion.ts';
import {
  CLAIMS_AT_ONCE,
  FIRST_CLAIM_PATIENCE,
  LISTEN,
  UNFENCED_AFTER,
  UNFENCED_PROBE_COUNT,
  UNFENCED_PROBE_INTERVAL,
  UNFENCED_RANK_STEP,
  UNFENCED_REPEAT,
} from './timings.ts';
import type { StopCause, WireAnswer } from './types.ts';

const HEARD_LASTS = 3 * UNFENCED_REPEAT;
const NEIGHBOUR_LASTS = ms(1000);
const CLAIMS_FIRST = ms(500);
/** A look over a thousand VIPs at each datagram would leave no time for the heartbeats that end this state. */
const LOOK_EVERY = ms(10);
const LOOK_EVERY_VIP = ms(0.02);
const ASK_EVERY = ms(50);
const REFUSED_LASTS = ms(1000);
/** Claims in one datagram. */
const CLAIMS_A_PAGE = 40;

/**
 * The lease of a holder among two members ends: no other can have one, since each is the other's only voter. It goes
 * on without a gap if a neighbour has answered since the acknowledgements stopped.
 */
export function goOnUnfenced(turn: Turn): void {
  const { state } = turn;
  const { troubledAt } = state.lease;
  if (!state.config.rules.holderGoesOn || state.members.size !== 2) return;
  if (state.config.rules.unfencedNeedsEvidence) {
    if (!state.carrier || troubledAt === undefined || state.neighbourAt < troubledAt) return;
  }
  for (const { claim, phase } of state.holdings.values()) {
    if (phase !== 'answering' || state.vips.get(claim.vip)?.fencing !== 'Prefer') continue;
    state.unfenced.own.set(claim.vip, { epoch: claim.epoch, phase: 'intended', since: turn.now });
    startUnfenced(turn, claim.vip);
  }
}

function startUnfenced(turn: Turn, vip: Vip): void {
  const own = turn.state.unfenced.own.get(vip);
  if (own === undefined) return;
  own.phase = 'answering';
  const { self } = turn.state.config;
  const last = turn.state.claims.get(vip)?.claim;
  const previous = last?.holder.node;
  turn.effects.push({
    type: 'answer',
    vip,
    epoch: own.epoch,
    fenced: false,
    cause: 'unfenced',
    ...(previous === undefined || previous === self ? {} : { previous }),
    formerHolders: last === undefined ? [] : formerHolders(last, self),
  });
  reportUnfenced(turn, vip, own);
  turn.state.unfenced.tellAt = turn.now;
  wake(turn, 'unfenced', turn.now);
}

export function reportUnfenced(turn: Turn, vip: Vip, own: OwnUnfenced): void {
  const holder = turn.state.config.self;
  const routeKey = turn.state.vips.get(vip)?.routeKey ?? '';
  report(turn, { kind: 'claim', vip, holder, epoch: own.epoch, fenced: false, since: own.since, routeKey });
}

/** The VIP is held with a majority again. */
export function fenced(turn: Turn, vip: Vip): void {
  turn.state.unfenced.own.delete(vip);
}

export function stopUnfenced(turn: Turn, vip: Vip, cause: StopCause): void {
  const own = turn.state.unfenced.own.get(vip);
  if (own === undefined) return;
  turn.state.unfenced.own.delete(vip);
  if (own.phase === 'answering') turn.effects.push({ type: 'stopAnswering', vip, cause, keepForwarding: true });
}

/** Whether another member claims the VIP without a majority. */
export function heardUnfenced(turn: Turn, vip: Vip): boolean {
  const heard = turn.state.unfenced.heard.get(vip);
  if (heard === undefined) return false;
  return [...heard.values()].some(({ at, intended }) => !intended && turn.now - at < HEARD_LASTS);
}

/** Who answers unfenced gets some time to become fenced itself, before it grants the VIP to another. */
export function claimsFirst(turn: Turn, vip: Vip, claimant: NodeName): boolean {
  const own = turn.state.unfenced.own.get(vip);
  if (own?.phase !== 'answering' || claimant === turn.state.config.self) return false;
  own.askedAt ??= turn.now;
  return turn.now - own.askedAt < CLAIMS_FIRST;
}

export function runUnfenced(turn: Turn): void {
  const { state, now } = turn;
  const next = after(state.unfenced.lookedAt, LOOK_EVERY + state.vips.size * LOOK_EVERY_VIP);
  if (now < next) wake(turn, 'unfenced', next);
  else {
    state.unfenced.lookedAt = now;
    forgetHeard(turn);
    for (const vip of state.vips.keys()) consider(turn, vip);
  }
  checkEvidence(turn);
  // Nobody may be left whose datagrams would wake this node when its last holder has been silent for long enough.
  if (!leased(turn)) wake(turn, 'unfenced', after(now, UNFENCED_REPEAT));
  if (state.unfenced.own.size > 0) {
    if (state.unfenced.tellAt <= now) tellUnfenced(turn);
    wake(turn, 'unfenced', state.unfenced.tellAt);
  }
}

function forgetHeard({ state, now }: Turn): void {
  for (const [vip, nodes] of state.unfenced.heard) {
    for (const [node, { at }] of nodes) if (now - at >= HEARD_LASTS) nodes.delete(node);
    if (nodes.size === 0) state.unfenced.heard.delete(vip);
  }
}

/** Intends to claim a VIP that has had no majority for long enough. */
function consider(turn: Turn, vip: Vip): void {
  const { state, now } = turn;
  const own = state.unfenced.own.get(vip);
  if (own?.phase === 'answering') return;
  const due = unfencedFrom(turn, vip);
  if (due === NEVER) {
    if (own?.phase === 'intended') state.unfenced.own.delete(vip);
    return;
  }
  if (own !== undefined) {
    if (own.phase === 'refused' && now - own.since >= REFUSED_LASTS) state.unfenced.own.delete(vip);
    wake(turn, 'unfenced', after(now, UNFENCED_REPEAT));
    return;
  }
  if (due > now) {
    // Neighbours are asked ahead of time, so that their answers are there when they are needed.
    if (due - now < UNFENCED_REPEAT) askNeighbours(turn);
    wake(turn, 'unfenced', Math.min(due, after(now, UNFENCED_REPEAT)) as MonotonicNs);
    return;
  }
  if (state.probes.size >= CLAIMS_AT_ONCE) {
    wake(turn, 'unfenced', after(now, LOOK_EVERY));
    return;
  }
  askNeighbours(turn);
  state.unfenced.own.set(vip, { epoch: state.claims.get(vip)?.claim.epoch ?? 0, phase: 'intended', since: now });
  state.unfenced.tellAt = now;
  state.probes.set(vip, 'unfenced');
  turn.effects.push({ type: 'probe', vip, count: UNFENCED_PROBE_COUNT, intervalNs: UNFENCED_PROBE_INTERVAL });
  wake(turn, 'unfenced', now);
}

/** When this node may claim the VIP without a majority; NEVER while it has or hears of a better way. */
function unfencedFrom(turn: Turn, vip: Vip): MonotonicNs {
  const { state, now } = turn;
  if (state.vips.get(vip)?.fencing !== 'Prefer' || state.stalled || state.draining) return NEVER;
  if (!canServe(turn, vip) || now < (state.strangers.get(vip) ?? now)) return NEVER;
  const holding = state.holdings.get(vip);
  if (holding !== undefined && leased(turn)) return NEVER;
  const since = darkSince(turn, vip);
  if (since === undefined || hearsHolder(turn, vip) || heardUnfenced(turn, vip)) return NEVER;
  const rank = rankOf(turn, vip);
  if (rank < 0) return NEVER;
  const rivals = state.unfenced.heard.get(vip);
  if (rivals !== undefined && [...rivals.keys()].some((node) => wins(state, vip, node, state.config.self))) {
    return after(now, UNFENCED_RANK_STEP);
  }
  return after(since, UNFENCED_AFTER + rank * UNFENCED_RANK_STEP);
}

/** Since when there has been no majority that could claim the VIP. */
function darkSince(turn: Turn, vip: Vip): MonotonicNs | undefined {
  const { state } = turn;
  const formed = after(state.startedAt, LISTEN / 2);
  if (!leased(turn)) return Math.max(state.lease.lostAt, formed) as MonotonicNs;
  const orphan = state.orphans.get(vip);
  if (orphan === undefined) return undefined;
  const listened = after(state.startedAt, LISTEN);
  const since = Math.max(orphan.since, listened) as MonotonicNs;
  return state.claims.has(vip) ? since : after(since, FIRST_CLAIM_PATIENCE);
}

/** The last holder lives, as far as can be heard. */
function hearsHolder(turn: Turn, vip: Vip): boolean {
  const { state, now } = turn;
  const holder = state.claims.get(vip)?.claim.holder;
  if (holder === undefined || holder.released || holder.node === state.config.self || isVoid(turn, holder))
    return false;
  return now - (state.members.get(holder.node)?.heardAt ?? 0) < UNFENCED_AFTER;
}

/** Its last holder before all others, then by rank. */
function rankOf(turn: Turn, vip: Vip): number {
  const { self } = turn.state.config;
  if (turn.state.claims.get(vip)?.claim.holder.node === self) return 0;
  return candidates(turn.state, vip).indexOf(self);
}

function wins(state: State, vip: Vip, node: NodeName, against: NodeName): boolean {
  const order = orderOf(state, vip).map((member) => member.node);
  const rank = (name: NodeName) => (order.includes(name) ? order.indexOf(name) : order.length);
  return rank(node) < rank(against);
}

function hasEvidence({ state, now }: Turn): boolean {
  return !state.config.rules.unfencedNeedsEvidence || (state.carrier && now - state.neighbourAt < NEIGHBOUR_LASTS);
}

function checkEvidence(turn: Turn): void {
  const { state, now } = turn;
  let answering = false;
  for (const [vip, { phase }] of state.unfenced.own) {
    if (phase !== 'answering') continue;
    answering = true;
    if (!hasEvidence(turn)) stopUnfenced(turn, vip, 'noNeighbour');
    else if (!canServe(turn, vip)) stopUnfenced(turn, vip, 'released');
  }
  if (!answering) return;
  askNeighbours(turn);
  wake(turn, 'unfenced', after(now, UNFENCED_REPEAT));
}

function askNeighbours(turn: Turn): void {
  const { unfenced } = turn.state;
  if (turn.now - unfenced.neighboursAskedAt < ASK_EVERY) return;
  unfenced.neighboursAskedAt = turn.now;
  turn.effects.push({ type: 'probeNeighbours', members: others(turn) });
}

export function onUnfencedProbed(turn: Turn, vip: Vip, answer: WireAnswer): void {
  const { state, now } = turn;
  const own = state.unfenced.own.get(vip);
  if (own?.phase !== 'intended') return;
  if (unfencedFrom(turn, vip) === NEVER) {
    state.unfenced.own.delete(vip);
    return;
  }
  if ((answer.kind === 'silence' || !state.config.rules.unfencedNeedsEvidence) && hasEvidence(turn)) {
    startUnfenced(turn, vip);
    return;
  }
  state.unfenced.own.set(vip, { epoch: own.epoch, phase: 'refused', since: now });
  wake(turn, 'unfenced', after(now, REFUSED_LASTS));
}

function tellUnfenced(turn: Turn): void {
  const { state, now } = turn;
  state.unfenced.tellAt = after(now, UNFENCED_REPEAT);
  for (const node of others(turn)) sendUnfenced(turn, node);
}

/** @param vips those that are told of; by default all */
export function sendUnfenced(turn: Turn, to: NodeName, vips?: readonly Vip[]): void {
  const { state } = turn;
  const own = vips?.flatMap((vip) => entryOf(state, vip)) ?? [...state.unfenced.own];
  if (own.length === 0) return;
  const heardAt = state.members.get(to)?.heardAt ?? LONG_AGO;
  const hears = turn.now - heardAt < UNFENCED_AFTER;
  const claims = own
    .filter(([, { phase }]) => phase !== 'refused')
    .map(([vip, { epoch, phase }]) => ({ vip, epoch, intended: phase === 'intended' }));
  for (let i = 0; i < claims.length; i += CLAIMS_A_PAGE) {
    send(turn, to, { type: 'unfenced', claims: claims.slice(i, i + CLAIMS_A_PAGE), hears });
  }
}

function entryOf({ unfenced }: State, vip: Vip): (readonly [Vip, OwnUnfenced])[] {
  const own = unfenced.own.get(vip);
  return own === undefined ? [] : [[vip, own]];
}

/** Fenced before unfenced, then epoch, then rank. A claimant that does not hear us cannot give way, so we do. */
export function onUnfenced(turn: Turn, from: NodeName, message: Extract<Message, { type: 'unfenced' }>): void {
  const { state, now } = turn;
  const { self } = state.config;
  const contested: Vip[] = [];
  for (const { vip, epoch, intended } of message.claims) {
    state.asked.delete(vip);
    const holding = state.holdings.get(vip);
    if (holding?.phase === 'answering' && leased(turn)) {
      send(turn, from, { type: 'claims', claims: claimsOf(turn, [vip]) });
      continue;
    }
    let heard = state.unfenced.heard.get(vip);
    if (heard === undefined) {
      heard = new Map<NodeName, HeardUnfenced>();
      state.unfenced.heard.set(vip, heard);
    }
    heard.set(from, { epoch, intended, at: now });
    const orphan = state.orphans.get(vip);
    if (orphan !== undefined && !intended) orphan.startAt = undefined;
    const own = state.unfenced.own.get(vip);
    if (own === undefined) continue;
    const higher = epoch !== own.epoch ? epoch > own.epoch : wins(state, vip, from, self);
    const yields =
      !message.hears || (intended ? own.phase !== 'answering' && higher : own.phase !== 'answering' || higher);
    if (yields) stopUnfenced(turn, vip, 'higherClaim');
    else contested.push(vip);
  }
  // Of no others: answers of whole tables to each page of a table would never end.
  sendUnfenced(turn, from, contested);
  wake(turn, 'unfenced', now);
  wake(turn, 'succession', now);
}

/** A living holder tells its claim itself: what is unfenced here ends. */
export function onFencedClaim(turn: Turn, { vip, holder }: Claim): void {
  if (holder.released || isVoid(turn, holder)) return;
  stopUnfenced(turn, vip, 'higherClaim');
}
