import { type IpV4, ipToBigInt } from '../../net/ip.ts';
import type { Asn } from '../codec/types.ts';

/** Who started the TCP connection. */
export type Origin = 'local' | 'remote';

export interface Identity {
  readonly identifier: IpV4;
  readonly asn: Asn;
}

/**
 * Whose connection survives where both ends opened one (RFC 4271 section 6.8, RFC 6286 section 2.3): that of the higher
 * identifier, of equal ones that of the larger AS number. Both ends come to the same answer.
 */
export function survivingOrigin(local: Identity, remote: Identity): Origin {
  const [ours, theirs] = [ipToBigInt(local.identifier), ipToBigInt(remote.identifier)];
  if (ours !== theirs) return ours < theirs ? 'remote' : 'local';
  return local.asn < remote.asn ? 'remote' : 'local';
}
