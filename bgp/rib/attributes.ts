import { WELL_KNOWN_COMMUNITIES } from '../codec/communities.ts';
import type { PathAttributes, Role } from '../codec/types.ts';
import type { Advertising, RouteAttributes } from './types.ts';

/** RFC 4271 section 5.1.5 leaves it open; every router has this. */
const DEFAULT_LOCAL_PREFERENCE = 100;

/** The path attributes of a route that this AS originates, as its peer is told them. */
export function pathAttributes(route: RouteAttributes, advertising: Advertising): PathAttributes {
  const { session, localAsn, leaving } = advertising;
  const internal = session.peering === 'internal';
  const communities = communitiesOf(route, leaving);
  return {
    origin: 'IGP',
    // RFC 4271 section 5.1.2 (b): empty towards internal peers, who would take their own AS for a loop.
    asPath: internal ? [] : [{ kind: 'AS_SEQUENCE', asns: Array.from({ length: 1 + route.prepend }, () => localAsn) }],
    ...(route.med === undefined ? {} : { med: route.med }),
    // RFC 8326 section 4.2: the lowest preference, where the community need not be understood.
    ...(internal ? { localPreference: leaving ? 0 : (route.localPreference ?? DEFAULT_LOCAL_PREFERENCE) } : {}),
    ...(communities.length === 0 ? {} : { communities }),
    ...(route.extendedCommunities.length === 0 ? {} : { extendedCommunities: route.extendedCommunities }),
    ...(route.largeCommunities.length === 0 ? {} : { largeCommunities: route.largeCommunities }),
    ...(!internal && marksOnlyToCustomer(session.role) ? { onlyToCustomer: localAsn } : {}),
  };
}

function communitiesOf({ communities }: RouteAttributes, leaving: boolean): readonly number[] {
  const mark = WELL_KNOWN_COMMUNITIES['graceful-shutdown'];
  return leaving && !communities.includes(mark) ? [...communities, mark] : communities;
}

/** RFC 9234 section 5, egress: "advertised to a Customer, a Peer, or an RS-Client". */
function marksOnlyToCustomer(role: Role | undefined): boolean {
  return role === 'provider' || role === 'peer' || role === 'route-server';
}
