import { Writer } from '../../../net/cursor.ts';
import { AttributeFlag, AttributeType } from '../constants.ts';
import type { LargeCommunity } from '../types.ts';
import type { AttributeCodec } from './attribute.ts';
import { readItems } from './numbers.ts';

/** RFC 8092 sections 3 and 6. */
export const largeCommunities: AttributeCodec<readonly LargeCommunity[]> = {
  type: AttributeType.LARGE_COMMUNITIES,
  name: 'LARGE_COMMUNITIES',
  flags: AttributeFlag.OPTIONAL | AttributeFlag.TRANSITIVE,
  malformed: 'treat-as-withdraw',
  decode: (value) =>
    readItems(value, 12, (item) => ({
      globalAdministrator: item.u32() as number,
      localData1: item.u32() as number,
      localData2: item.u32() as number,
    })),
  encode: (values) => {
    const out = new Writer(12 * values.length);
    for (const value of values) out.u32(value.globalAdministrator).u32(value.localData1).u32(value.localData2);
    return out.finish();
  },
};
