import type { NodeName, Vip } from '../../net/names.ts';
import { rendezvousOrder } from '../../net/rendezvous.ts';
import type { MemberState, State, Turn } from './state.ts';
import { isVoid } from './suspicion.ts';
import type { Eligibility } from './types.ts';

/** Why a member does not lead a VIP; undefined if it can. `lastResort` is a reason that yields to need. */
export interface Obstacle {
  readonly lastResort: boolean;
  /** Its rules are on their way into the kernel. */
  readonly soon?: boolean;
  readonly reason: string;
}

export function obstacle(state: State, member: MemberState, vip: Vip): Obstacle | undefined {
  const { config } = state;
  const bars = (reason: string): Obstacle => ({ lastResort: false, reason });
  if (member.node === config.self) {
    if (!state.listed) return bars('not a member');
    if (config.witness) return bars('witness: it only votes');
    if (state.draining) return bars('draining');
    const entry = state.vips.get(vip);
    if (entry === undefined) return bars('does not know the VIP');
    return ofEligibility(entry.eligibility, entry.ready);
  }
  if (member.witness) return bars('witness: it only votes');
  if (member.session === undefined) return bars('not heard of');
  if (member.dead) return bars('dead');
  if (member.leaving) return bars('leaving');
  const { status } = member;
  if (status?.session !== member.session) return bars('its status is not known yet');
  if (status.witness) return bars('witness: it only votes');
  if (status.draining) return bars('draining');
  const exception = status.exceptions.get(vip);
  if (exception === undefined) return undefined;
  const { kind, reason } = exception;
  return { lastResort: kind === 'lastResort', soon: kind === 'notReady', reason };
}

export function ofEligibility(eligibility: Eligibility, ready: boolean): Obstacle | undefined {
  if (eligibility.kind === 'ineligible') return { lastResort: false, reason: eligibility.reason };
  if (!ready) return { lastResort: false, soon: true, reason: 'its rules are not installed yet' };
  return eligibility.kind === 'lastResort' ? { lastResort: true, reason: eligibility.reason } : undefined;
}

/** Who may lead: preferred nodes, then by rendezvous rank; those of last resort only where there is no other. */
export function candidates(state: State, vip: Vip): NodeName[] {
  return ranked(state, vip, false);
}

/** Candidates, and who is about to be one: of a new VIP each node would else think that it alone can lead. */
export function claimants(state: State, vip: Vip): NodeName[] {
  return ranked(state, vip, true);
}

function ranked(state: State, vip: Vip, withSoon: boolean): NodeName[] {
  const able: NodeName[] = [];
  const lastResort: NodeName[] = [];
  for (const member of orderOf(state, vip)) {
    const found = obstacle(state, member, vip);
    if (found === undefined || (withSoon && found.soon === true)) able.push(member.node);
    else if (found.lastResort) lastResort.push(member.node);
  }
  const order = able.length > 0 ? able : lastResort;
  const preferred = state.vips.get(vip)?.preferredNodes ?? [];
  if (preferred.length === 0) return order;
  return [...preferred.filter((node) => order.includes(node)), ...order.filter((node) => !preferred.includes(node))];
}

/** All members by rank, kept while the member table stays: hashing is what a plan of many VIPs spends its time on. */
export function orderOf(state: State, vip: Vip): readonly MemberState[] {
  const known = state.orders.get(vip);
  if (known !== undefined) return known;
  const order = rendezvousOrder(vip, state.members.keys()).flatMap((node) => state.members.get(node) ?? []);
  state.orders.set(vip, order);
  return order;
}

/** VIPs that each living node holds, as far as this node knows. */
export function loads(turn: Turn): Map<NodeName, number> {
  const counts = new Map<NodeName, number>();
  for (const { claim } of turn.state.claims.values()) {
    const { holder, vip } = claim;
    if (holder.released || !turn.state.vips.has(vip) || isVoid(turn, holder)) continue;
    counts.set(holder.node, (counts.get(holder.node) ?? 0) + 1);
  }
  return counts;
}

/** A node at this many VIPs is passed over: a quarter above the mean. */
export function bound(vips: number, nodes: number): number {
  return Math.max(1, Math.ceil((1.25 * vips) / Math.max(1, nodes)));
}
