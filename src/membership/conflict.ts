import { after, ms } from '../../net/clock.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import { stopAnswering } from './claims.ts';
import { leased } from './lease.ts';
import { report, send, type Turn, wake } from './state.ts';
import { ASK_WAIT } from './timings.ts';
import type { MembershipEvent } from './types.ts';
import { stopUnfenced } from './unfenced.ts';

/** RFC 5227 section 1.1: DEFEND_INTERVAL. */
const DEFEND_INTERVAL = ms(10_000);

/** Another MAC claims a VIP that this node answers for. */
export function onConflict(turn: Turn, { vip, answer }: Extract<MembershipEvent, { type: 'conflict' }>): void {
  switch (answer.kind) {
    case 'member':
      askMember(turn, vip, answer.node);
      break;
    case 'stranger':
      onStranger(turn, vip, answer.mac);
      break;
    default:
      answer satisfies never;
  }
}

/** Its claim settles it; without an answer, who has no lease gives way. */
function askMember(turn: Turn, vip: Vip, node: NodeName): void {
  const { state, now } = turn;
  if (!state.holdings.has(vip) && !state.unfenced.own.has(vip)) return;
  send(turn, node, { type: 'ask', vip });
  if (!state.asked.has(vip)) state.asked.set(vip, after(now, ASK_WAIT));
  wake(turn, 'conflict', after(now, ASK_WAIT));
}

/** RFC 5227 section 2.4: defend once within DEFEND_INTERVAL. */
function onStranger(turn: Turn, vip: Vip, mac: string): void {
  const { state, now } = turn;
  const last = state.defendedAt.get(vip);
  const defended = last === undefined || now - last > DEFEND_INTERVAL;
  if (defended) state.defendedAt.set(vip, now);
  report(turn, { kind: 'conflicted', vip, mac, defended });
}

export function runConflicts(turn: Turn): void {
  const { state, now } = turn;
  for (const [vip, at] of state.asked) {
    if (at > now) {
      wake(turn, 'conflict', at);
      continue;
    }
    state.asked.delete(vip);
    if (leased(turn)) continue;
    const holding = state.holdings.get(vip);
    if (holding !== undefined) stopAnswering(turn, holding, 'conflict');
    stopUnfenced(turn, vip, 'conflict');
  }
}
