import { type Cursor, Writer } from '../../../net/cursor.ts';
import { CapabilityCode } from '../constants.ts';
import type { CapabilityCodec, CapabilityOf } from './capability.ts';

type Entry = CapabilityOf<'extended-next-hop'>['families'][number];

const ENTRY_LENGTH = 6;

/** RFC 8950 section 4: triples of AFI, SAFI (two octets here) and next hop AFI. */
export const extendedNextHop: CapabilityCodec<CapabilityOf<'extended-next-hop'>> = {
  code: CapabilityCode.EXTENDED_NEXT_HOP,
  decode: (value) => {
    if (value.remaining % ENTRY_LENGTH !== 0) {
      return { problem: `length ${value.remaining} is not a multiple of ${ENTRY_LENGTH}` };
    }
    const families = Array.from({ length: value.remaining / ENTRY_LENGTH }, () => readEntry(value));
    return { ok: { kind: 'extended-next-hop', families } };
  },
  encode: ({ families }) => {
    const out = new Writer(ENTRY_LENGTH * families.length);
    for (const { afi, safi, nextHopAfi } of families) out.u16(afi).u16(safi).u16(nextHopAfi);
    return out.finish();
  },
};

function readEntry(value: Cursor): Entry {
  return { afi: value.u16() as number, safi: value.u16() as number, nextHopAfi: value.u16() as number };
}
