import { ms } from '../../net/clock.ts';
import type { Vip } from '../../net/names.ts';
import { obstacle } from './candidates.ts';
import { reportClaim } from './claims.ts';
import { leased } from './lease.ts';
import { report, type Turn } from './state.ts';
import type { DarkReason } from './types.ts';
import { heardUnfenced, reportUnfenced } from './unfenced.ts';

/** A claim takes some time; what comes to pass is not worth a reason why it has not yet. */
const DARK_AFTER = ms(300);

/** Tells the main thread, on a change, of each VIP that nobody leads as far as this node knows, and why. */
export function reportDark(turn: Turn): void {
  const { state } = turn;
  for (const vip of state.vips.keys()) {
    if (!isDark(turn, vip)) {
      if (state.darkTold.delete(vip)) reportLeader(turn, vip);
      continue;
    }
    const reasons = reasonsOf(turn, vip);
    const text = JSON.stringify(reasons);
    if (state.darkTold.get(vip) === text) continue;
    state.darkTold.set(vip, text);
    report(turn, { kind: 'dark', vip, reasons });
  }
  for (const vip of state.darkTold.keys()) if (!state.vips.has(vip)) state.darkTold.delete(vip);
}

/** It was told that nobody leads. */
function reportLeader(turn: Turn, vip: Vip): void {
  const own = turn.state.unfenced.own.get(vip);
  if (own?.phase === 'answering') reportUnfenced(turn, vip, own);
  else if (!heardUnfenced(turn, vip)) reportClaim(turn, vip);
}

function isDark(turn: Turn, vip: Vip): boolean {
  const { state, now } = turn;
  if (state.unfenced.own.get(vip)?.phase === 'answering' || heardUnfenced(turn, vip)) return false;
  const holding = state.holdings.get(vip);
  // A holder knows whether it answers; of others this node knows only that they hold.
  if (holding !== undefined) return holding.phase === 'interrupted';
  const since = state.orphans.get(vip)?.since;
  return since !== undefined && now - since >= DARK_AFTER;
}

function reasonsOf(turn: Turn, vip: Vip): DarkReason[] {
  const { state, now } = turn;
  const { self } = state.config;
  const reasons: DarkReason[] = [];
  for (const member of state.members.values()) {
    const found = obstacle(state, member, vip);
    if (found !== undefined && !found.lastResort) reasons.push({ node: member.node, reason: found.reason });
    else if (member.node === self && !state.carrier) reasons.push({ node: self, reason: 'no carrier' });
    else if (member.node === self && !leased(turn)) reasons.push({ node: self, reason: missingVoters(turn) });
  }
  if (now < (state.strangers.get(vip) ?? now)) reasons.push({ reason: 'a host outside the cluster answers for it' });
  const proposal = state.proposals.get(vip);
  if (proposal !== undefined) {
    const silent = proposal.list.voters.filter(({ node }) => !proposal.promises.has(node)).map(({ node }) => node);
    if (silent.length > 0) reasons.push({ reason: `waits for voters of its last holder: ${silent.join(', ')}` });
  }
  return reasons;
}

function missingVoters({ state, now }: Turn): string {
  const { acks, list } = state.lease;
  const fresh = now - state.config.timings.lease;
  const missing = list.voters.filter(
    ({ node }) => node !== state.config.self && (acks.get(node)?.receivedAt ?? fresh) <= fresh,
  );
  if (!state.formed) return 'it has just started';
  return `no majority of its voters: not heard from ${missing.map(({ node }) => node).join(', ')}`;
}
