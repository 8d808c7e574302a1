import { after, ms, NS_PER_MS } from '../../net/clock.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import { rendezvousOrder } from '../../net/rendezvous.ts';
import { countClaim, uncountClaim } from './digest.ts';
import { leased } from './lease.ts';
import type { Claim, Message } from './messages.ts';
import { review } from './orphans.ts';
import { pages } from './pages.ts';
import {
  type Holding,
  isOwnLife,
  majority,
  NEVER,
  others,
  ownHolder,
  report,
  sameLife,
  send,
  type Turn,
  wake,
} from './state.ts';
import { isVoid } from './suspicion.ts';
import { FORMER_HOLDERS, TELL_AT } from './timings.ts';
import type { AnswerCause, StopCause } from './types.ts';
import { fenced, stopUnfenced } from './unfenced.ts';

const LIST_AGAIN = ms(10);
const LIST_AGAIN_AT_MOST = ms(500);
const REMEMBER_CLAIM = ms(600_000);

/** Higher wins: epoch, then rendezvous rank of the holders, then their newer voter list. */
export function outranks(a: Claim, b: Claim): boolean {
  if (a.epoch !== b.epoch) return a.epoch > b.epoch;
  if (sameLife(a.holder, b.holder)) return a.holder.list.version > b.holder.list.version;
  if (a.holder.node !== b.holder.node) {
    return rendezvousOrder(a.vip, [a.holder.node, b.holder.node])[0] === a.holder.node;
  }
  return a.holder.incarnation > b.holder.incarnation;
}

/** Takes note of a claim; the loser of a tie stops at once. */
export function learn(turn: Turn, claim: Claim): void {
  const { state, now } = turn;
  const known = state.claims.get(claim.vip);
  if (known !== undefined && !outranks(claim, known.claim)) return;
  if (known === undefined && isStale(turn, claim)) return;
  const moved = known === undefined || known.claim.epoch !== claim.epoch || !sameLife(known.claim.holder, claim.holder);
  const entry = { claim, since: moved ? now : known.since, sum: 0 };
  state.claims.set(claim.vip, entry);
  countClaim(turn, known, entry);
  const holding = state.holdings.get(claim.vip);
  if (holding !== undefined && !isOwnLife(state, claim.holder)) lose(turn, holding, 'higherClaim');
  if (!moved) return;
  const proposal = state.proposals.get(claim.vip);
  if (proposal !== undefined && claim.epoch > proposal.seat.epoch) state.proposals.delete(claim.vip);
  if (isOwnLife(state, claim.holder) && !claim.holder.released && !state.holdings.has(claim.vip)) {
    take(turn, claim, 'succession', known?.claim.holder.node);
  }
  reportClaim(turn, claim.vip);
  review(turn, claim.vip);
}

/** Nobody holds it, and the VIP is none of ours (any more). */
function isStale(turn: Turn, { vip, holder }: Claim): boolean {
  return !turn.state.vips.has(vip) && (holder.released || isVoid(turn, holder));
}

/** Claims on deleted VIPs, after a time in which the VIPs might have come back. */
export function forgetClaims(turn: Turn): void {
  const { state, now } = turn;
  for (const [vip, known] of state.claims) {
    if (now - known.since < REMEMBER_CLAIM || !isStale(turn, known.claim)) continue;
    uncountClaim(state, known);
    state.claims.delete(vip);
  }
}

export function reportClaim(turn: Turn, vip: Vip): void {
  const { state } = turn;
  const known = state.claims.get(vip);
  if (known === undefined) return;
  const { holder, epoch, routeKey } = known.claim;
  report(turn, {
    kind: 'claim',
    vip,
    ...(holder.released ? {} : { holder: holder.node }),
    epoch,
    fenced: true,
    since: known.since,
    routeKey,
  });
}

/** This life is the decided holder: it answers once a majority of its own voters lists the VIP. */
export function take(turn: Turn, claim: Claim, cause: AnswerCause, previous: NodeName | undefined): void {
  const { state, now } = turn;
  state.holdings.set(claim.vip, {
    claim,
    phase: 'pending',
    cause,
    previous: previous === state.config.self ? undefined : previous,
    since: now,
    inForce: false,
    listedBy: new Set([state.config.self]),
    tellAt: now,
    tellGap: LIST_AGAIN,
  });
  state.proposals.delete(claim.vip);
  learn(turn, claim);
  state.orphans.delete(claim.vip);
  wake(turn, 'claims', now);
}

/** After a change of this life's voters its claims carry the new list. */
export function relistClaims(turn: Turn): void {
  for (const holding of turn.state.holdings.values()) learn(turn, { ...holding.claim, holder: ownHolder(turn.state) });
}

/** Puts a holding in force once a majority of this life's voters lists it; whether it is. */
function settleHolding(turn: Turn, holding: Holding): boolean {
  const { state } = turn;
  if (!holding.inForce) {
    const { voters } = state.lease.list;
    const listed = voters.filter(({ node }) => holding.listedBy.has(node)).length;
    if (listed < majority(voters.length) && state.config.rules.answerInForce) return false;
    holding.inForce = true;
    tell(turn, [holding.claim.vip]);
  }
  serve(turn, holding);
  return true;
}

/** Whether this node can carry the VIP's traffic. */
export function canServe(turn: Turn, vip: Vip): boolean {
  const { state } = turn;
  const entry = state.vips.get(vip);
  if (entry === undefined || !state.listed || !state.carrier) return false;
  return entry.ready && entry.eligibility.kind !== 'ineligible';
}

/** Answers as soon as everything is there. */
export function serve(turn: Turn, holding: Holding): void {
  const { vip, epoch, formerHolders: former } = holding.claim;
  if (!holding.inForce || !leased(turn) || holding.phase === 'answering' || holding.phase === 'handedOver') return;
  if (!canServe(turn, vip)) {
    wake(turn, 'handOver', turn.now);
    return;
  }
  const first = holding.phase === 'pending';
  holding.phase = 'answering';
  const cause = first ? holding.cause : 'refenced';
  turn.effects.push({
    type: 'answer',
    vip,
    epoch,
    fenced: true,
    cause,
    ...(holding.previous === undefined ? {} : { previous: holding.previous }),
    formerHolders: former,
  });
  fenced(turn, vip);
  if (!first) return;
  report(turn, {
    kind: 'moved',
    vip,
    ...(holding.previous === undefined ? {} : { from: holding.previous }),
    epoch,
    cause,
  });
}

export function stopAnswering(turn: Turn, holding: Holding, cause: StopCause): void {
  if (holding.phase !== 'answering') return;
  holding.phase = 'interrupted';
  turn.effects.push({ type: 'stopAnswering', vip: holding.claim.vip, cause, keepForwarding: cause !== 'vipRemoved' });
}

/** Somebody else holds it now. */
function lose(turn: Turn, holding: Holding, cause: StopCause): void {
  const { state } = turn;
  const { vip } = holding.claim;
  stopAnswering(turn, holding, cause);
  stopUnfenced(turn, vip, cause);
  state.holdings.delete(vip);
  state.handOvers.delete(vip);
}

export function interruptHoldings(turn: Turn): void {
  const { state } = turn;
  for (const holding of state.holdings.values()) {
    // A holder among two goes on without a majority: the same answers, under another name.
    if (state.unfenced.own.get(holding.claim.vip)?.phase === 'answering') {
      if (holding.phase === 'answering') holding.phase = 'interrupted';
    } else stopAnswering(turn, holding, 'leaseLost');
  }
}

export function resumeHoldings(turn: Turn): void {
  for (const holding of turn.state.holdings.values()) settleHolding(turn, holding);
}

/** A new life holds nothing; what the old one held is open to succession. */
export function dropHoldings(turn: Turn): void {
  const { state } = turn;
  const held = [...state.holdings.keys()];
  state.holdings.clear();
  for (const vip of held) review(turn, vip);
}

/** Tells claims to everybody, now and twice more. */
export function tell(turn: Turn, vips: Iterable<Vip>): void {
  const { state, now } = turn;
  const open = state.tells.find(({ step, at }) => step === 0 && at === now);
  if (open !== undefined) for (const vip of vips) open.vips.add(vip);
  else state.tells.push({ vips: new Set(vips), at: now, step: 0 });
  wake(turn, 'claims', now);
}

export function claimsOf(turn: Turn, vips: Iterable<Vip>): Claim[] {
  const { state, now } = turn;
  const found: Claim[] = [];
  for (const vip of vips) {
    const known = state.claims.get(vip);
    if (known === undefined) continue;
    const { claim, since } = known;
    const aged = claim.moves.map((age) => Math.min(0xffff_ffff, Math.round(age + (now - since) / NS_PER_MS)));
    found.push(aged.length === 0 ? claim : { ...claim, moves: aged });
  }
  return found;
}

/** Who held the VIP before `next` does, where `last` is the claim that ends. */
export function formerHolders(last: Claim, next: NodeName): readonly NodeName[] {
  const nodes = new Set([last.holder.node, ...last.formerHolders]);
  nodes.delete(next);
  return [...nodes].slice(0, FORMER_HOLDERS);
}

/** Repeats tellings, and pushes new holdings to this life's voters until enough list them. */
export function runClaims(turn: Turn): void {
  const { state, now } = turn;
  for (const telling of state.tells) {
    if (telling.at > now) continue;
    for (const claims of pages(claimsOf(turn, telling.vips))) {
      for (const node of others(turn)) send(turn, node, { type: 'claims', claims });
    }
    telling.step++;
    const gap = (TELL_AT[telling.step] ?? Infinity) - (TELL_AT[telling.step - 1] ?? 0);
    telling.at = after(now, gap);
  }
  for (let i = state.tells.length - 1; i >= 0; i--) if (state.tells[i]?.at === NEVER) state.tells.splice(i, 1);
  for (const { at } of state.tells) wake(turn, 'claims', at);
  push(turn);
}

function push(turn: Turn): void {
  const { state, now } = turn;
  const due: Holding[] = [];
  for (const holding of state.holdings.values()) {
    if (holding.inForce || settleHolding(turn, holding)) continue;
    if (holding.tellAt <= now) {
      due.push(holding);
      holding.tellAt = after(now, holding.tellGap);
      holding.tellGap = Math.min(LIST_AGAIN_AT_MOST, 2 * holding.tellGap);
    }
    wake(turn, 'claims', holding.tellAt);
  }
  if (due.length === 0) return;
  for (const claims of pages(
    claimsOf(
      turn,
      due.map(({ claim }) => claim.vip),
    ),
  )) {
    for (const { node } of state.lease.list.voters) {
      send(turn, node, { type: 'claims', claims, holdings: state.incarnation });
    }
  }
}

export function onClaims(turn: Turn, from: NodeName, message: Extract<Message, { type: 'claims' }>): void {
  for (const claim of message.claims) learn(turn, claim);
  const { holdings } = message;
  if (holdings === undefined) return;
  const isListed = ({ vip }: Claim) => turn.state.claims.get(vip)?.claim.holder.incarnation === holdings;
  const listed = message.claims.filter(isListed);
  send(turn, from, { type: 'holdingsKnown', incarnation: holdings, vips: listed.map(({ vip }) => vip) });
}

export function onHoldingsKnown(
  turn: Turn,
  from: NodeName,
  message: Extract<Message, { type: 'holdingsKnown' }>,
): void {
  const { state } = turn;
  if (message.incarnation !== state.incarnation) return;
  for (const vip of message.vips) {
    const holding = state.holdings.get(vip);
    if (holding === undefined || holding.inForce) continue;
    holding.listedBy.add(from);
    settleHolding(turn, holding);
  }
}
