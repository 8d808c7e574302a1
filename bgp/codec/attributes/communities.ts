import { Writer } from '../../../net/cursor.ts';
import { AttributeFlag, AttributeType } from '../constants.ts';
import type { AttributeCodec } from './attribute.ts';
import { readItems } from './numbers.ts';

/** RFC 1997; RFC 7606 section 7.8. */
export const communities: AttributeCodec<readonly number[]> = {
  type: AttributeType.COMMUNITIES,
  name: 'COMMUNITIES',
  flags: AttributeFlag.OPTIONAL | AttributeFlag.TRANSITIVE,
  malformed: 'treat-as-withdraw',
  decode: (value) => readItems(value, 4, (item) => item.u32() as number),
  encode: (values) => values.reduce((out, value) => out.u32(value), new Writer(4 * values.length)).finish(),
};
