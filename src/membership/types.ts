import type { Brand } from '../../net/brand.ts';
import type { MonotonicNs } from '../../net/clock.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import type { Message } from './messages.ts';
import type { Rules } from './rules.ts';
import type { Timings } from './timings.ts';

/** One run of a speaker process: 32 random bits, not 0. */
export type SessionId = Brand<number, 'SessionId'>;

/**
 * One life of a node as a holder: its session and a counter within it. A node that was voted void, or that yields,
 * begins its next incarnation; what it has said as a voter stays with its session.
 */
export type Incarnation = Brand<number, 'Incarnation'>;

/** What the API or `--peers` says of a member of this segment. */
export interface Member {
  readonly name: NodeName;
  /** Only votes: it never leads. */
  readonly witness: boolean;
}

export interface MembershipConfig {
  readonly self: NodeName;
  readonly session: SessionId;
  readonly timings: Timings;
  /** This node only votes. */
  readonly witness: boolean;
  /** The rules of the protocol, all in force; simulations take one out to show what it prevents. */
  readonly rules: Rules;
}

/** Whether this node may lead a VIP, as `decide/eligible.ts` finds. */
export type Eligibility =
  | { readonly kind: 'eligible' }
  /** Leads only where no member is eligible (its Node is NotReady). */
  | { readonly kind: 'lastResort'; readonly reason: string }
  /** `reason` is at most 80 bytes, in words for a status: "no ready endpoint". */
  | { readonly kind: 'ineligible'; readonly reason: string };

/** Who may claim a VIP that nobody has ever held. */
export type FirstClaim =
  /** The coordinator's writing: `holder` claims first, at `epoch` (1 or more). */
  | { readonly kind: 'written'; readonly holder: NodeName; readonly epoch: number }
  /** Without a coordinator: the first candidate by rank to which a majority of the members grants it. */
  | { readonly kind: 'peers' };

/** One VIP of this segment as this node sees it. */
export interface VipEntry {
  readonly vip: Vip;
  /** `Prefer` allows an unfenced claim where there is no majority; `Require` stays dark. */
  readonly fencing: 'Prefer' | 'Require';
  readonly firstClaim: FirstClaim;
  readonly eligibility: Eligibility;
  /** This node's kernel has the VIP's rules. */
  readonly ready: boolean;
  /** Nodes that lead before all others, best first; usually empty. */
  readonly preferredNodes: readonly NodeName[];
  /** The route that the VIP is assigned to, opaque, at most 128 bytes: carried with the claim. */
  readonly routeKey: string;
}

/** What an address probe (RFC 5227 section 2.1.1, RFC 4862 section 5.4) or a frame on the wire showed. */
export type WireAnswer =
  | { readonly kind: 'silence' }
  | { readonly kind: 'member'; readonly node: NodeName }
  /** A MAC address of no member. */
  | { readonly kind: 'stranger'; readonly mac: string };

export type MembershipEvent =
  /** Once, first. */
  | { readonly type: 'start' }
  | { readonly type: 'message'; readonly from: NodeName; readonly session: SessionId; readonly message: Message }
  /** The time asked for by the last `timer` effect has come. */
  | { readonly type: 'timer' }
  /** Answers the effect `drainSockets`: everything that had arrived was handed in. */
  | { readonly type: 'socketsDrained' }
  /** The whole member table of the segment, this node in it. */
  | { readonly type: 'members'; readonly members: readonly Member[] }
  | { readonly type: 'vips'; readonly upserts: readonly VipEntry[]; readonly deletes: readonly Vip[] }
  /** Hands everything over and takes nothing, until `undrain`. `to` is tried before other candidates. */
  | { readonly type: 'drain'; readonly to?: NodeName }
  | { readonly type: 'undrain' }
  /** The process ends: drain, leave the voter lists of others, then the effect `left`. */
  | { readonly type: 'leave' }
  /** Moves one VIP that this node holds (`to` absent: to the best other candidate). */
  | { readonly type: 'handOver'; readonly vip: Vip; readonly to?: NodeName }
  /** Every holder above the mean hands its surplus over. Reaches the other members by itself. */
  | { readonly type: 'rebalance' }
  /** The main thread has been silent: no new claim while `true`. */
  | { readonly type: 'stalled'; readonly stalled: boolean }
  | { readonly type: 'carrier'; readonly up: boolean }
  /** A gateway (`node` absent) or a member answered an ARP or NDP request just now. */
  | { readonly type: 'neighbourAnswered'; readonly node?: NodeName }
  /** The outcome of an effect `probe`. A proxy that answers for any address counts as silence. */
  | { readonly type: 'probed'; readonly vip: Vip; readonly answer: WireAnswer }
  /** Another MAC claimed a VIP that this node answers for. */
  | {
      readonly type: 'conflict';
      readonly vip: Vip;
      readonly answer: Exclude<WireAnswer, { readonly kind: 'silence' }>;
    };

export type AnswerCause = 'firstClaim' | 'succession' | 'handOver' | 'unfenced' | 'refenced';

export type StopCause =
  | 'leaseLost'
  | 'handOver'
  | 'released'
  | 'higherClaim'
  | 'conflict'
  | 'noNeighbour'
  | 'vipRemoved';

export type Effect =
  | { readonly type: 'send'; readonly to: NodeName; readonly message: Message }
  /**
   * Answer for the VIP and announce it, as long as `mayAnswer` allows. Comes again for a VIP already answered when
   * `epoch` or `fenced` changes: then nothing is to be announced. `previous` is the last holder; `formerHolders`
   * (as a claim has them) may know connections that this node does not.
   */
  | {
      readonly type: 'answer';
      readonly vip: Vip;
      readonly epoch: number;
      readonly fenced: boolean;
      readonly cause: AnswerCause;
      readonly previous?: NodeName;
      readonly formerHolders: readonly NodeName[];
    }
  /** `keepForwarding`: the successor is not in force yet or its clients are still on the way. */
  | { readonly type: 'stopAnswering'; readonly vip: Vip; readonly cause: StopCause; readonly keepForwarding: boolean }
  /** Ask the LAN `count` times, `intervalNs` apart, who answers for the VIP; then the event `probed`. */
  | { readonly type: 'probe'; readonly vip: Vip; readonly count: number; readonly intervalNs: number }
  /** Ask the gateways and these members once by ARP or NDP; answers come as `neighbourAnswered`. */
  | { readonly type: 'probeNeighbours'; readonly members: readonly NodeName[] }
  /** Hand in all that the sockets hold, then the event `socketsDrained`. */
  | { readonly type: 'drainSockets' }
  /** Replaces the timer set before. */
  | { readonly type: 'timer'; readonly at: MonotonicNs }
  | { readonly type: 'report'; readonly report: Report }
  /** After `leave`: nothing more is owed to anybody. */
  | { readonly type: 'left' };

/** Why a VIP has no holder, as this node knows; `node` is the one that the reason is about. */
export interface DarkReason {
  readonly node?: NodeName;
  readonly reason: string;
}

/** For the main thread: status, metrics, events. */
export type Report =
  /** The claim on a VIP as this node knows it; `holder` absent: nobody. `since` is when this node learnt it. */
  | {
      readonly kind: 'claim';
      readonly vip: Vip;
      readonly holder?: NodeName;
      readonly epoch: number;
      readonly fenced: boolean;
      readonly since: MonotonicNs;
      readonly routeKey: string;
    }
  /** Nobody leads the VIP: each candidate and why it does not. */
  | { readonly kind: 'dark'; readonly vip: Vip; readonly reasons: readonly DarkReason[] }
  | {
      readonly kind: 'lease';
      readonly held: boolean;
      readonly incarnation: Incarnation;
      readonly voters: readonly NodeName[];
      readonly version: number;
    }
  /** What is known of a member. `alive` is false once its last known life was certified void. */
  | {
      readonly kind: 'member';
      readonly node: NodeName;
      readonly session?: SessionId;
      readonly alive: boolean;
      readonly draining: boolean;
      readonly witness: boolean;
    }
  | { readonly kind: 'suspected'; readonly node: NodeName; readonly incarnation: Incarnation }
  /** A majority of its voters voted the incarnation void. */
  | { readonly kind: 'certified'; readonly node: NodeName; readonly incarnation: Incarnation }
  | {
      readonly kind: 'moved';
      readonly vip: Vip;
      readonly from?: NodeName;
      readonly epoch: number;
      readonly cause: AnswerCause;
    }
  /** From sending of the acknowledged heartbeat to its acknowledgement. */
  | { readonly kind: 'roundTrip'; readonly voter: NodeName; readonly nanoseconds: number }
  /** These members answer ARP or NDP but none of our datagrams. Empty: no longer so. */
  | { readonly kind: 'heartbeatsBlocked'; readonly nodes: readonly NodeName[] }
  /** Somebody outside the cluster answers for a VIP. `defended`: we hold it and go on; else it is not claimed. */
  | { readonly kind: 'conflicted'; readonly vip: Vip; readonly mac: string; readonly defended: boolean };

export type { Message } from './messages.ts';
