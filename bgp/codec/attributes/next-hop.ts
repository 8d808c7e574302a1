import {
  type Ip,
  type IpV4,
  ipFromBytes,
  ipToBytes,
  isLoopback,
  isMulticast,
  isUnspecified,
  isV4,
} from '../../../net/ip.ts';
import { AttributeFlag, AttributeType } from '../constants.ts';
import type { AttributeCodec } from './attribute.ts';

/** RFC 4271 section 4.3 (c); RFC 7606 section 7.3. */
export const nextHop: AttributeCodec<IpV4> = {
  type: AttributeType.NEXT_HOP,
  name: 'NEXT_HOP',
  flags: AttributeFlag.TRANSITIVE,
  malformed: 'treat-as-withdraw',
  decode: (value) =>
    value.remaining === 4
      ? { ok: ipFromBytes(value.rest()) as IpV4 }
      : { problem: `length ${value.remaining} is not 4` },
  encode: (value) => ipToBytes(value),
};

/** Why the address can be no host's (RFC 4271 section 6.3, "syntactically a valid IP host address"). */
export function unusableNextHop(address: Ip): string | undefined {
  if (isUnspecified(address)) return `${address} is unspecified`;
  if (isMulticast(address)) return `${address} is a multicast address`;
  if (isLoopback(address)) return `${address} is a loopback address`;
  // RFC 1112 section 4: class E, the limited broadcast address included.
  if (isV4(address) && Number.parseInt(address, 10) >= 240) return `${address} is a reserved address`;
  return undefined;
}
