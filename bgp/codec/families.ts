import type { Cursor } from '../../net/cursor.ts';
import type { IpFamily } from '../../net/ip.ts';
import { Afi, SAFI_UNICAST } from './constants.ts';
import type { AfiSafi, SessionParameters } from './types.ts';

/** Undefined for a family that this library does not carry: it carries unicast alone. */
export function familyOfAfiSafi({ afi, safi }: AfiSafi): IpFamily | undefined {
  if (safi !== SAFI_UNICAST) return undefined;
  return afi === Afi.IPv4 ? 'IPv4' : afi === Afi.IPv6 ? 'IPv6' : undefined;
}

export function afiSafiOf(family: IpFamily): AfiSafi {
  return { afi: Afi[family], safi: SAFI_UNICAST };
}

/** A family that the session does not carry: what belongs to it cannot be read. */
export interface Unread {
  readonly unread: AfiSafi;
}

/** The family at the head of MP_REACH_NLRI and MP_UNREACH_NLRI (RFC 4760 sections 3 and 4); undefined if cut short. */
export function readFamily(value: Cursor, { families }: SessionParameters): IpFamily | Unread | undefined {
  const afi = value.u16();
  const safi = value.u8();
  if (afi === undefined || safi === undefined) return undefined;
  const family = familyOfAfiSafi({ afi, safi });
  return family !== undefined && families.includes(family) ? family : { unread: { afi, safi } };
}
