import { Writer } from '../../../net/cursor.ts';
import { CapabilityCode } from '../constants.ts';
import type { CapabilityCodec, CapabilityOf } from './capability.ts';

/** RFC 6793 section 3. */
export const fourOctetAs: CapabilityCodec<CapabilityOf<'four-octet-as'>> = {
  code: CapabilityCode.FOUR_OCTET_AS,
  decode: (value) =>
    value.remaining === 4
      ? { ok: { kind: 'four-octet-as', asn: value.u32() as number } }
      : { problem: `length ${value.remaining} is not 4` },
  encode: ({ asn }) => new Writer(4).u32(asn).finish(),
};
