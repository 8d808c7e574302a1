import { AttributeFlag, AttributeType } from '../constants.ts';
import type { AttributeCodec } from './attribute.ts';
import { readU32, writeU32 } from './numbers.ts';

/** RFC 4271 section 4.3 (e); RFC 7606 section 7.5: discarded when it comes from an external peer. */
export const localPreference: AttributeCodec<number> = {
  type: AttributeType.LOCAL_PREF,
  name: 'LOCAL_PREF',
  flags: AttributeFlag.TRANSITIVE,
  malformed: 'treat-as-withdraw',
  unexpected: (session) => (session.peering === 'external' ? 'the peer is external' : undefined),
  decode: readU32,
  encode: writeU32,
};
