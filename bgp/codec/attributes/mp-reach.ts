import { type Cursor, Writer } from '../../../net/cursor.ts';
import { type IpFamily, type IpV6, ipFromBytes, ipToBytes, isV4, isV6 } from '../../../net/ip.ts';
import type { Result } from '../../../net/result.ts';
import { AttributeFlag, AttributeType } from '../constants.ts';
import { afiSafiOf, readFamily, type Unread } from '../families.ts';
import { scanNlri } from '../nlri.ts';
import type { Announcement, NextHop, SessionParameters } from '../types.ts';
import type { AttributeCodec } from './attribute.ts';

/** What MP_REACH_NLRI carries, or the family of one that this session does not carry, left unread. */
export type MpReach = Announcement | Unread;

/** RFC 4760 section 3; next hops: RFC 2545 section 3, RFC 8950 section 3; errors: RFC 7606 section 7.11. */
export const mpReach: AttributeCodec<MpReach> = {
  type: AttributeType.MP_REACH_NLRI,
  name: 'MP_REACH_NLRI',
  flags: AttributeFlag.OPTIONAL,
  malformed: 'session-reset',
  decode,
  encode: (value, session) => {
    if ('unread' in value) throw new TypeError('routes that were not read cannot be written');
    return writeMpReachHead(value.nlri.family, value.nextHop, session).bytes(value.nlri.bytes).finish();
  },
};

/** All of the value that stands before the routes. A next hop that the session cannot carry is a programming error. */
export function writeMpReachHead(family: IpFamily, nextHop: NextHop, { extendedNextHop }: SessionParameters): Writer {
  const carried = family === 'IPv4' ? isV4(nextHop.address) || extendedNextHop : isV6(nextHop.address);
  if (!carried) throw new RangeError(`${family} routes cannot have the next hop ${nextHop.address} here`);
  const { afi, safi } = afiSafiOf(family);
  const addresses = [nextHop.address, ...(nextHop.linkLocal === undefined ? [] : [nextHop.linkLocal])].map(ipToBytes);
  const out = new Writer()
    .u16(afi)
    .u8(safi)
    .u8(addresses.reduce((sum, address) => sum + address.length, 0));
  for (const address of addresses) out.bytes(address);
  return out.u8(0);
}

function decode(value: Cursor, session: SessionParameters): Result<MpReach, string> {
  const family = readFamily(value, session);
  if (family === undefined) return { problem: 'it is too short to hold a family' };
  if (typeof family !== 'string') return { ok: family };
  const length = value.u8();
  const address = length === undefined ? undefined : value.bytes(length);
  // One reserved octet, which is ignored.
  if (address === undefined || value.u8() === undefined) return { problem: 'the next hop is cut short' };
  const nextHop = readNextHop(address, family, session);
  if (nextHop === undefined) return { problem: `next hop length ${address.length} is not one of ${family}` };
  const nlri = scanNlri(family, value.rest());
  return nlri.problem === undefined ? { ok: { nlri: nlri.ok, nextHop } } : nlri;
}

function readNextHop(bytes: Uint8Array, family: IpFamily, { extendedNextHop }: SessionParameters): NextHop | undefined {
  if (family === 'IPv4' && bytes.length === 4) return { address: ipFromBytes(bytes) };
  if (family === 'IPv4' && !extendedNextHop) return undefined;
  if (bytes.length === 16) return { address: ipFromBytes(bytes) };
  if (bytes.length !== 32) return undefined;
  return { address: ipFromBytes(bytes.subarray(0, 16)), linkLocal: ipFromBytes(bytes.subarray(16)) as IpV6 };
}
