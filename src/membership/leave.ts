import { after, ms } from '../../net/clock.ts';
import type { NodeName } from '../../net/names.ts';
import { renewStatus } from './members.ts';
import { replan } from './orphans.ts';
import { send, type Turn, wake } from './state.ts';
import { LEAVE_WAIT } from './timings.ts';
import { stopUnfenced } from './unfenced.ts';

/** What could not be handed over by then is left to succession. */
const HAND_OVER_AT_MOST = ms(1200);
const ASK_AGAIN = ms(20);

export function drain(turn: Turn, to: NodeName | undefined): void {
  const { state } = turn;
  state.draining = true;
  state.drainTo = to;
  for (const { vip, wanted } of state.handOvers.values()) if (wanted !== to) state.handOvers.get(vip)?.tried.clear();
  renewStatus(turn);
  replan(turn);
  wake(turn, 'handOver', turn.now);
}

export function undrain(turn: Turn): void {
  const { state } = turn;
  state.draining = false;
  state.drainTo = undefined;
  for (const [vip, { phase }] of state.handOvers) if (phase === 'offering') state.handOvers.delete(vip);
  renewStatus(turn);
  replan(turn);
}

export function leave(turn: Turn): void {
  const { state, now } = turn;
  state.leavingSince ??= now;
  drain(turn, state.drainTo);
  wake(turn, 'members', now);
}

/** Holdings first, then the votes that this node has in others' lists; then nothing is owed to anybody. */
export function runLeave(turn: Turn): void {
  const { state, now } = turn;
  const { leavingSince } = state;
  if (leavingSince === undefined || state.left) return;
  wake(turn, 'members', after(now, ASK_AGAIN));
  const patience = after(leavingSince, HAND_OVER_AT_MOST);
  if (state.holdings.size > 0 && now < patience) return;
  if (state.droppedBy === undefined) {
    state.droppedBy = after(now, LEAVE_WAIT);
    for (const vip of [...state.unfenced.own.keys()]) stopUnfenced(turn, vip, 'released');
  }
  const holders = holdersOfOurVote(turn);
  const told = state.tells.length === 0;
  if ((holders.length === 0 && told) || now >= state.droppedBy) {
    state.left = true;
    turn.effects.push({ type: 'left' });
    return;
  }
  for (const node of holders) send(turn, node, { type: 'leaving' });
}

function holdersOfOurVote({ state, now }: Turn): NodeName[] {
  const { self, session, timings } = state.config;
  const nodes: NodeName[] = [];
  for (const [node, lives] of state.subjects) {
    for (const { list, heardAt, void: isVoid } of lives.values()) {
      const listed = list?.voters.some((voter) => voter.node === self && voter.session === session) ?? false;
      if (listed && !isVoid && now - heardAt < timings.vote) nodes.push(node);
    }
  }
  return nodes;
}
