import type { IpV4 } from '../../../net/ip.ts';
import type { Asn, Capability, Open, SessionParameters } from '../types.ts';

export function externalSession(peerAsn: Asn, changes: Partial<SessionParameters> = {}): SessionParameters {
  return {
    fourOctetAs: true,
    extendedMessage: false,
    families: ['IPv4', 'IPv6'],
    extendedNextHop: false,
    enhancedRouteRefresh: false,
    peering: 'external',
    peerAsn,
    ...changes,
  };
}

export function internalSession(asn: Asn, changes: Partial<SessionParameters> = {}): SessionParameters {
  return externalSession(asn, { peering: 'internal', ...changes });
}

export function openOf(asn: Asn, capabilities: readonly Capability[] = [{ kind: 'four-octet-as', asn }]): Open {
  return { type: 'OPEN', asn, holdTime: 9, identifier: '192.0.2.254' as IpV4, capabilities };
}
