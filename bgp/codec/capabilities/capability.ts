import type { Cursor } from '../../../net/cursor.ts';
import type { Result } from '../../../net/result.ts';
import type { Capability } from '../types.ts';

export type KnownCapability = Exclude<Capability, { readonly kind: 'unknown' }>;
export type CapabilityKind = KnownCapability['kind'];
export type CapabilityOf<K extends CapabilityKind> = Extract<KnownCapability, { readonly kind: K }>;

/** A capability that we read and write. A problem is one phrase. */
export interface CapabilityCodec<C extends KnownCapability> {
  readonly code: number;
  readonly decode: (value: Cursor) => Result<C, string>;
  readonly encode: (capability: C) => Uint8Array;
}

/** A capability that says all by being there. */
export function flagCapability<C extends KnownCapability>(code: number, capability: C): CapabilityCodec<C> {
  return {
    code,
    decode: (value) => (value.remaining === 0 ? { ok: capability } : { problem: `length ${value.remaining} is not 0` }),
    encode: () => new Uint8Array(),
  };
}
