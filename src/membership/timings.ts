import { ms } from '../../net/clock.ts';

/** All in nanoseconds. `docs/leaders.md` says what each is for. */
export interface Timings {
  readonly heartbeat: number;
  /** A holder answers for this long after sending a heartbeat that a majority acknowledged. */
  readonly lease: number;
  /** A voter suspects after this silence. Above `lease` by more than two clocks can drift apart. */
  readonly vote: number;
}

export type Profile = 'fast' | 'default' | 'calm';

export const PROFILES: Readonly<Record<Profile, Timings>> = {
  fast: { heartbeat: ms(50), lease: ms(200), vote: ms(225) },
  default: { heartbeat: ms(100), lease: ms(400), vote: ms(440) },
  calm: { heartbeat: ms(250), lease: ms(1500), vote: ms(1650) },
};

/** A node without a lease for this long yields. */
export const YIELD_AFTER = ms(50);
/** Each rank waits this much longer before it claims. */
export const RANK_STEP = ms(40);
/** A speaker that just started claims nothing for this long. */
export const LISTEN = ms(1000);
/** A gap of its own above this makes a voter drain its sockets before it judges silence. */
export const OWN_GAP = ms(40);
/** A voter silent for this long is dropped from the list. */
export const DEAD_VOTER = ms(10_000);
/** A leaving voter waits at most this long for its holders to drop it. */
export const LEAVE_WAIT = ms(300);
/** No majority for this long, and `UNFENCED_RANK_STEP` a rank, before a claim is made unfenced. */
export const UNFENCED_AFTER = ms(1000);
export const UNFENCED_RANK_STEP = ms(300);
/** An unfenced claim is repeated to all at this interval, and is forgotten after three of them. */
export const UNFENCED_REPEAT = ms(250);
/** Claims are told to everybody at these times after a change. */
export const TELL_AT: readonly number[] = [0, ms(50), ms(150)];
/** A first claim asks the LAN this often, this far apart, whether somebody answers for the VIP. */
export const FIRST_PROBE_COUNT = 2;
export const FIRST_PROBE_INTERVAL = ms(20);
export const UNFENCED_PROBE_COUNT = 3;
export const UNFENCED_PROBE_INTERVAL = ms(100);
/** A first claim by another than the written holder waits this long; a chain without memory is re-formed after `REFORM_AFTER`. */
export const FIRST_CLAIM_PATIENCE = ms(1500);
export const REFORM_AFTER = ms(500);
/** A preferred node must have been eligible this long before a VIP moves to it. */
export const PREFERRED_STABLE = ms(60_000);
/** At most `VOLUNTARY_MOVES` of a VIP by choice within `VOLUNTARY_WINDOW`. */
export const VOLUNTARY_MOVES = 2;
export const VOLUNTARY_WINDOW = ms(180_000);
/** A VIP that a stranger answers for is tried again after this long. */
export const STRANGER_RETRY = ms(300_000);
/** A member asked about a VIP that it claims on the wire must answer within this. */
export const ASK_WAIT = ms(50);
/** As many are remembered with a claim: connections that they began outlive a rolling update. */
export const FORMER_HOLDERS = 4;
/** At most this many voters, the holder itself apart. */
export const MAX_VOTERS = 7;
/** A thousand VIPs claimed at once would delay the heartbeats on which every lease rests. */
export const CLAIMS_AT_ONCE = 16;
