import { type MonotonicNs, ms } from '../../net/clock.ts';

/** The fields of a Lease that decide; times are the writers' own and are not compared with our clock. */
export interface LeaseRecord {
  /** Empty: released. */
  readonly holder: string;
  readonly durationMs: number;
  readonly transitions: number;
  readonly resourceVersion: string;
}

export interface ElectionTimings {
  /** For how long others respect the lease after they saw it renewed. */
  readonly leaseMs: number;
  /** For how long the holder acts after it sent the last renewal that succeeded; shorter, for clocks drift. */
  readonly actMs: number;
  readonly renewMs: number;
  /** Candidates spread their attempts over this time. */
  readonly spreadMs: number;
}

export const DEFAULT_TIMINGS: ElectionTimings = { leaseMs: 15_000, actMs: 10_000, renewMs: 3_000, spreadMs: 2_000 };

const RETRY_MS = 500;

export interface Election {
  readonly self: string;
  readonly timings: ElectionTimings;
  /** Undefined: not read yet. `record` undefined: there is no Lease. */
  readonly seen: { readonly record: LeaseRecord | undefined; readonly at: MonotonicNs } | undefined;
  /** When the last renewal that succeeded was sent. */
  readonly renewedAt: MonotonicNs | undefined;
  readonly writing: boolean;
  /** No attempt before. */
  readonly notBefore: MonotonicNs;
}

export type ElectionEvent =
  /** What the API server has, by watch or as the answer to our own write. */
  | { readonly kind: 'seen'; readonly record: LeaseRecord | undefined }
  | { readonly kind: 'written'; readonly record: LeaseRecord; readonly sentAt: MonotonicNs }
  | { readonly kind: 'refused' }
  | { readonly kind: 'tick' };

export interface LeaseWrite {
  readonly holder: string;
  readonly transitions: number;
  /** Undefined: it is to be made. */
  readonly over: string | undefined;
  /** The holder was another one before. */
  readonly acquires: boolean;
}

export interface ElectionStep {
  readonly election: Election;
  readonly write: LeaseWrite | undefined;
  readonly leading: boolean;
  /** When to tick next, at the latest. */
  readonly wakeAt: MonotonicNs | undefined;
}

export function startElection(self: string, timings = DEFAULT_TIMINGS): Election {
  const notBefore = 0 as MonotonicNs;
  return { self, timings, seen: undefined, renewedAt: undefined, writing: false, notBefore };
}

/**
 * Election by a Lease, as client-go does it: who holds is judged by how long the record has not changed on our own
 * clock, and never by the times in it, so that clocks of nodes may differ. Pure.
 * @param random 0 to 1
 */
export function step(before: Election, event: ElectionEvent, now: MonotonicNs, random: number): ElectionStep {
  const election = take(before, event, now, random);
  const due = nextWrite(election);
  const write = due !== undefined && due.at <= now ? due.write : undefined;
  const leading = leadsUntil(election) > now;
  const wakes = [write === undefined ? due?.at : undefined, leading ? leadsUntil(election) : undefined];
  const wakeAt = wakes.filter((at) => at !== undefined).sort((a, b) => a - b)[0];
  return { election: write === undefined ? election : { ...election, writing: true }, write, leading, wakeAt };
}

/** Until when this node may act as the leader. */
export function leadsUntil({ renewedAt, timings }: Election): MonotonicNs {
  return (renewedAt === undefined ? 0 : renewedAt + ms(timings.actMs)) as MonotonicNs;
}

function take(election: Election, event: ElectionEvent, now: MonotonicNs, random: number): Election {
  const spread = () => (now + ms(election.timings.spreadMs * random)) as MonotonicNs;
  switch (event.kind) {
    case 'seen': {
      const { record } = event;
      if (election.seen !== undefined && isKnown(election.seen.record, record)) return election;
      const seen = { record, at: now };
      if (record?.holder === election.self) return { ...election, seen };
      // Every candidate sees a lease end or become free at the same time.
      const respectMs = isFree(record) ? 0 : (record?.durationMs ?? 0);
      return { ...election, seen, renewedAt: undefined, notBefore: (spread() + ms(respectMs)) as MonotonicNs };
    }
    case 'written':
      return { ...election, writing: false, seen: { record: event.record, at: now }, renewedAt: event.sentAt };
    case 'refused': {
      const notBefore = Math.max(election.notBefore, spread() + ms(RETRY_MS)) as MonotonicNs;
      return { ...election, writing: false, notBefore };
    }
    case 'tick':
      return election;
  }
}

function nextWrite(election: Election): { readonly at: MonotonicNs; readonly write: LeaseWrite } | undefined {
  const { self, seen, writing, timings, notBefore, renewedAt } = election;
  if (seen === undefined || writing) return undefined;
  const { record } = seen;
  const ours = record?.holder === self;
  const renewal = renewedAt === undefined ? seen.at : renewedAt + ms(timings.renewMs);
  const write = {
    holder: self,
    transitions: record === undefined ? 0 : record.transitions + (ours ? 0 : 1),
    over: record?.resourceVersion,
    acquires: !ours,
  };
  return { at: (ours ? Math.max(renewal, notBefore) : notBefore) as MonotonicNs, write };
}

/** The watch may lag behind the answers to our own writes. */
function isKnown(known: LeaseRecord | undefined, record: LeaseRecord | undefined): boolean {
  if (known === undefined || record === undefined) return known === record;
  if (known.resourceVersion === record.resourceVersion) return true;
  return known.holder === record.holder && BigInt(record.resourceVersion) < BigInt(known.resourceVersion);
}

function isFree(record: LeaseRecord | undefined): boolean {
  return record === undefined || record.holder === '';
}
