import { Writer } from '../../../net/cursor.ts';
import type { IpFamily } from '../../../net/ip.ts';
import { AttributeFlag, AttributeType } from '../constants.ts';
import { afiSafiOf, readFamily, type Unread } from '../families.ts';
import { scanNlri } from '../nlri.ts';
import type { Nlri } from '../types.ts';
import type { AttributeCodec } from './attribute.ts';

/** What MP_UNREACH_NLRI carries, or the family of one that this session does not carry, left unread. */
export type MpUnreach = Nlri | Unread;

/** RFC 4760 section 4; errors: RFC 7606 section 7.12. */
export const mpUnreach: AttributeCodec<MpUnreach> = {
  type: AttributeType.MP_UNREACH_NLRI,
  name: 'MP_UNREACH_NLRI',
  flags: AttributeFlag.OPTIONAL,
  malformed: 'session-reset',
  decode: (value, session) => {
    const family = readFamily(value, session);
    if (family === undefined) return { problem: 'it is too short to hold a family' };
    if (typeof family !== 'string') return { ok: family };
    return scanNlri(family, value.rest());
  },
  encode: (value) => {
    if ('unread' in value) throw new TypeError('routes that were not read cannot be written');
    return writeMpUnreachHead(value.family).bytes(value.bytes).finish();
  },
};

/** All of the value that stands before the routes. */
export function writeMpUnreachHead(family: IpFamily): Writer {
  const { afi, safi } = afiSafiOf(family);
  return new Writer().u16(afi).u8(safi);
}
