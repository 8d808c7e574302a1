import type { IpFamily } from '../../net/ip.ts';
import { prefixFamily } from '../../net/prefix.ts';
import { formatCommunity } from '../codec/communities.ts';
import { capability } from '../codec/negotiate.ts';
import type { Capability, Open, PathAttributes } from '../codec/types.ts';
import { capabilityName, describeFamily } from '../codec/words.ts';
import { pathAttributes } from '../rib/attributes.ts';
import type { Endpoint } from '../transport/network.ts';
import type { Session } from './session.ts';
import type { CapabilityStatus, FamilyStatus, RouteStatus, SessionStatus } from './status.ts';

export function sessionStatus(session: Session): SessionStatus {
  const { settings, connection, slot, name } = session;
  const { remote, localAsn, remoteAsn, identifier, passive, password, ttlSecurity, multiHop } = settings;
  const open = connection?.remoteOpen;
  const local = connection?.channel.local;
  return {
    peer: name,
    address: zoned(remote),
    ...(remote.interface === undefined ? {} : { interface: remote.interface }),
    localAsn,
    remoteAsn: open?.asn ?? remoteAsn,
    localId: identifier,
    ...(open === undefined ? {} : { remoteId: open.identifier }),
    ...(local === undefined ? {} : { localAddress: zoned(local) }),
    state: slot.fsm.state,
    passive,
    password: password !== undefined,
    ...(ttlSecurity === undefined ? {} : { ttlSecurity }),
    ...(multiHop === undefined ? {} : { multiHop }),
    timers: timers(session),
    families: settings.families.map((family) => familyStatus(session, family)),
    capabilities: connection === undefined ? [] : capabilityStatuses(connection.localOpen, open),
    unsentBytes: connection?.channel.unsent ?? 0,
    ...session.record.facts,
  };
}

function timers({ settings, slot, state }: Session): SessionStatus['timers'] {
  const { holdTime, keepaliveTime, connectRetryTime } = settings;
  const negotiated = state === 'OpenConfirm' || state === 'Established';
  if (!negotiated) return { holdTime, keepaliveTime, connectRetryTime };
  const seconds = slot.fsm.holdTime / 1e9;
  return { holdTime: seconds, keepaliveTime: Math.min(keepaliveTime, seconds / 3), connectRetryTime };
}

function familyStatus(session: Session, family: IpFamily): FamilyStatus {
  const rib = session.rib.family(family);
  const { connection, settings } = session;
  const offers = (open: Open | undefined): boolean =>
    open !== undefined && capability(open, 'graceful-restart') !== undefined;
  return {
    family,
    negotiated: connection?.session.families.includes(family) === true,
    wanted: rib.wanted.size,
    advertised: rib.advertised,
    received: session.received.of(family),
    // RFC 4724 section 3: a helper that names no family still keeps the routes of all that we name.
    gracefulRestart: settings.gracefulRestart !== undefined && offers(connection?.remoteOpen),
    endOfRibSent: rib.endOfRibSent,
  };
}

/** One line for each thing that either end announced. */
function capabilityStatuses(local: Open, remote: Open | undefined): CapabilityStatus[] {
  const sent = new Set(local.capabilities.map(nameOf));
  const received = new Set(remote?.capabilities.map(nameOf) ?? []);
  return [...new Set([...sent, ...received])].map((name) => ({
    name,
    sent: sent.has(name),
    received: received.has(name),
  }));
}

function nameOf(one: Capability): string {
  switch (one.kind) {
    case 'multiprotocol':
      return describeFamily(one);
    case 'unknown':
      return capabilityName(one.code);
    case 'role':
    case 'route-refresh':
    case 'extended-next-hop':
    case 'extended-message':
    case 'graceful-restart':
    case 'four-octet-as':
    case 'enhanced-route-refresh':
      return one.kind.replaceAll('-', ' ');
  }
}

export function* routeStatuses(session: Session): Generator<RouteStatus> {
  const { advertising, rib, settings } = session;
  for (const { prefix, attributes, advertised } of rib.routes()) {
    const nextHop = advertising?.nextHops[prefixFamily(prefix)]?.address ?? '';
    const told = pathAttributes(attributes, advertising ?? expected(settings));
    yield {
      prefix,
      nextHop,
      ...(told.localPreference === undefined ? {} : { localPreference: told.localPreference }),
      ...(told.med === undefined ? {} : { med: told.med }),
      asPath: told.asPath?.flatMap(({ asns }) => asns) ?? [],
      communities: communitiesOf(told),
      advertised,
    };
  }
}

/** What a session that is not up would be told. */
function expected({ localAsn, remoteAsn, role }: Session['settings']): Parameters<typeof pathAttributes>[1] {
  const internal = remoteAsn === 'internal' || remoteAsn === localAsn;
  return {
    session: {
      fourOctetAs: true,
      extendedMessage: false,
      families: [],
      extendedNextHop: false,
      enhancedRouteRefresh: false,
      peering: internal ? 'internal' : 'external',
      peerAsn: typeof remoteAsn === 'number' ? remoteAsn : localAsn,
      ...(role === undefined ? {} : { role }),
    },
    localAsn,
    nextHops: {},
    leaving: false,
  };
}

function communitiesOf({
  communities = [],
  extendedCommunities = [],
  largeCommunities = [],
}: PathAttributes): string[] {
  return [
    ...communities.map((value) => formatCommunity({ kind: 'standard', value })),
    ...extendedCommunities.map((value) => formatCommunity({ kind: 'extended', value })),
    ...largeCommunities.map((value) => formatCommunity({ kind: 'large', value })),
  ];
}

function zoned({ address, interface: device }: Pick<Endpoint, 'address' | 'interface'>): string {
  return device === undefined ? address : `${address}%${device}`;
}
