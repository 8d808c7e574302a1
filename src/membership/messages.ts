import type { NodeName, Vip } from '../../net/names.ts';
import type { Incarnation, SessionId } from './types.ts';

/** A voter is a session: a restarted one has forgotten what it voted and is another voter. */
export interface Voter {
  readonly node: NodeName;
  readonly session: SessionId;
}

/** The literal list that a holder chose, and carries with a version (1 or more). */
export interface VoterList {
  readonly version: number;
  readonly voters: readonly Voter[];
}

/** One life of one node. */
export interface Life {
  readonly node: NodeName;
  readonly incarnation: Incarnation;
}

/** Who holds an epoch: a life with the voters that it had then, or nobody, with the voters of who released it. */
export interface Holder extends Life {
  readonly list: VoterList;
  /** The life gave the VIP up to nobody: its voters grant the next epoch to whoever asks. */
  readonly released: boolean;
}

/** {VIP, holder, epoch}: one link of the VIP's chain. */
export interface Claim {
  readonly vip: Vip;
  readonly epoch: number;
  readonly holder: Holder;
  readonly routeKey: string;
  /** Age in milliseconds of the last moves by choice, newest first. */
  readonly moves: readonly number[];
  /** Other nodes that held the VIP before, newest first, each once; at most `FORMER_HOLDERS`. */
  readonly formerHolders: readonly NodeName[];
}

/** Totally ordered: round, then proposer, then its incarnation. Round 0 is the holder's own release. */
export interface Ballot {
  readonly round: number;
  readonly life: Life;
}

/** The succession of one link: which register of a voter is meant. `epoch` 0: nobody ever held the VIP. */
export interface Seat {
  readonly vip: Vip;
  readonly epoch: number;
  readonly life: Life;
  /** The life released the epoch to nobody: it need not be void. */
  readonly open: boolean;
}

export interface Grant {
  readonly ballot: Ballot;
  readonly holder: Holder;
  /** The epoch that is granted. */
  readonly epoch: number;
}

export type Message =
  /** `list` is there until the receiver has acknowledged its version. */
  | {
      readonly type: 'heartbeat';
      readonly incarnation: Incarnation;
      readonly number: number;
      readonly version: number;
      readonly list?: VoterList;
      readonly digest: number;
    }
  | {
      readonly type: 'acknowledge';
      readonly incarnation: Incarnation;
      readonly number: number;
      readonly version: number;
      readonly digest: number;
    }
  | {
      readonly type: 'suspicion';
      readonly life: Life;
      readonly version: number;
      readonly verdict: 'suspected' | 'void';
    }
  /**
   * Succession of the life's claims may begin. `proven`: a majority of its voters voted it void; else voters that
   * have forgotten it find it silent.
   */
  | { readonly type: 'certificate'; readonly life: Life; readonly list: VoterList; readonly proven: boolean }
  /** Claims that the sender knows. `holdings`: its own life's, for its voters to list. */
  | {
      readonly type: 'claims';
      readonly claims: readonly Claim[];
      readonly holdings?: Incarnation;
    }
  | { readonly type: 'holdingsKnown'; readonly incarnation: Incarnation; readonly vips: readonly Vip[] }
  /** Claims without a majority; `intended` are about to be made. */
  | {
      readonly type: 'unfenced';
      readonly claims: readonly { readonly vip: Vip; readonly epoch: number; readonly intended: boolean }[];
      /** The sender has heard the receiver within the last second. */
      readonly hears: boolean;
    }
  | {
      readonly type: 'status';
      readonly subject: NodeName;
      readonly session: SessionId;
      readonly version: number;
      readonly page: number;
      readonly pages: number;
      readonly draining: boolean;
      readonly witness: boolean;
      readonly exceptions: readonly StatusException[];
    }
  /** Sums of the sender's tables, one a bucket. */
  | { readonly type: 'digest'; readonly sums: readonly number[]; readonly reply: boolean }
  | {
      readonly type: 'prepare';
      readonly seat: Seat;
      readonly list: VoterList;
      readonly ballot: Ballot;
      readonly claimant: Life;
      readonly reform: boolean;
    }
  | {
      readonly type: 'promise';
      readonly seat: Seat;
      readonly ballot: Ballot;
      /** The voter's session was in the list: it remembers. */
      readonly remembers: boolean;
      readonly grant?: Grant;
    }
  | {
      readonly type: 'accept';
      readonly seat: Seat;
      readonly list: VoterList;
      readonly ballot: Ballot;
      readonly holder: Holder;
      readonly epoch: number;
      readonly reform: boolean;
    }
  | { readonly type: 'accepted'; readonly seat: Seat; readonly ballot: Ballot }
  /** Not granted: the life is not void, a higher ballot was promised, or more is known. */
  | {
      readonly type: 'refused';
      readonly seat: Seat;
      readonly ballot: Ballot;
      readonly promised?: Ballot;
      readonly list?: VoterList;
      readonly claim?: Claim;
    }
  /** The holder asks whether the receiver would take the VIP. */
  | { readonly type: 'offer'; readonly vip: Vip; readonly epoch: number }
  | {
      readonly type: 'offerReply';
      readonly vip: Vip;
      readonly epoch: number;
      readonly ready: boolean;
      readonly holder?: Holder;
    }
  /** The seat has been decided: the receiver's claim, if it is the holder. */
  | { readonly type: 'decided'; readonly claim: Claim }
  /** The sender leaves in order: drop it from your voters. */
  | { readonly type: 'leaving' }
  /** To a voter that judges by an older list. */
  | { readonly type: 'voters'; readonly life: Life; readonly list: VoterList }
  | { readonly type: 'ask'; readonly vip: Vip }
  | { readonly type: 'rebalance' };

/** What a member may not lead, or does not want to. */
export interface StatusException {
  readonly vip: Vip;
  readonly kind: 'ineligible' | 'lastResort' | 'notReady';
  readonly reason: string;
}
