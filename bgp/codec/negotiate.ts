import { Writer } from '../../net/cursor.ts';
import type { IpFamily } from '../../net/ip.ts';
import { writeCapability } from './capabilities/table.ts';
import { Afi, CapabilityCode } from './constants.ts';
import type { DecodeError } from './errors.ts';
import { afiSafiOf, familyOfAfiSafi } from './families.ts';
import type { Asn, Capability, Open, Role, SessionParameters } from './types.ts';

/** Before both OPENs are known only OPEN, KEEPALIVE and NOTIFICATION may come; their bytes depend on nothing. */
export const UNNEGOTIATED: SessionParameters = {
  fourOctetAs: false,
  extendedMessage: false,
  families: [],
  extendedNextHop: false,
  enhancedRouteRefresh: false,
  peering: 'external',
  peerAsn: 0,
};

export interface OpenExpectation {
  readonly local: Open;
  /** An AS number, or any AS but ours, or ours. */
  readonly peerAsn: Asn | 'external' | 'internal';
  /** Ours towards the peer. */
  readonly role?: Role;
  /** RFC 9234 section 4.2: a peer that announces no role is refused. */
  readonly strictRole?: boolean;
}

/**
 * What both ends offered. Extended messages are used where both did: a peer that offered none sends none, so the
 * shorter limit catches its broken lengths (RFC 8654 section 4 asks it of the sender alone).
 */
export function negotiate(local: Open, remote: Open, role?: Role): SessionParameters {
  const both = (kind: Capability['kind']): boolean => has(local, kind) && has(remote, kind);
  return {
    fourOctetAs: both('four-octet-as'),
    extendedMessage: both('extended-message'),
    families: commonFamilies(local, remote),
    extendedNextHop: offersExtendedNextHop(local) && offersExtendedNextHop(remote),
    enhancedRouteRefresh: both('enhanced-route-refresh'),
    peering: local.asn === remote.asn ? 'internal' : 'external',
    peerAsn: remote.asn,
    ...(role === undefined ? {} : { role }),
  };
}

/** What of a well-formed OPEN does not go with our configuration (RFC 4271 section 6.2, 6286, 9234). */
export function checkOpen(remote: Open, expectation: OpenExpectation): DecodeError | undefined {
  return (
    checkPeerAs(remote, expectation) ??
    checkIdentifier(remote, expectation) ??
    checkFamilies(remote, expectation) ??
    checkRole(remote, expectation)
  );
}

/** The first of its kind, which is the one that counts but for `graceful-restart`, where it is the last. */
export function capability<K extends Capability['kind']>(
  open: Open,
  kind: K,
): Extract<Capability, { readonly kind: K }> | undefined {
  const found = open.capabilities.filter((c): c is Extract<Capability, { readonly kind: K }> => c.kind === kind);
  // RFC 4724 section 3: all but the last instance are ignored.
  return kind === 'graceful-restart' ? found.at(-1) : found[0];
}

function has(open: Open, kind: Capability['kind']): boolean {
  return capability(open, kind) !== undefined;
}

/** RFC 4760 section 8: a speaker that announces no family at all speaks IPv4 unicast. */
function announcedFamilies(open: Open): readonly IpFamily[] {
  const announced = open.capabilities.filter((c) => c.kind === 'multiprotocol');
  if (announced.length === 0) return ['IPv4'];
  return [...new Set(announced.map(familyOfAfiSafi).filter((family) => family !== undefined))];
}

function commonFamilies(local: Open, remote: Open): readonly IpFamily[] {
  const offered = announcedFamilies(remote);
  return announcedFamilies(local).filter((family) => offered.includes(family));
}

function offersExtendedNextHop(open: Open): boolean {
  return open.capabilities.some(
    (c) =>
      c.kind === 'extended-next-hop' &&
      c.families.some((f) => familyOfAfiSafi(f) === 'IPv4' && f.nextHopAfi === Afi.IPv6),
  );
}

function checkPeerAs(remote: Open, { local, peerAsn }: OpenExpectation): DecodeError | undefined {
  const good =
    peerAsn === 'external' ? remote.asn !== local.asn : remote.asn === (peerAsn === 'internal' ? local.asn : peerAsn);
  if (good) return undefined;
  return {
    kind: 'bad-peer-as',
    asn: remote.asn,
    ...(peerAsn === 'external' ? {} : { expected: peerAsn === 'internal' ? local.asn : peerAsn }),
  };
}

/** RFC 6286 section 2.2: within an AS two speakers may not have the same identifier. */
function checkIdentifier(remote: Open, { local }: OpenExpectation): DecodeError | undefined {
  return remote.asn === local.asn && remote.identifier === local.identifier
    ? { kind: 'bad-bgp-identifier', detail: `${remote.identifier} is our own` }
    : undefined;
}

/** A session that could carry no route is refused with what it lacks (RFC 5492 section 3). */
function checkFamilies(remote: Open, { local }: OpenExpectation): DecodeError | undefined {
  if (commonFamilies(local, remote).length > 0) return undefined;
  const wanted = new Writer();
  for (const family of announcedFamilies(local))
    writeCapability(wanted, { kind: 'multiprotocol', ...afiSafiOf(family) });
  return { kind: 'unsupported-capability', capabilities: wanted.finish() };
}

/** RFC 9234 section 4.2, table 2. */
const COUNTERPART: Readonly<Record<Role, Role>> = {
  provider: 'customer',
  customer: 'provider',
  'route-server': 'route-server-client',
  'route-server-client': 'route-server',
  peer: 'peer',
};

function checkRole(remote: Open, { local, role, strictRole }: OpenExpectation): DecodeError | undefined {
  // Roles are for sessions between autonomous systems alone.
  if (role === undefined || remote.asn === local.asn) return undefined;
  const roles = [...new Set(remote.capabilities.map(announcedRole).filter((name) => name !== undefined))];
  const good = roles.length === 0 ? strictRole !== true : roles.length === 1 && roles[0] === COUNTERPART[role];
  return good ? undefined : { kind: 'role-mismatch', local: role, remote: roles };
}

/** A role that has no name goes with no other. */
function announcedRole(capability: Capability): Role | 'unassigned' | undefined {
  if (capability.kind === 'role') return capability.role;
  return capability.kind === 'unknown' && capability.code === CapabilityCode.ROLE ? 'unassigned' : undefined;
}
