import fc from 'fast-check';
import { type Ip, type IpFamily, type IpV4, type IpV6, ipFromBytes } from '../../../net/ip.ts';
import { makePrefix, type Prefix } from '../../../net/prefix.ts';
import { nlriOf } from '../nlri.ts';
import type {
  Announcement,
  AsPathSegment,
  Capability,
  Message,
  NextHop,
  Nlri,
  Notification,
  Open,
  PathAttributes,
  Role,
  RouteRefresh,
  SessionParameters,
  Update,
} from '../types.ts';
import { externalSession, internalSession } from './sessions.ts';

export const PEER_ASN = 65_001;

const u8 = fc.integer({ min: 0, max: 0xff });
const u16 = fc.integer({ min: 0, max: 0xffff });
const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const asn = fc.oneof(fc.integer({ min: 1, max: 0xffff }), fc.integer({ min: 1, max: 0xffff_ffff }));
const octets = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });

export const family: fc.Arbitrary<IpFamily> = fc.constantFrom('IPv4', 'IPv6');
export const ipv4 = octets(4).map((bytes) => ipFromBytes(bytes) as IpV4);
export const ipv6 = octets(16).map((bytes) => ipFromBytes(bytes) as IpV6);

/** Host addresses: 1.x.x.x and 2000::/8 alone. */
const hostV4 = octets(3).map((bytes) => ipFromBytes(Uint8Array.of(1, ...bytes)) as IpV4);
const hostV6 = octets(15).map((bytes) => ipFromBytes(Uint8Array.of(0x20, ...bytes)) as IpV6);

export function prefix(of: IpFamily): fc.Arbitrary<Prefix> {
  const address: fc.Arbitrary<Ip> = of === 'IPv4' ? ipv4 : ipv6;
  return fc
    .tuple(address, fc.integer({ min: 0, max: of === 'IPv4' ? 32 : 128 }))
    .map(([ip, length]) => makePrefix(ip, length));
}

function nlri(of: IpFamily): fc.Arbitrary<Nlri> {
  return fc.array(prefix(of), { minLength: 1, maxLength: 12 }).map((prefixes) => nlriOf(of, prefixes));
}

const segment: fc.Arbitrary<AsPathSegment> = fc.record({
  kind: fc.constantFrom('AS_SET' as const, 'AS_SEQUENCE' as const),
  asns: fc.array(asn, { minLength: 1, maxLength: 6 }),
});

/** Begins with the peer, as paths from external peers do. */
const asPath = fc
  .array(segment, { maxLength: 4 })
  .map((more): AsPathSegment[] => [{ kind: 'AS_SEQUENCE', asns: [PEER_ASN] }, ...more]);

const capability: fc.Arbitrary<Capability> = fc.oneof(
  fc.record({ kind: fc.constant('multiprotocol' as const), afi: u16, safi: u8 }),
  fc.constantFrom<Capability>(
    { kind: 'route-refresh' },
    { kind: 'extended-message' },
    { kind: 'enhanced-route-refresh' },
  ),
  fc.record({
    kind: fc.constant('extended-next-hop' as const),
    families: fc.array(fc.record({ afi: u16, safi: u16, nextHopAfi: u16 }), { minLength: 1, maxLength: 4 }),
  }),
  fc.record({
    kind: fc.constant('role' as const),
    role: fc.constantFrom<Role>('provider', 'route-server', 'route-server-client', 'customer', 'peer'),
  }),
  fc.record({
    kind: fc.constant('graceful-restart' as const),
    restarting: fc.boolean(),
    notification: fc.boolean(),
    restartTime: fc.integer({ min: 0, max: 4095 }),
    families: fc.array(fc.record({ afi: u16, safi: u8, forwarding: fc.boolean() }), { maxLength: 4 }),
  }),
  // Codes from 128 on are for private use: we give none of them a meaning.
  fc.record({
    kind: fc.constant('unknown' as const),
    code: fc.integer({ min: 128, max: 255 }),
    value: fc.uint8Array({ maxLength: 255 }),
  }),
);

export const open: fc.Arbitrary<Open> = fc
  .record({
    type: fc.constant('OPEN' as const),
    asn,
    holdTime: fc.oneof(fc.constant(0), fc.integer({ min: 3, max: 0xffff })),
    identifier: ipv4.filter((ip) => ip !== '0.0.0.0'),
    capabilities: fc.array(capability, { maxLength: 12 }),
  })
  .map((message) => ({
    ...message,
    capabilities: [{ kind: 'four-octet-as' as const, asn: message.asn }, ...message.capabilities],
  }));

const attributes: fc.Arbitrary<PathAttributes> = fc.record(
  {
    origin: fc.constantFrom('IGP' as const, 'EGP' as const, 'INCOMPLETE' as const),
    asPath,
    med: u32,
    atomicAggregate: fc.constant(true as const),
    aggregator: fc.record({ asn, address: ipv4 }),
    communities: fc.array(u32, { minLength: 1, maxLength: 80 }),
    extendedCommunities: fc.array(fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn }), { minLength: 1, maxLength: 8 }),
    largeCommunities: fc.array(fc.record({ globalAdministrator: u32, localData1: u32, localData2: u32 }), {
      minLength: 1,
      maxLength: 8,
    }),
    onlyToCustomer: u32,
  },
  { requiredKeys: ['origin', 'asPath'] },
);

const v6NextHop: fc.Arbitrary<NextHop> = fc.record({ address: hostV6, linkLocal: ipv6 }, { requiredKeys: ['address'] });

function announcement(of: IpFamily, nextHop: fc.Arbitrary<NextHop>): fc.Arbitrary<Announcement> {
  return fc.record({ nlri: nlri(of), nextHop });
}

const announced: fc.Arbitrary<Announcement[]> = fc
  .tuple(
    fc.option(announcement('IPv4', fc.record({ address: hostV4 })), { nil: undefined }),
    fc.option(fc.oneof(announcement('IPv6', v6NextHop), announcement('IPv4', v6NextHop)), { nil: undefined }),
  )
  .map((list) => list.filter((a) => a !== undefined));

const withdrawn: fc.Arbitrary<Nlri[]> = fc
  .tuple(fc.option(nlri('IPv4'), { nil: undefined }), fc.option(nlri('IPv6'), { nil: undefined }))
  .map((list) => list.filter((a) => a !== undefined));

/** Of an external peer; both an IPv4 and a multiprotocol next hop may be there. */
export const update: fc.Arbitrary<Update> = fc
  .record({ type: fc.constant('UPDATE' as const), withdrawn, announced, attributes })
  .filter((message) => message.withdrawn.length + message.announced.length > 0);

export const notification: fc.Arbitrary<Notification> = fc.record({
  type: fc.constant('NOTIFICATION' as const),
  code: u8,
  subcode: u8,
  data: fc.uint8Array({ maxLength: 300 }),
});

export const routeRefresh: fc.Arbitrary<RouteRefresh> = fc.record({
  type: fc.constant('ROUTE-REFRESH' as const),
  family,
  subtype: fc.constantFrom('request' as const, 'begin' as const, 'end' as const),
});

export const message: fc.Arbitrary<Message> = fc.oneof(
  open,
  update,
  notification,
  routeRefresh,
  fc.constant({ type: 'KEEPALIVE' as const }),
);

/** A session that carries all that `message` makes. */
export const fullSession: SessionParameters = externalSession(PEER_ASN, {
  extendedMessage: true,
  extendedNextHop: true,
  enhancedRouteRefresh: true,
});

/** Any session at all. */
export const session: fc.Arbitrary<SessionParameters> = fc
  .record({
    fourOctetAs: fc.boolean(),
    extendedMessage: fc.boolean(),
    families: fc.subarray<IpFamily>(['IPv4', 'IPv6']),
    extendedNextHop: fc.boolean(),
    enhancedRouteRefresh: fc.boolean(),
    peering: fc.constantFrom('internal' as const, 'external' as const),
    role: fc.constantFrom<Role>('provider', 'route-server', 'route-server-client', 'customer', 'peer'),
  })
  .map((changes) =>
    changes.peering === 'internal' ? internalSession(PEER_ASN, changes) : externalSession(PEER_ASN, changes),
  );
