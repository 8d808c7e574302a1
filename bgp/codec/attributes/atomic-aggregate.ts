import { AttributeFlag, AttributeType } from '../constants.ts';
import type { AttributeCodec } from './attribute.ts';

/** RFC 4271 section 4.3 (f); RFC 7606 section 7.6. */
export const atomicAggregate: AttributeCodec<true> = {
  type: AttributeType.ATOMIC_AGGREGATE,
  name: 'ATOMIC_AGGREGATE',
  flags: AttributeFlag.TRANSITIVE,
  malformed: 'attribute-discard',
  decode: (value) => (value.remaining === 0 ? { ok: true } : { problem: `length ${value.remaining} is not 0` }),
  encode: () => new Uint8Array(),
};
