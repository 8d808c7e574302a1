import { AttributeFlag, AttributeType } from '../constants.ts';
import type { AttributeCodec } from './attribute.ts';
import { readU32, writeU32 } from './numbers.ts';

/** RFC 4271 section 4.3 (d); RFC 7606 section 7.4. */
export const multiExitDisc: AttributeCodec<number> = {
  type: AttributeType.MULTI_EXIT_DISC,
  name: 'MULTI_EXIT_DISC',
  flags: AttributeFlag.OPTIONAL,
  malformed: 'treat-as-withdraw',
  decode: readU32,
  encode: writeU32,
};
