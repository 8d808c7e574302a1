import { Writer } from '../../../net/cursor.ts';
import { AttributeFlag, AttributeType } from '../constants.ts';
import type { AttributeCodec } from './attribute.ts';
import { readItems } from './numbers.ts';

/** RFC 4360 section 2; RFC 7606 section 7.14. */
export const extendedCommunities: AttributeCodec<readonly bigint[]> = {
  type: AttributeType.EXTENDED_COMMUNITIES,
  name: 'EXTENDED_COMMUNITIES',
  flags: AttributeFlag.OPTIONAL | AttributeFlag.TRANSITIVE,
  malformed: 'treat-as-withdraw',
  decode: (value) => readItems(value, 8, (item) => item.u64() as bigint),
  encode: (values) => values.reduce((out, value) => out.u64(value), new Writer(8 * values.length)).finish(),
};
