import type { IpFamily } from '../../net/ip.ts';
import { Afi, SAFI_UNICAST } from './constants.ts';
import type { AfiSafi } from './types.ts';

/** Undefined for a family that this library does not carry: it carries unicast alone. */
export function familyOfAfiSafi({ afi, safi }: AfiSafi): IpFamily | undefined {
  if (safi !== SAFI_UNICAST) return undefined;
  return afi === Afi.IPv4 ? 'IPv4' : afi === Afi.IPv6 ? 'IPv6' : undefined;
}

export function afiSafiOf(family: IpFamily): AfiSafi {
  return { afi: Afi[family], safi: SAFI_UNICAST };
}
