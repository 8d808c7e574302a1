import { ok, problem, type Result } from '../../net/result.ts';

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/** One number with one unit: a subset of Go's durations, so that CEL's `duration()` reads every one of them. */
export const DURATION = /^(?<count>\d{1,6}(?:\.\d{1,3})?)(?<unit>ms|s|m|h)$/;

/** Milliseconds of `300ms`, `9s`, `1.5m` or `2h`. */
export function parseDuration(text: string, field = ''): Result<number> {
  const { count, unit } = DURATION.exec(text)?.groups ?? {};
  if (count === undefined || unit === undefined) {
    return problem(field, text, 'is not a duration', 'write e.g. 300ms, 9s or 2m');
  }
  return ok(Number(count) * UNITS[unit as keyof typeof UNITS]);
}

/** Milliseconds, or NaN for what is no duration, of which comparisons are false: its own field tells. */
export function milliseconds(text: string): number {
  return parseDuration(text).ok ?? Number.NaN;
}
