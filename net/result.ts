/** Something that can be expected to fail returns one of these; `throw` is for programming errors alone. */
export type Result<T, P = Problem> =
  | { readonly ok: T; readonly problem?: undefined }
  | { readonly ok?: undefined; readonly problem: P };

/** What is wrong with an input, in words that let its author mend it. */
export interface Problem {
  /** Path of the field, e.g. `spec.rules[0].port`. Empty for the whole input. */
  readonly field: string;
  /** The offending value as the author wrote it. */
  readonly value: unknown;
  /** What is wrong, one sentence without a full stop. */
  readonly message: string;
  /** What would be right, one sentence without a full stop. */
  readonly fix: string;
}

/** A result that is certainly a problem. */
export interface Failure {
  readonly ok?: undefined;
  readonly problem: Problem;
}

export function ok<T>(value: T): { readonly ok: T; readonly problem?: undefined } {
  return { ok: value };
}

export function problem(field: string, value: unknown, message: string, fix: string): Failure {
  return { problem: { field, value, message, fix } };
}

/** `field: message (got value); fix` on one line. */
export function formatProblem(p: Problem): string {
  const where = p.field === '' ? '' : `${p.field}: `;
  const got = p.value === undefined ? '' : ` (got ${JSON.stringify(p.value)})`;
  const fix = p.fix === '' ? '' : `; ${p.fix}`;
  return `${where}${p.message}${got}${fix}`;
}

/** The value, or a throw: for constants that the program itself wrote. */
export function must<T>(result: Result<T>): T {
  if (result.problem !== undefined) throw new Error(formatProblem(result.problem));
  return result.ok;
}
