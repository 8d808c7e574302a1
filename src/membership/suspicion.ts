import { after, ms } from '../../net/clock.ts';
import type { NodeName } from '../../net/names.ts';
import { onOwnVoid } from './lease.ts';
import type { Life, Message, VoterList } from './messages.ts';
import { reviewOrphans } from './orphans.ts';
import { decides } from './quorum.ts';
import {
  isOwnLife,
  LONG_AGO,
  NEVER,
  others,
  report,
  type State,
  type Subject,
  send,
  sessionOf,
  type Turn,
  wake,
} from './state.ts';
import { OWN_GAP, TELL_AT } from './timings.ts';
import type { Incarnation, SessionId } from './types.ts';
import { sendUnfenced } from './unfenced.ts';

const SAY_AGAIN = ms(25);
const SAY_AGAIN_AT_MOST = ms(1000);
/** A suspicion that is not repeated is forgotten. */
const SUSPICION_LASTS = ms(2500);
const DRAIN_AT_MOST = ms(100);
/** How long a life that nobody claims from is remembered. */
const REMEMBER_LIFE = ms(60_000);

export function subjectOf(state: State, life: Life): Subject | undefined {
  return state.subjects.get(life.node)?.get(life.incarnation);
}

function subject(turn: Turn, life: Life): Subject {
  const { state, now } = turn;
  let lives = state.subjects.get(life.node);
  if (lives === undefined) {
    lives = new Map();
    state.subjects.set(life.node, lives);
  }
  let found = lives.get(life.incarnation);
  if (found === undefined) {
    found = {
      life,
      list: undefined,
      heardAt: LONG_AGO,
      suspected: false,
      void: false,
      certified: false,
      suspects: new Map(),
      votes: new Set(),
      sayAt: NEVER,
      sayGap: SAY_AGAIN,
      createdAt: now,
    };
    lives.set(life.incarnation, found);
  }
  return found;
}

export function onHeartbeat(
  turn: Turn,
  from: NodeName,
  session: SessionId,
  message: Extract<Message, { type: 'heartbeat' }>,
): void {
  const { state, now } = turn;
  if (sessionOf(message.incarnation) !== session || isPast(state, from, message.incarnation)) return;
  const life = { node: from, incarnation: message.incarnation };
  const known = state.subjects.get(from);
  const found = known?.get(message.incarnation) ?? subject(turn, life);
  if (found.void) {
    send(turn, from, { type: 'suspicion', life, version: message.version, verdict: 'void' });
    return;
  }
  found.heardAt = now;
  if (found.suspected) {
    found.suspected = false;
    found.suspects.clear();
    found.sayAt = NEVER;
  }
  if (message.list !== undefined) learnList(found, message.list);
  sendUnfenced(turn, from);
  send(turn, from, {
    type: 'acknowledge',
    incarnation: message.incarnation,
    number: message.number,
    version: found.list?.version ?? 0,
    digest: state.digest,
  });
  wake(turn, 'suspicion', after(now, silence(state)));
}

/** A life with a higher number in the same session has given up all before it. */
export function supersede(turn: Turn, life: Life): void {
  const lives = turn.state.subjects.get(life.node);
  if (lives === undefined) return;
  for (const older of lives.values()) {
    const { incarnation } = older.life;
    if (incarnation < life.incarnation && sessionOf(incarnation) === sessionOf(life.incarnation) && !older.void) {
      older.void = true;
      certify(turn, older, true);
    }
  }
}

function silence(state: State): number {
  const { timings, rules } = state.config;
  return rules.voteAfterLease ? timings.vote : timings.heartbeat * 3;
}

function learnList(found: Subject, list: VoterList): void {
  if (found.list === undefined || list.version > found.list.version) found.list = list;
}

function isVoter(state: State, list: VoterList | undefined): boolean {
  const { self, session } = state.config;
  return list?.voters.some((voter) => voter.node === self && voter.session === session) ?? false;
}

/** Judges silence, and repeats what was said until the certificate is known. */
export function runSuspicion(turn: Turn): void {
  const { state, now } = turn;
  let next = NEVER;
  const soon = (at: number) => {
    if (at < next) next = at as typeof next;
  };
  const blind = drainingSockets(turn);
  for (const lives of state.subjects.values()) {
    for (const found of lives.values()) {
      if (!found.void && !found.suspected && isVoter(state, found.list)) {
        const at = after(found.heardAt, silence(state));
        if (now < at) soon(at);
        else if (!blind) suspect(turn, found);
      }
      if (found.sayAt <= now) say(turn, found);
      soon(found.sayAt);
    }
  }
  for (const certificate of state.certificates) {
    if (certificate.at <= now) tellCertificate(turn, certificate);
    soon(certificate.at);
  }
  removeWhere(state.certificates, ({ at }) => at === NEVER);
  if (next !== NEVER) wake(turn, 'suspicion', next);
}

function removeWhere<T>(list: T[], gone: (item: T) => boolean): void {
  for (let i = list.length - 1; i >= 0; i--) if (gone(list[i] as T)) list.splice(i, 1);
}

/** True while silence must not be judged, because this node itself stood still. */
function drainingSockets(turn: Turn): boolean {
  const { state, now } = turn;
  if (state.drainingSockets === undefined) return false;
  if (now - state.drainingSockets < DRAIN_AT_MOST) {
    wake(turn, 'suspicion', after(state.drainingSockets, DRAIN_AT_MOST));
    return true;
  }
  state.drainingSockets = undefined;
  return false;
}

/** Called at each step: after a gap of its own a voter first reads what has arrived. */
export function noticeGap(turn: Turn): void {
  const { state, now } = turn;
  const late = now - Math.max(state.lastStepAt, Math.min(state.timerAt, now));
  state.lastStepAt = now;
  if (late <= OWN_GAP || !state.config.rules.drainBeforeJudging || state.drainingSockets !== undefined) return;
  state.drainingSockets = now;
  turn.effects.push({ type: 'drainSockets' });
}

export function onSocketsDrained(turn: Turn): void {
  turn.state.drainingSockets = undefined;
  wake(turn, 'suspicion', turn.now);
}

function suspect(turn: Turn, found: Subject): void {
  const { state, now } = turn;
  found.suspected = true;
  found.suspects.set(state.config.self, now);
  found.sayGap = SAY_AGAIN;
  report(turn, { kind: 'suspected', node: found.life.node, incarnation: found.life.incarnation });
  say(turn, found);
  judge(turn, found);
}

function say(turn: Turn, found: Subject): void {
  const { state, now } = turn;
  const { self, rules } = state.config;
  found.sayAt = NEVER;
  if (found.certified || found.list === undefined) return;
  for (const { node } of found.list.voters) {
    if (node === self || node === found.life.node || found.votes.has(node)) continue;
    const verdict = found.void ? 'void' : 'suspected';
    send(turn, node, { type: 'suspicion', life: found.life, version: found.list.version, verdict });
  }
  if (!rules.repeatVotes) return;
  found.sayAt = after(now, found.sayGap);
  found.sayGap = Math.min(SAY_AGAIN_AT_MOST, found.sayGap * 2);
  wake(turn, 'suspicion', found.sayAt);
}

export function onSuspicion(turn: Turn, from: NodeName, message: Extract<Message, { type: 'suspicion' }>): void {
  const { state, now } = turn;
  const { life, verdict, version } = message;
  if (life.node === state.config.self) {
    if (verdict === 'void' && isOwnLife(state, life)) onOwnVoid(turn, from);
    return;
  }
  const found = subjectOf(state, life) ?? forgotten(turn, life);
  if (found === undefined) return;
  if (found.list !== undefined && version < found.list.version) {
    send(turn, from, { type: 'voters', life, list: found.list });
  }
  found.suspects.set(from, now);
  if (verdict === 'void') found.votes.add(from);
  if (found.void && !found.votes.has(from)) {
    send(turn, from, { type: 'suspicion', life, version: found.list?.version ?? version, verdict: 'void' });
  }
  if (found.certified && found.list !== undefined) {
    send(turn, from, { type: 'certificate', life, list: found.list, proven: true });
  }
  judge(turn, found);
}

/** A voter that never acknowledged a life in this session never will, once an older session's last one has run out. */
function forgotten(turn: Turn, life: Life): Subject | undefined {
  const { state, now } = turn;
  if (now - state.startedAt < state.config.timings.vote) return undefined;
  const found = subject(turn, life);
  found.void = true;
  return found;
}

export function onVoters(turn: Turn, message: Extract<Message, { type: 'voters' }>): void {
  const found = subjectOf(turn.state, message.life);
  if (found === undefined) return;
  learnList(found, message.list);
  if (!isVoter(turn.state, found.list) && !found.void) {
    found.suspected = false;
    found.sayAt = NEVER;
  }
  judge(turn, found);
}

/** Votes when a majority suspects, certifies when a majority has voted. */
function judge(turn: Turn, found: Subject): void {
  const { state, now } = turn;
  const { self } = state.config;
  if (found.certified || found.list === undefined) return;
  const { voters } = found.list;
  const all = (nodes: Iterable<NodeName>) => new Map(Array.from(nodes, (node) => [node, true] as const));
  if (found.suspected && !found.void) {
    const recent = [...found.suspects].filter(([, at]) => now - at < SUSPICION_LASTS).map(([node]) => node);
    if (!decides(voters, all([...recent, ...found.votes]))) return;
    found.void = true;
    found.votes.add(self);
    found.sayGap = SAY_AGAIN;
    say(turn, found);
  }
  if (found.void) found.votes.add(self);
  if (decides(voters, all(found.votes))) certify(turn, found, true);
}

/** Succession may begin. `tell`: others may not know. */
function certify(turn: Turn, found: Subject, tell: boolean): void {
  const { state, now } = turn;
  if (found.certified) return;
  found.void = true;
  found.certified = true;
  found.sayAt = NEVER;
  const member = state.members.get(found.life.node);
  if (member?.session === sessionOf(found.life.incarnation) && (member.incarnation ?? 0) <= found.life.incarnation) {
    member.dead = true;
  }
  report(turn, { kind: 'certified', node: found.life.node, incarnation: found.life.incarnation });
  if (tell && found.list !== undefined) {
    const message: Message = { type: 'certificate', life: found.life, list: found.list, proven: true };
    state.certificates.push({ message, at: now, step: 0 });
    wake(turn, 'suspicion', now);
  }
  reviewOrphans(turn, found.life.node);
}

function tellCertificate(turn: Turn, certificate: State['certificates'][number]): void {
  for (const node of others(turn)) send(turn, node, certificate.message);
  certificate.step++;
  const gap = (TELL_AT[certificate.step] ?? Infinity) - (TELL_AT[certificate.step - 1] ?? 0);
  certificate.at = turn.state.config.rules.repeatVotes ? after(turn.now, gap) : NEVER;
}

export function onCertificate(turn: Turn, message: Extract<Message, { type: 'certificate' }>): void {
  const { state, now } = turn;
  const { life, list, proven } = message;
  if (isOwnLife(state, life)) return;
  if (!proven) {
    state.doubted.set(life.incarnation, now);
    reviewOrphans(turn, life.node);
    return;
  }
  const found = subject(turn, life);
  learnList(found, list);
  certify(turn, found, false);
}

/** Voters that forgot the life found it silent, and it was not heard here since. */
function isDoubted({ state }: Turn, life: Life): boolean {
  const doubtedAt = state.doubted.get(life.incarnation);
  if (doubtedAt === undefined) return false;
  const member = state.members.get(life.node);
  return member?.session !== sessionOf(life.incarnation) || member.heardAt <= doubtedAt;
}

/** Whether succession of this life's claims may be tried: its voters have the last word. */
export function isVoid(turn: Turn, life: Life): boolean {
  const { state, now } = turn;
  if (life.node === state.config.self) return life.incarnation !== state.incarnation;
  if (subjectOf(state, life)?.certified === true || isDoubted(turn, life)) return true;
  const member = state.members.get(life.node);
  if (member?.session === undefined) return false;
  if (member.session !== sessionOf(life.incarnation)) return now - member.sessionSince > state.config.timings.vote;
  return isPast(state, life.node, life.incarnation);
}

/** The node goes on under a later life of the same session. */
function isPast(state: State, node: NodeName, incarnation: Incarnation): boolean {
  const current = state.members.get(node)?.incarnation;
  return current !== undefined && current > incarnation && sessionOf(current) === sessionOf(incarnation);
}

/** Whether this voter itself has given the life up, for ever. */
export function hasVoted(turn: Turn, life: Life): boolean {
  const { state, now } = turn;
  if (life.node === state.config.self) return life.incarnation !== state.incarnation;
  const found = subjectOf(state, life) ?? forgotten(turn, life);
  if (found === undefined) return false;
  if (isPast(state, life.node, life.incarnation)) found.void = true;
  const session = state.members.get(life.node)?.session;
  const restarted = session !== undefined && session !== sessionOf(life.incarnation);
  if (restarted && now - found.heardAt > silence(state)) found.void = true;
  return found.void;
}

/** Newest voter list known of a life. */
export function newestList(state: State, life: Life, list: VoterList): VoterList {
  const known = subjectOf(state, life)?.list;
  return known !== undefined && known.version > list.version ? known : list;
}

/** Forgets lives that no claim and no vote needs. */
export function forgetLives(turn: Turn): void {
  const { state, now } = turn;
  const needed = new Set<Incarnation>();
  for (const { claim } of state.claims.values()) needed.add(claim.holder.incarnation);
  for (const [node, lives] of state.subjects) {
    const current = state.members.get(node)?.incarnation;
    for (const [incarnation, found] of lives) {
      if (needed.has(incarnation) || incarnation === current) continue;
      if (now - Math.max(found.heardAt, found.createdAt) > REMEMBER_LIFE) lives.delete(incarnation);
    }
    if (lives.size === 0) state.subjects.delete(node);
  }
  for (const incarnation of state.doubted.keys()) if (!needed.has(incarnation)) state.doubted.delete(incarnation);
}
