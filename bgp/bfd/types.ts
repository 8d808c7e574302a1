import type { MonotonicNs } from '../../net/clock.ts';
import type { Diagnostic, SessionState } from './constants.ts';
import type { ControlPacket } from './packet.ts';

/** What one end says of itself. Intervals are microseconds, from 1 up. */
export interface Parameters {
  readonly desiredMinTx: number;
  readonly requiredMinRx: number;
  /** 1 to 255. */
  readonly detectMultiplier: number;
}

/** What a session knows of its peer: the `bfd.Remote*` variables of RFC 5880 section 6.8.1. Microseconds. */
export interface Remote {
  readonly discriminator: number;
  readonly state: SessionState;
  readonly demand: boolean;
  readonly controlPlaneIndependent: boolean;
  readonly diagnostic: Diagnostic;
  readonly desiredMinTx: number;
  readonly requiredMinRx: number;
  readonly detectMultiplier: number;
}

/**
 * A Poll Sequence (RFC 5880 section 6.5). `repeat`: parameters changed while it ran, so that its Final cannot be
 * told from one that answers the new values, and another sequence follows.
 */
export type Poll = 'idle' | 'polling' | 'repeat';

/** One BFD session in asynchronous mode, active role, without echo and authentication. */
export interface Session {
  readonly state: SessionState;
  /** `bfd.LocalDiscr`: not zero, one of its kind in this system. */
  readonly discriminator: number;
  readonly diagnostic: Diagnostic;
  /** What the administrator wants. */
  readonly configured: Parameters;
  /** What our packets say: `bfd.DesiredMinTxInterval` is at least a second until the session is Up. */
  readonly advertised: Parameters;
  /** What our timers use: follows `advertised`, in the risky direction only after a Poll Sequence. */
  readonly applied: Parameters;
  readonly remote: Remote;
  readonly poll: Poll;
  /** The last packet but for its P and F bits. */
  readonly lastSent: ControlPacket | undefined;
  readonly lastSentAt: MonotonicNs | undefined;
  readonly lastReceivedAt: MonotonicNs | undefined;
  /** When the next periodic packet is due; undefined: none is (RFC 5880 section 6.8.7). */
  readonly transmitAt: MonotonicNs | undefined;
  /** When silence has lasted the Detection Time. */
  readonly detectAt: MonotonicNs | undefined;
}
