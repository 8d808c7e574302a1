import { expect, test } from 'vitest';
import type { ApiFailure } from '../failure.ts';
import { next, type Outcome, type Schedule, START } from './schedule.ts';

const required = { optional: false, random: 1 };
const cut: Outcome = { kind: 'ended', events: 0, lastedMs: 100 };
const failed = (failure: ApiFailure, events = 0): Outcome => ({ kind: 'failed', failure, events, lastedMs: 100 });
const reset: ApiFailure = { kind: 'unreachable', message: 'ECONNRESET' };
const refusal = (status: number, retryAfterMs?: number): ApiFailure => ({
  kind: 'refused',
  status,
  reason: '',
  message: '',
  retryAfterMs,
});

function after(schedule: Schedule, ...outcomes: readonly Outcome[]): Schedule {
  return outcomes.reduce((current, outcome) => next(current, outcome, required), schedule);
}

const watching = after(START, { kind: 'listed' });

test('watches at once after a list, and again after a watch that ended in order', () => {
  expect(watching).toEqual({ step: 'watch', delayMs: 0, attempts: 0 });
  expect(after(watching, { kind: 'ended', events: 0, lastedMs: 240_000 })).toEqual(watching);
  expect(after(watching, { kind: 'ended', events: 3, lastedMs: 1 })).toEqual(watching);
});

test('waits longer and longer, but never long, for a server that closes every watch at once', () => {
  const delays = Array.from({ length: 8 }, (_, i) => after(watching, ...new Array<Outcome>(i + 1).fill(cut)).delayMs);
  expect(delays).toEqual([200, 400, 800, 1600, 3200, 4000, 4000, 4000]);
});

test('asks where the server stands before it goes on after a failure', () => {
  const probing = after(watching, failed(reset));
  expect(probing).toMatchObject({ step: 'probe', delayMs: 200 });
  expect(after(probing, { kind: 'probed', setBack: false })).toMatchObject({ step: 'watch', delayMs: 0 });
  expect(after(probing, { kind: 'probed', setBack: true })).toMatchObject({ step: 'list', delayMs: 0 });
  expect(after(probing, failed(reset))).toMatchObject({ step: 'probe', delayMs: 400 });
});

test('a watch that brought something before it broke begins the back-off anew', () => {
  const tired = after(watching, cut, cut, cut, cut);
  expect(after(tired, failed(reset, 1))).toEqual({ step: 'probe', delayMs: 200, attempts: 0 });
});

test('lists anew when its version is no longer kept, a little later each time', () => {
  const first = after(watching, { kind: 'expired' });
  expect(first).toMatchObject({ step: 'list', delayMs: 200 });
  expect(after(first, { kind: 'expired' })).toMatchObject({ step: 'list', delayMs: 400 });
});

test('comes back no earlier than the server asks for', () => {
  expect(after(START, failed(refusal(429, 7_000)))).toMatchObject({ step: 'list', delayMs: 7_000 });
  expect(after(START, failed(refusal(429, 1)))).toMatchObject({ delayMs: 200 });
});

test('looks seldom for a kind that need not exist', () => {
  const optional = { optional: true, random: 1 };
  let schedule = START;
  for (let i = 0; i < 12; i++) schedule = next(schedule, failed(refusal(404)), optional);
  expect(schedule).toMatchObject({ step: 'list', delayMs: 30_000 });
});

test('half of every delay is random', () => {
  const { delayMs } = next(watching, failed(reset), { optional: false, random: 0 });
  expect(delayMs).toBe(100);
});

test('a wish for the newest is met at once', () => {
  expect(after(after(watching, cut, cut, cut), { kind: 'refresh' })).toMatchObject({ step: 'list', delayMs: 0 });
});
