import type { ApiFailure } from '../failure.ts';

/** What is asked of the API server next. */
export type Step =
  | 'list'
  /** A list of one object, before a watch goes on after a failure: has the server been set back in time? */
  | 'probe'
  | 'watch';

export type Outcome =
  | { readonly kind: 'listed' }
  | { readonly kind: 'probed'; readonly setBack: boolean }
  /** The server ended the watch in order. */
  | { readonly kind: 'ended'; readonly events: number; readonly lastedMs: number }
  /** The version to go on from is no longer kept (410). */
  | { readonly kind: 'expired' }
  | { readonly kind: 'failed'; readonly failure: ApiFailure; readonly events: number; readonly lastedMs: number }
  /** Somebody wants to be sure to have the newest. */
  | { readonly kind: 'refresh' };

export interface Schedule {
  readonly step: Step;
  readonly delayMs: number;
  /** Attempts in a row that brought nothing. */
  readonly attempts: number;
}

export const START: Schedule = { step: 'list', delayMs: 0, attempts: 0 };

const FIRST_DELAY_MS = 200;
/** What went wrong is to be right within 5 s after. */
const MAX_DELAY_MS = 4_000;
/** The kind is not there; it may never be. */
const ABSENT_DELAY_MS = 30_000;
/** A watch that lasted as long was a good one. */
const GOOD_WATCH_MS = 5_000;

export interface ScheduleOptions {
  /** The kind need not exist. */
  readonly optional: boolean;
  /** 0 to 1. */
  readonly random: number;
}

/** Pure: what to do after an attempt, and when. */
export function next(schedule: Schedule, outcome: Outcome, { optional, random }: ScheduleOptions): Schedule {
  const retry = (step: Step, cap = MAX_DELAY_MS): Schedule => {
    const attempts = schedule.attempts + 1;
    const full = Math.min(cap, FIRST_DELAY_MS * 2 ** Math.min(attempts - 1, 16));
    return { step, delayMs: full * (0.5 + random / 2), attempts };
  };
  switch (outcome.kind) {
    case 'listed':
      return { step: 'watch', delayMs: 0, attempts: schedule.attempts };
    case 'probed':
      return { step: outcome.setBack ? 'list' : 'watch', delayMs: 0, attempts: schedule.attempts };
    case 'ended':
      return wasGood(outcome) ? { step: 'watch', delayMs: 0, attempts: 0 } : retry('watch');
    case 'expired':
      return retry('list');
    case 'refresh':
      return { step: 'list', delayMs: 0, attempts: schedule.attempts };
    case 'failed': {
      const step = schedule.step === 'list' ? 'list' : 'probe';
      if (wasGood(outcome)) return { step, delayMs: FIRST_DELAY_MS * random, attempts: 0 };
      const { failure } = outcome;
      if (failure.kind === 'unreachable') return retry(step);
      const planned = retry(step, failure.status === 404 && optional ? ABSENT_DELAY_MS : MAX_DELAY_MS);
      // A later answer than the server asks for, never an earlier one.
      return { ...planned, delayMs: Math.max(planned.delayMs, failure.retryAfterMs ?? 0) };
    }
  }
}

function wasGood({ events, lastedMs }: { readonly events: number; readonly lastedMs: number }): boolean {
  return events > 0 || lastedMs >= GOOD_WATCH_MS;
}
