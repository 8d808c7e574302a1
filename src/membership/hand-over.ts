import { after, ms, NS_PER_MS } from '../../net/clock.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import { bound, candidates, loads, obstacle } from './candidates.ts';
import { canServe, claimsOf, formerHolders, learn, serve, stopAnswering, tell } from './claims.ts';
import { leased } from './lease.ts';
import type { Claim, Holder, Message, Seat } from './messages.ts';
import { decides } from './quorum.ts';
import { type HandOver, type Holding, ownHolder, ownLife, send, type Turn, wake, wakeIn } from './state.ts';
import { isVoid } from './suspicion.ts';
import { PREFERRED_STABLE, VOLUNTARY_MOVES, VOLUNTARY_WINDOW } from './timings.ts';

const OFFER_AGAIN = ms(15);
const OFFERS = 3;
const RELEASE_AGAIN = ms(8);
const RELEASE_AGAIN_AT_MOST = ms(200);
const TRY_ALL_AGAIN = ms(300);

export function startHandOver(turn: Turn, vip: Vip, to: NodeName | undefined, forced: boolean): void {
  const { state, now } = turn;
  const holding = state.holdings.get(vip);
  if (holding === undefined || state.handOvers.has(vip)) return;
  if (!forced && recentMoves(turn, vip) >= VOLUNTARY_MOVES) return;
  state.handOvers.set(vip, {
    vip,
    wanted: to,
    forced,
    tried: new Set(),
    phase: 'offering',
    to: undefined,
    successor: undefined,
    accepts: new Set(),
    sendAt: now,
    sends: 0,
  });
  wake(turn, 'handOver', now);
}

function recentMoves(turn: Turn, vip: Vip): number {
  const moves = claimsOf(turn, [vip])[0]?.moves ?? [];
  return moves.filter((age) => age * NS_PER_MS < VOLUNTARY_WINDOW).length;
}

/** A new life has nothing to hand over. */
export function abandonHandOvers(turn: Turn): void {
  turn.state.handOvers.clear();
}

export function runHandOvers(turn: Turn): void {
  const { state, now } = turn;
  for (const holding of state.holdings.values()) {
    if (!state.handOvers.has(holding.claim.vip)) want(turn, holding);
  }
  for (const handOver of state.handOvers.values()) {
    if (handOver.sendAt <= now) advance(turn, handOver);
    wake(turn, 'handOver', handOver.sendAt);
  }
  if (state.holdings.size > 0) wakeIn(turn, 'handOver', ms(1000));
}

/** Begins what drain, eligibility or preference asks for. */
function want(turn: Turn, holding: Holding): void {
  const { state } = turn;
  const { vip } = holding.claim;
  if (!holding.inForce || !leased(turn)) return;
  if (mustMove(turn, vip)) {
    startHandOver(turn, vip, state.drainTo, true);
    return;
  }
  const better = betterHolder(turn, holding);
  if (better !== undefined) startHandOver(turn, vip, better, false);
}

function mustMove(turn: Turn, vip: Vip): boolean {
  return turn.state.draining || !canServe(turn, vip);
}

function betterHolder(turn: Turn, { claim }: Holding): NodeName | undefined {
  const { state, now } = turn;
  const { self } = state.config;
  const entry = state.vips.get(claim.vip);
  if (entry === undefined) return undefined;
  const able = (node: NodeName) => {
    const member = state.members.get(node);
    return member !== undefined && obstacle(state, member, claim.vip) === undefined;
  };
  if (entry.eligibility.kind === 'lastResort')
    return candidates(state, claim.vip).find((node) => node !== self && able(node));
  const own = entry.preferredNodes.indexOf(self);
  const above = own < 0 ? entry.preferredNodes : entry.preferredNodes.slice(0, own);
  return above.find((node) => {
    const status = state.members.get(node)?.status;
    if (status === undefined || !able(node)) return false;
    return now - (status.eligibleSince.get(claim.vip) ?? status.since) >= PREFERRED_STABLE;
  });
}

function advance(turn: Turn, handOver: HandOver): void {
  const { state } = turn;
  const holding = state.holdings.get(handOver.vip);
  if (holding === undefined) {
    state.handOvers.delete(handOver.vip);
    return;
  }
  switch (handOver.phase) {
    case 'offering':
      offer(turn, handOver, holding);
      break;
    case 'releasing':
      sendRelease(turn, handOver, holding);
      break;
    case 'released':
      if (handOver.successor !== undefined) sendDecided(turn, handOver, holding, handOver.successor);
      break;
    default:
      handOver.phase satisfies never;
  }
}

/** Asks the best candidate, some times, then the next. */
function offer(turn: Turn, handOver: HandOver, holding: Holding): void {
  const { state, now } = turn;
  if (!leased(turn)) {
    handOver.sendAt = after(now, OFFER_AGAIN);
    return;
  }
  if (handOver.forced && !mustMove(turn, handOver.vip)) {
    cancel(turn, handOver, holding);
    return;
  }
  if (!state.vips.has(handOver.vip)) {
    release(turn, handOver, holding, nobody(turn));
    return;
  }
  if (handOver.to !== undefined && handOver.sends >= OFFERS) {
    handOver.tried.add(handOver.to);
    handOver.to = undefined;
  }
  if (handOver.to === undefined) {
    handOver.to = nextCandidate(turn, handOver);
    handOver.sends = 0;
  }
  if (handOver.to === undefined) {
    noCandidate(turn, handOver, holding);
    return;
  }
  handOver.sends++;
  handOver.sendAt = after(now, OFFER_AGAIN);
  send(turn, handOver.to, { type: 'offer', vip: handOver.vip, epoch: holding.claim.epoch });
}

function nextCandidate(turn: Turn, { vip, wanted, tried, forced }: HandOver): NodeName | undefined {
  const { state } = turn;
  const order = candidates(state, vip).filter((node) => node !== state.config.self && !tried.has(node));
  if (wanted !== undefined && order.includes(wanted)) return wanted;
  if (!forced && wanted !== undefined) return undefined;
  const counts = loads(turn);
  const most = bound(state.vips.size, order.length);
  return order.find((node) => (counts.get(node) ?? 0) < most) ?? order[0];
}

function noCandidate(turn: Turn, handOver: HandOver, holding: Holding): void {
  const { state, now } = turn;
  if (!handOver.forced) {
    cancel(turn, handOver, holding);
    return;
  }
  if (state.leavingSince !== undefined || !state.listed) {
    release(turn, handOver, holding, nobody(turn));
    return;
  }
  // Drained without anybody to take over, it goes on answering; what it cannot serve it does not answer for.
  if (!canServe(turn, handOver.vip)) stopAnswering(turn, holding, 'released');
  handOver.tried.clear();
  handOver.sendAt = after(now, TRY_ALL_AGAIN);
}

function cancel(turn: Turn, { vip }: HandOver, holding: Holding): void {
  turn.state.handOvers.delete(vip);
  serve(turn, holding);
}

/** The value of a release that is open to all candidates. */
function nobody({ state }: Turn): Holder {
  return { ...ownHolder(state), released: true };
}

export function onOffer(turn: Turn, from: NodeName, message: Extract<Message, { type: 'offer' }>): void {
  const { state } = turn;
  const member = state.members.get(state.config.self);
  const able = member !== undefined && obstacle(state, member, message.vip)?.lastResort !== false;
  const ready = able && leased(turn) && !state.stalled && canServe(turn, message.vip);
  send(turn, from, { ...message, type: 'offerReply', ready, ...(ready ? { holder: ownHolder(state) } : {}) });
}

export function onOfferReply(turn: Turn, from: NodeName, message: Extract<Message, { type: 'offerReply' }>): void {
  const { state, now } = turn;
  const handOver = state.handOvers.get(message.vip);
  const holding = state.holdings.get(message.vip);
  if (handOver?.phase !== 'offering' || handOver.to !== from || holding?.claim.epoch !== message.epoch) return;
  if (message.holder !== undefined && message.ready) {
    release(turn, handOver, holding, message.holder);
    return;
  }
  handOver.sends = OFFERS;
  handOver.sendAt = now;
  wake(turn, 'handOver', now);
}

/** From here on this life answers no more for this epoch, whatever happens. */
function release(turn: Turn, handOver: HandOver, holding: Holding, successor: Holder): void {
  const entry = turn.state.vips.get(handOver.vip);
  stopAnswering(turn, holding, entry === undefined ? 'vipRemoved' : 'handOver');
  holding.phase = 'handedOver';
  handOver.phase = 'releasing';
  handOver.successor = successor;
  handOver.sends = 0;
  if (turn.state.config.rules.releaseRecorded) sendRelease(turn, handOver, holding);
  else released(turn, handOver, holding);
  wake(turn, 'handOver', handOver.sendAt);
}

function seatOf(turn: Turn, holding: Holding): Seat {
  return { vip: holding.claim.vip, epoch: holding.claim.epoch, life: ownLife(turn.state), open: false };
}

function backOff(turn: Turn, handOver: HandOver): void {
  const gap = Math.min(RELEASE_AGAIN_AT_MOST, RELEASE_AGAIN * 2 ** Math.min(handOver.sends, 8));
  handOver.sends++;
  handOver.sendAt = after(turn.now, gap);
}

function sendRelease(turn: Turn, handOver: HandOver, holding: Holding): void {
  const { state } = turn;
  const { successor } = handOver;
  if (successor === undefined) return;
  backOff(turn, handOver);
  const { list } = state.lease;
  for (const { node } of list.voters) {
    if (handOver.accepts.has(node)) continue;
    send(turn, node, {
      type: 'accept',
      seat: seatOf(turn, holding),
      list,
      ballot: { round: 0, life: ownLife(state) },
      holder: successor,
      epoch: holding.claim.epoch + 1,
      reform: false,
    });
  }
}

export function onReleaseAccepted(turn: Turn, from: NodeName, seat: Seat): void {
  const { state } = turn;
  const handOver = state.handOvers.get(seat.vip);
  const holding = state.holdings.get(seat.vip);
  if (handOver?.phase !== 'releasing' || holding?.claim.epoch !== seat.epoch) return;
  handOver.accepts.add(from);
  const { list, previous } = state.lease;
  const accepted = new Map([...handOver.accepts].map((node) => [node, true] as const));
  if (!decides(list.voters, accepted)) return;
  if (previous !== undefined && !decides(previous, accepted)) return;
  released(turn, handOver, holding);
}

function successorClaim(turn: Turn, { claim }: Holding, holder: Holder): Claim {
  const moves = claimsOf(turn, [claim.vip])[0]?.moves ?? [];
  return {
    ...claim,
    epoch: claim.epoch + 1,
    holder,
    moves: [0, ...moves].slice(0, VOLUNTARY_MOVES),
    formerHolders: formerHolders(claim, holder.node),
  };
}

function released(turn: Turn, handOver: HandOver, holding: Holding): void {
  const { successor } = handOver;
  if (successor === undefined) return;
  handOver.phase = 'released';
  handOver.sends = 0;
  if (successor.released) {
    learn(turn, successorClaim(turn, holding, successor));
    tell(turn, [handOver.vip]);
    turn.state.holdings.delete(handOver.vip);
    turn.state.handOvers.delete(handOver.vip);
    return;
  }
  sendDecided(turn, handOver, holding, successor);
  wake(turn, 'handOver', handOver.sendAt);
}

/** Until the successor says taken, by its claim, this life stays responsible. */
function sendDecided(turn: Turn, handOver: HandOver, holding: Holding, successor: Holder): void {
  const claim = successorClaim(turn, holding, successor);
  if (isVoid(turn, successor)) {
    // It died before it took: succession goes on at its voters, so everybody must know of its claim.
    learn(turn, claim);
    tell(turn, [claim.vip]);
    return;
  }
  backOff(turn, handOver);
  send(turn, successor.node, { type: 'decided', claim });
}

/**
 * Every holder above the mean hands its surplus to members below it. All make the same plan from the same tables,
 * and each carries out its own part.
 */
export function rebalance(turn: Turn): void {
  const { state } = turn;
  const counts = loads(turn);
  const leaders = [...state.members.values()].filter(({ witness }) => !witness).length;
  const mean = Math.ceil(state.vips.size / Math.max(1, leaders));
  const count = (node: NodeName) => counts.get(node) ?? 0;
  for (const vip of [...state.vips.keys()].sort()) {
    const holder = state.claims.get(vip)?.claim.holder;
    if (holder === undefined || holder.released || count(holder.node) <= mean) continue;
    const below = candidates(state, vip).filter((node) => count(node) < mean);
    const to = below.sort((a, b) => count(a) - count(b))[0];
    if (to === undefined) continue;
    counts.set(holder.node, count(holder.node) - 1);
    counts.set(to, count(to) + 1);
    if (holder.node === state.config.self) startHandOver(turn, vip, to, false);
  }
}
