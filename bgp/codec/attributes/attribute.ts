import type { Cursor } from '../../../net/cursor.ts';
import type { Result } from '../../../net/result.ts';
import type { SessionParameters } from '../types.ts';

/** What every path attribute has, read or only checked. */
export interface AttributeRule {
  readonly type: number;
  readonly name: string;
  /** The Optional and Transitive bits that it must have (RFC 4271 section 5). */
  readonly flags: number;
  /** What a malformed one causes (RFC 7606 section 7). */
  readonly malformed: 'treat-as-withdraw' | 'attribute-discard' | 'session-reset';
  /** Why this peer must not send it, in one phrase; then it is discarded unread. */
  readonly unexpected?: (session: SessionParameters) => string | undefined;
}

/** A path attribute that we read and write. A problem is one phrase. */
export interface AttributeCodec<T> extends AttributeRule {
  readonly decode: (value: Cursor, session: SessionParameters) => Result<T, string>;
  readonly encode: (value: T, session: SessionParameters) => Uint8Array;
}

/** A path attribute of which nobody reads more than whether it is well formed. Answers what is wrong. */
export interface AttributeCheck extends AttributeRule {
  readonly check: (value: Cursor) => string | undefined;
}
