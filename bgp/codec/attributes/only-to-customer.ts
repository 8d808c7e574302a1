import { AttributeFlag, AttributeType } from '../constants.ts';
import type { Asn, SessionParameters } from '../types.ts';
import type { AttributeCodec } from './attribute.ts';
import { readU32, writeU32 } from './numbers.ts';

/** OTC, RFC 9234 section 5. */
export const onlyToCustomer: AttributeCodec<Asn> = {
  type: AttributeType.ONLY_TO_CUSTOMER,
  name: 'ONLY_TO_CUSTOMER',
  flags: AttributeFlag.OPTIONAL | AttributeFlag.TRANSITIVE,
  malformed: 'treat-as-withdraw',
  decode: readU32,
  encode: writeU32,
};

/**
 * RFC 9234 section 5, ingress: "If a route with the OTC Attribute is received from a Customer or an RS-Client, then
 * it is a route leak"; from a peer, unless the attribute names the peer's AS.
 */
export function leak(otc: Asn | undefined, { role, peerAsn, peering }: SessionParameters): string | undefined {
  if (otc === undefined || role === undefined || peering === 'internal') return undefined;
  switch (role) {
    case 'provider':
      return `a customer sent a route that AS ${otc} marked only-to-customer`;
    case 'route-server':
      return `a route-server client sent a route that AS ${otc} marked only-to-customer`;
    case 'peer':
      return otc === peerAsn ? undefined : `a peer sent a route that AS ${otc} marked only-to-customer`;
    case 'customer':
    case 'route-server-client':
      return undefined;
  }
}
