import { parseCommunity, WELL_KNOWN_COMMUNITIES } from '../../../bgp/codec/communities.ts';
import { familyOf } from '../../../net/ip.ts';
import type { Vip } from '../../../net/names.ts';
import { addressBits, makePrefix, type Prefix, prefixFamily, prefixLength, prefixRange } from '../../../net/prefix.ts';
import type { BGPPeer } from '../../api/bgp-peer.ts';
import { parseSelector } from '../../api/parse.ts';
import { type Pool, type PoolAdvertisement, selects } from '../../world/objects.ts';
import { type BgpRouteKey, bgpRouteKey, type RouteAttributes, type SessionPlan } from './types.ts';

/** One entry of a pool's `spec.bgp` as this node acts upon it. */
export interface Advertiser {
  /** Sorts advertisers: the first decides what can be said only once. */
  readonly order: string;
  readonly advertisement: PoolAdvertisement;
  readonly sessions: readonly SessionPlan[];
  readonly attributes: RouteAttributes;
}

/** What one VIP asks of one session. */
export interface Asked {
  readonly key: BgpRouteKey;
  readonly peer: string;
  readonly prefix: Prefix;
  readonly advertiser: Advertiser;
}

/** The entries that select this node, with the peers that they select; those that are left ask for themselves. */
export function advertisersOf(
  pool: Pool,
  nodeLabels: Readonly<Record<string, string>>,
  sessions: ReadonlyMap<SessionPlan, BGPPeer>,
  isLeaving: (peer: string) => boolean,
): Advertiser[] {
  return pool.bgp.flatMap((advertisement, i) => {
    if (!selects(advertisement.nodeSelector, nodeLabels)) return [];
    const chosen = [...sessions].filter(([, peer]) => selects(advertisement.peers, peer.metadata.labels ?? {}));
    const order = `${pool.meta.name}/${String(i).padStart(2, '0')}`;
    const towards = (leaving: boolean): Advertiser => ({
      order,
      advertisement,
      sessions: chosen.map(([session]) => session).filter(({ peer }) => isLeaving(peer) === leaving),
      attributes: attributesOf(advertisement, leaving),
    });
    const [staying, leaving] = [towards(false), towards(true)];
    return leaving.sessions.length === 0 ? [staying] : staying.sessions.length === 0 ? [leaving] : [staying, leaving];
  });
}

function attributesOf(advertisement: PoolAdvertisement, draining: boolean): RouteAttributes {
  const all = advertisement.communities.map((text) => parseCommunity(text).ok);
  // RFC 8326 section 4: the peer prefers every other path, before this one is withdrawn.
  const leaving = draining ? [WELL_KNOWN_COMMUNITIES['graceful-shutdown']] : [];
  const { localPreference, med, prepend } = advertisement;
  return withKey({
    localPreference,
    med,
    prepend,
    communities: [...all.flatMap((c) => (c?.kind === 'standard' ? [c.value] : [])), ...leaving],
    extendedCommunities: all.flatMap((c) => (c?.kind === 'extended' ? [c.value] : [])),
    largeCommunities: all.flatMap((c) => (c?.kind === 'large' ? [c.value] : [])),
  });
}

/** The first in order decides LOCAL_PREF, MED and the AS path; communities are joined. */
export function mergeAttributes(all: readonly RouteAttributes[]): RouteAttributes | undefined {
  const [first, ...more] = all;
  if (first === undefined || more.every(({ key }) => key === first.key)) return first;
  return withKey({
    ...first,
    communities: all.flatMap(({ communities }) => communities),
    extendedCommunities: all.flatMap(({ extendedCommunities }) => extendedCommunities),
    largeCommunities: all.flatMap(({ largeCommunities }) => largeCommunities),
  });
}

/** In one order and without repetitions, so that equal attributes share one encoding. */
function withKey(raw: Omit<RouteAttributes, 'key'>): RouteAttributes {
  const communities = [...new Set(raw.communities)].sort((a, b) => a - b);
  const extendedCommunities = [...new Set(raw.extendedCommunities)].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const large = new Map(
    raw.largeCommunities.map((c) => [`${c.globalAdministrator}:${c.localData1}:${c.localData2}`, c] as const),
  );
  const largeCommunities = [...large].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, community]) => community);
  const { localPreference = '', med = '', prepend } = raw;
  const key = [localPreference, med, prepend, communities, extendedCommunities, [...large.keys()].sort()].join('|');
  return { ...raw, key, communities, extendedCommunities, largeCommunities };
}

/** What the VIP asks of each peer, or why it asks nothing. */
export function routesOf(
  vip: Vip,
  pool: Pool,
  advertisers: readonly Advertiser[],
): { readonly asked: readonly Asked[]; readonly withheld: string | undefined } {
  const reasons: string[] = [];
  const asked: Asked[] = [];
  if (advertisers.length === 0) reasons.push(`no entry of spec.bgp of pool ${pool.meta.name} selects this node`);
  for (const advertiser of advertisers) {
    const { advertisement, sessions } = advertiser;
    const prefix = prefixOf(vip, advertisement);
    const carrying = sessions.filter(({ families }) => families.includes(familyOf(vip)));
    if (sessions.length === 0) {
      reasons.push(`no BGPPeer of this node matches spec.bgp of pool ${pool.meta.name}`);
    } else if (carrying.length === 0) {
      reasons.push(`none of ${sessions.map(({ peer }) => peer).join(', ')} carries ${familyOf(vip)}`);
    } else if (!isWithin(prefix, pool)) {
      reasons.push(`the aggregate ${prefix} reaches beyond the addresses of pool ${pool.meta.name}`);
    } else {
      for (const { peer } of carrying) asked.push({ key: bgpRouteKey(peer, prefix), peer, prefix, advertiser });
    }
  }
  return { asked, withheld: asked.length > 0 ? undefined : [...new Set(reasons)].join('; ') };
}

export function prefixOf(vip: Vip, { aggregationLength, aggregationLengthV6 }: PoolAdvertisement): Prefix {
  const family = familyOf(vip);
  const length = family === 'IPv4' ? aggregationLength : aggregationLengthV6;
  // Nearly all are host routes, of which nothing need be computed.
  return length === addressBits(family) ? (`${vip}/${length}` as Prefix) : makePrefix(vip, length);
}

/** An aggregate may attract traffic only for addresses that are the pool's. */
export function isWithin(prefix: Prefix, pool: Pool): boolean {
  const family = prefixFamily(prefix);
  if (prefixLength(prefix) === addressBits(family)) return true;
  const { first, last } = prefixRange(prefix);
  return pool.ranges.some((range) => range.family === family && range.first <= first && last <= range.last);
}

/** Whether this node is one that the BGPPeer is for. */
export function isForNode({ spec }: BGPPeer, nodeLabels: Readonly<Record<string, string>>): boolean {
  return selects(parseSelector(spec.nodeSelector), nodeLabels);
}
