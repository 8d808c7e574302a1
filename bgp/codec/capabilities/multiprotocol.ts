import { Writer } from '../../../net/cursor.ts';
import { CapabilityCode } from '../constants.ts';
import type { CapabilityCodec, CapabilityOf } from './capability.ts';

/** RFC 4760 section 8: AFI, a reserved octet, SAFI. */
export const multiprotocol: CapabilityCodec<CapabilityOf<'multiprotocol'>> = {
  code: CapabilityCode.MULTIPROTOCOL,
  decode: (value) => {
    if (value.remaining !== 4) return { problem: `length ${value.remaining} is not 4` };
    const afi = value.u16() as number;
    value.u8();
    return { ok: { kind: 'multiprotocol', afi, safi: value.u8() as number } };
  },
  encode: ({ afi, safi }) => new Writer(4).u16(afi).u8(0).u8(safi).finish(),
};
