import { after, type MonotonicNs } from '../../net/clock.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import type {
  Ballot,
  Claim,
  Grant,
  Holder,
  Life,
  Message,
  Seat,
  StatusException,
  Voter,
  VoterList,
} from './messages.ts';
import type { AnswerCause, Effect, Incarnation, MembershipConfig, Report, SessionId, VipEntry } from './types.ts';

export const NEVER = Number.POSITIVE_INFINITY as MonotonicNs;
export const LONG_AGO = Number.NEGATIVE_INFINITY as MonotonicNs;

/** What wakes at its own time. Each is run when its alarm is due, and sets its next alarm itself. */
export const TASKS = [
  'lease',
  'voters',
  'suspicion',
  'claims',
  'succession',
  'handOver',
  'unfenced',
  'members',
  'conflict',
] as const;
export type Task = (typeof TASKS)[number];

export interface MemberState {
  readonly node: NodeName;
  witness: boolean;
  /** The session last heard directly. */
  session: SessionId | undefined;
  sessionSince: MonotonicNs;
  /** Newest incarnation of that session. */
  incarnation: Incarnation | undefined;
  heardAt: MonotonicNs;
  /** Its last known life was certified void and no other was heard since. */
  dead: boolean;
  /** It asked to be dropped from voter lists. */
  leaving: boolean;
  status: MemberStatus | undefined;
  statusPages: StatusPages | undefined;
  greetAt: MonotonicNs;
  greetGap: number;
  /** When the last digest was sent to it. */
  comparedAt: MonotonicNs;
  /** It answered an ARP or NDP request. */
  answeredAt: MonotonicNs;
  /** What the main thread was told of it. */
  told:
    | {
        readonly session: SessionId | undefined;
        readonly alive: boolean;
        readonly draining: boolean;
        readonly witness: boolean;
      }
    | undefined;
}

export interface MemberStatus {
  readonly session: SessionId;
  readonly version: number;
  readonly draining: boolean;
  /** It says itself that it only votes. */
  readonly witness: boolean;
  readonly exceptions: ReadonlyMap<Vip, StatusException>;
  /** Since when this node has known it, by VIP where that is younger than the status. */
  readonly eligibleSince: ReadonlyMap<Vip, MonotonicNs>;
  readonly since: MonotonicNs;
}

/** Pages of a status version that is not complete yet. */
export interface StatusPages {
  readonly session: SessionId;
  readonly version: number;
  readonly pages: (readonly StatusException[] | undefined)[];
}

export interface VoterAck {
  /** Sending time of the newest heartbeat that this voter acknowledged. */
  sentAt: MonotonicNs;
  receivedAt: MonotonicNs;
  number: number;
  version: number;
}

export interface LeaseState {
  list: VoterList;
  /** The list before, until a majority of both has acknowledged the new one. */
  previous: readonly Voter[] | undefined;
  readonly formedAt: MonotonicNs;
  acks: Map<NodeName, VoterAck>;
  /** Voters that voted this life void: they will never acknowledge it again. */
  refusers: Set<NodeName>;
  number: number;
  /** Sending times by heartbeat number modulo its length. */
  sentAt: MonotonicNs[];
  until: MonotonicNs;
  held: boolean;
  heldSince: MonotonicNs;
  /** Since when this node has had no lease, over its lives. */
  lostAt: MonotonicNs;
  nextBeat: MonotonicNs;
  resendAt: MonotonicNs;
  /** The lease runs low: neighbours were asked from then on. */
  troubledAt: MonotonicNs | undefined;
}

/** A life as one of its voters sees it. */
export interface Subject {
  readonly life: Life;
  list: VoterList | undefined;
  heardAt: MonotonicNs;
  suspected: boolean;
  /** Irrevocable: this voter acknowledges the life no more. */
  void: boolean;
  certified: boolean;
  readonly suspects: Map<NodeName, MonotonicNs>;
  readonly votes: Set<NodeName>;
  sayAt: MonotonicNs;
  sayGap: number;
  readonly createdAt: MonotonicNs;
}

export interface KnownClaim {
  claim: Claim;
  since: MonotonicNs;
  /** Contribution to the digest. */
  sum: number;
}

export type HoldingPhase = 'pending' | 'answering' | 'interrupted' | 'handedOver';

export interface Holding {
  readonly claim: Claim;
  phase: HoldingPhase;
  readonly cause: AnswerCause;
  readonly previous: NodeName | undefined;
  readonly since: MonotonicNs;
  inForce: boolean;
  /** Voters that list it. */
  readonly listedBy: Set<NodeName>;
  tellAt: MonotonicNs;
  tellGap: number;
}

export interface Register {
  readonly seat: Seat;
  promised: Ballot | undefined;
  grant: Grant | undefined;
}

export interface Proposal {
  readonly seat: Seat;
  list: VoterList;
  ballot: Ballot;
  readonly claimant: Holder;
  readonly cause: AnswerCause;
  phase: 'prepare' | 'accept';
  reform: boolean;
  value: Holder | undefined;
  promises: Map<NodeName, { readonly remembers: boolean; readonly grant: Grant | undefined }>;
  accepts: Map<NodeName, boolean>;
  /** The epoch that is asked for. */
  epoch: number;
  readonly startedAt: MonotonicNs;
  sendAt: MonotonicNs;
  gap: number;
}

/** A VIP of the table that nobody holds, or whose holder is void. */
export interface Orphan {
  readonly since: MonotonicNs;
  /** When this node may claim; NEVER: it is no candidate; undefined: not planned yet. */
  startAt: MonotonicNs | undefined;
  probe: 'none' | 'running' | 'silent';
  probedAt: MonotonicNs;
}

export interface HandOver {
  readonly vip: Vip;
  readonly wanted: NodeName | undefined;
  readonly forced: boolean;
  readonly tried: Set<NodeName>;
  phase: 'offering' | 'releasing' | 'released';
  to: NodeName | undefined;
  successor: Holder | undefined;
  readonly accepts: Set<NodeName>;
  sendAt: MonotonicNs;
  sends: number;
}

export interface UnfencedState {
  readonly heard: Map<Vip, Map<NodeName, HeardUnfenced>>;
  /** What this node claims without a majority. */
  readonly own: Map<Vip, OwnUnfenced>;
  tellAt: MonotonicNs;
  /** When all VIPs were last looked over. */
  lookedAt: MonotonicNs;
  neighboursAskedAt: MonotonicNs;
}

export interface HeardUnfenced {
  readonly epoch: number;
  readonly intended: boolean;
  readonly at: MonotonicNs;
}

export interface OwnUnfenced {
  readonly epoch: number;
  /** `refused`: somebody answers for the VIP; it is tried again later. */
  phase: 'intended' | 'answering' | 'refused';
  readonly since: MonotonicNs;
  /** When another asked for the VIP first. */
  askedAt?: MonotonicNs;
}

export interface Tell {
  readonly vips: Set<Vip>;
  at: MonotonicNs;
  step: number;
}

export interface State {
  readonly config: MembershipConfig;
  readonly startedAt: MonotonicNs;
  lives: number;
  incarnation: Incarnation;
  formed: boolean;
  /** When the first voter list is chosen; undefined before `start`. */
  formAt: MonotonicNs | undefined;
  readonly members: Map<NodeName, MemberState>;
  /** Removed members that are still in this life's voter list, with their sessions: until they are dropped. */
  readonly former: Map<NodeName, SessionId>;
  /** When members of this session's table were removed. */
  readonly removedAt: Map<NodeName, MonotonicNs>;
  /** Members by rank for each VIP, forgotten when the member table changes. */
  readonly orders: Map<Vip, readonly MemberState[]>;
  readonly vips: Map<Vip, VipEntry>;
  /** When each VIP came into the table. */
  readonly vipSince: Map<Vip, MonotonicNs>;
  lease: LeaseState;
  readonly subjects: Map<NodeName, Map<Incarnation, Subject>>;
  readonly claims: Map<Vip, KnownClaim>;
  readonly sums: number[];
  digest: number;
  readonly holdings: Map<Vip, Holding>;
  readonly registers: Map<string, Register>;
  readonly proposals: Map<Vip, Proposal>;
  readonly orphans: Map<Vip, Orphan>;
  /** No plan of the orphans before. */
  planFrom: MonotonicNs;
  readonly handOvers: Map<Vip, HandOver>;
  readonly unfenced: UnfencedState;
  readonly tells: Tell[];
  /** Lives that have forgotten this voter's vote, and since when they are silent. */
  readonly doubts: Map<Incarnation, MonotonicNs>;
  /** Lives that such voters found silent, and when. */
  readonly doubted: Map<Incarnation, MonotonicNs>;
  readonly certificates: { message: Message; at: MonotonicNs; step: number }[];
  readonly status: {
    version: number;
    text: string;
    exceptions: readonly StatusException[];
    at: MonotonicNs;
    step: number;
    sentAt: MonotonicNs;
    /** Whether the last one said that this node drains. */
    drainingTold: boolean;
  };
  /** This node is in the member table: else it hands over and claims nothing. */
  listed: boolean;
  draining: boolean;
  drainTo: NodeName | undefined;
  leavingSince: MonotonicNs | undefined;
  /** A leaving voter goes at this time even if it is still listed. */
  droppedBy: MonotonicNs | undefined;
  left: boolean;
  stalled: boolean;
  carrier: boolean;
  neighbourAt: MonotonicNs;
  /** Silence is not judged until the sockets were drained. */
  drainingSockets: MonotonicNs | undefined;
  lastStepAt: MonotonicNs;
  /** VIPs that a member claims on the wire, and by when it must have answered for it. */
  readonly asked: Map<Vip, MonotonicNs>;
  /** VIPs that somebody outside the cluster answers for, and when to try again. */
  readonly strangers: Map<Vip, MonotonicNs>;
  readonly defendedAt: Map<Vip, MonotonicNs>;
  readonly probes: Map<Vip, 'firstClaim' | 'unfenced'>;
  blocked: readonly NodeName[];
  readonly darkTold: Map<Vip, string>;
  housekeepAt: MonotonicNs;
  readonly alarms: Record<Task, MonotonicNs>;
  timerAt: MonotonicNs;
}

/** One call of `step`: what it may read and what it says. */
export interface Turn {
  readonly state: State;
  readonly now: MonotonicNs;
  readonly effects: Effect[];
  /** Messages to ourselves: a holder may be its own voter. */
  readonly inbox: Message[];
}

export function wake(turn: Turn, task: Task, at: MonotonicNs): void {
  if (at < turn.state.alarms[task]) turn.state.alarms[task] = at;
}

export function wakeIn(turn: Turn, task: Task, nanoseconds: number): void {
  wake(turn, task, after(turn.now, nanoseconds));
}

export function send(turn: Turn, to: NodeName, message: Message): void {
  if (to === turn.state.config.self) turn.inbox.push(message);
  else turn.effects.push({ type: 'send', to, message });
}

export function report(turn: Turn, value: Report): void {
  turn.effects.push({ type: 'report', report: value });
}

export function others(turn: Turn): NodeName[] {
  return [...turn.state.members.keys()].filter((node) => node !== turn.state.config.self);
}

export function sameLife(a: Life, b: Life): boolean {
  return a.node === b.node && a.incarnation === b.incarnation;
}

const LIVES_PER_SESSION = 2 ** 20;

export function incarnationOf(session: SessionId, life: number): Incarnation {
  return (session * LIVES_PER_SESSION + life) as Incarnation;
}

export function sessionOf(incarnation: Incarnation): SessionId {
  return Math.floor(incarnation / LIVES_PER_SESSION) as SessionId;
}

export function ownLife(state: State): Life {
  return { node: state.config.self, incarnation: state.incarnation };
}

/** This node's life with its voters of now, as it stands in a claim. */
export function ownHolder(state: State): Holder {
  return { ...ownLife(state), list: state.lease.list, released: false };
}

export function isOwnLife(state: State, life: Life): boolean {
  return life.node === state.config.self && life.incarnation === state.incarnation;
}

export function majority(count: number): number {
  return Math.floor(count / 2) + 1;
}
