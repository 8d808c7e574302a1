import type { MonotonicNs } from '../../net/clock.ts';
import { type Diagnostic, describeDiagnostic, type SessionState } from './constants.ts';
import type { Discard } from './packet.ts';
import type { Path } from './table.ts';
import { detectionTime, transmitInterval } from './timing.ts';
import type { Parameters, Remote, Session } from './types.ts';

/** A session changed its state. */
export interface BfdEvent {
  readonly key: string;
  readonly from: SessionState;
  readonly to: SessionState;
  readonly diagnostic: Diagnostic;
  /** AdminDown: the peer's administrator ended BFD, which is no fault of the path (RFC 5882 section 3.2). */
  readonly remoteState: SessionState;
}

/** One session as its operator sees it. Plain data: it crosses threads. Intervals are milliseconds. */
export interface BfdStatus {
  readonly key: string;
  readonly path: Path;
  readonly state: SessionState;
  readonly remoteState: SessionState;
  readonly diagnostic: string;
  readonly remoteDiagnostic: string;
  readonly localDiscriminator: number;
  readonly remoteDiscriminator: number;
  readonly configured: Parameters;
  /** As negotiated, before jitter. */
  readonly transmitInterval: number;
  readonly detectionTime: number;
  readonly demandedByRemote: boolean;
  /** Milliseconds since the session is Up. */
  readonly uptime: number | undefined;
  readonly sent: number;
  readonly received: number;
  readonly transitions: number;
  readonly discards: Readonly<Partial<Record<Discard, number>>>;
  /** What keeps the session from working, in words. */
  readonly problem: string | undefined;
}

interface Observed {
  readonly key: string;
  readonly path: Path;
  readonly session: Session;
  readonly problem: string | undefined;
  readonly upSince: MonotonicNs | undefined;
  readonly sent: number;
  readonly received: number;
  readonly transitions: number;
  readonly discards: ReadonlyMap<Discard, number>;
  readonly authentication: number | undefined;
}

export function statusOf(observed: Observed, now: MonotonicNs): BfdStatus {
  const { key, path, session, upSince, sent, received, transitions, discards } = observed;
  const { remote, applied } = session;
  return {
    key,
    path,
    state: session.state,
    remoteState: remote.state,
    diagnostic: describeDiagnostic(session.diagnostic),
    remoteDiagnostic: describeDiagnostic(remote.diagnostic),
    localDiscriminator: session.discriminator,
    remoteDiscriminator: remote.discriminator,
    configured: session.configured,
    transmitInterval: transmitInterval(applied, remote) / 1000,
    detectionTime: detectionTime(applied, remote) / 1000,
    demandedByRemote: remote.demand,
    uptime: upSince === undefined ? undefined : (now - upSince) / 1e6,
    sent,
    received,
    transitions,
    discards: Object.fromEntries(discards),
    problem: observed.problem ?? refusal(observed, remote),
  };
}

function refusal({ authentication }: Observed, remote: Remote): string | undefined {
  if (authentication !== undefined) {
    return `the peer authenticates BFD (type ${authentication}), which is not supported: remove it there`;
  }
  return remote.state === 'AdminDown' ? 'BFD is administratively down at the peer' : undefined;
}
