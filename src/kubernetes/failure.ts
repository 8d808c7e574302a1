/** Why a request to the API server did not succeed. */
export type ApiFailure =
  /** No complete answer: refused, reset, timed out, credentials that cannot be read. */
  | { readonly kind: 'unreachable'; readonly message: string }
  /** An answer other than 2xx; `reason` is that of metav1.Status, e.g. `Conflict`. */
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly reason: string;
      readonly message: string;
      /** From Retry-After. */
      readonly retryAfterMs: number | undefined;
    };

/** `metav1.Status`, as far as it is read. */
interface Status {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
}

export function unreachable(error: unknown): ApiFailure {
  const { code, message } = error as NodeJS.ErrnoException;
  return { kind: 'unreachable', message: message === '' ? (code ?? 'unknown error') : message };
}

/** @param text the body: a metav1.Status, or whatever a proxy in between wrote */
export function refused(status: number, text: string, retryAfter?: string): ApiFailure {
  const { reason = '', message = text.slice(0, 200) } = parseStatus(text);
  const seconds = Number(retryAfter ?? Number.NaN);
  const retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : undefined;
  return { kind: 'refused', status, reason, message, retryAfterMs };
}

/** An ERROR event of a watch. */
export function refusedInStream(object: unknown): ApiFailure {
  const { code = 500, reason = '', message = 'an error without words' } = object as Status;
  return { kind: 'refused', status: code, reason, message, retryAfterMs: undefined };
}

export function isStatus(failure: ApiFailure | undefined, ...statuses: readonly number[]): boolean {
  return failure?.kind === 'refused' && statuses.includes(failure.status);
}

export function describeFailure(failure: ApiFailure): string {
  switch (failure.kind) {
    case 'unreachable':
      return `the API server cannot be reached (${failure.message})`;
    case 'refused':
      return `the API server says ${failure.status}${failure.reason === '' ? '' : ` ${failure.reason}`}: ${failure.message}`;
  }
}

function parseStatus(text: string): Status {
  try {
    return JSON.parse(text) as Status;
  } catch {
    return {};
  }
}
