import { type Ip, ipToBytes, isV4 } from '../net/ip.ts';
import { AF_INET, AF_INET6 } from './libc.ts';
import { IFA, IFLA, IFLA_INFO, RTA, RTM } from './rtnetlink.ts';

/** An attribute (struct rtattr): its type, and its bytes or the attributes within. */
export type Attribute = readonly [type: number, content: Uint8Array | readonly Attribute[]];

const NLM_F_REQUEST = 0x1;
const NLM_F_ACK = 0x4;
const NLM_F_DUMP = 0x300;
const NLM_F_REPLACE = 0x100;
const NLM_F_EXCL = 0x200;
const NLM_F_CREATE = 0x400;

const IFF_UP = 0x1;
const VETH_INFO_PEER = 1;
const IFA_F_NODAD = 0x02;
const RT_TABLE_MAIN = 254;
const RT_SCOPE_UNIVERSE = 0;
const RTN_UNICAST = 1;

/** A message of rtnetlink(7) without its sequence number, which the socket that sends it fills in. */
export type RouteRequest = Uint8Array;

export interface VethPair {
  readonly name: string;
  readonly peer: string;
  /** An open file of the network namespace that the peer is made in. */
  readonly peerNamespace: number;
  readonly mtu: number;
}

export function createVeth({ name, peer, peerNamespace, mtu }: VethPair): RouteRequest {
  const ends = [IFLA.mtu, u32(mtu)] as const;
  const peerInfo = nested(linkHeader(0, 0), [[IFLA.name, text(peer)], ends, [IFLA.namespaceFd, u32(peerNamespace)]]);
  return change(RTM.newLink, NLM_F_CREATE | NLM_F_EXCL, linkHeader(0, 0), [
    [IFLA.name, text(name)],
    ends,
    [
      IFLA.linkInfo,
      [
        [IFLA_INFO.kind, text('veth')],
        [IFLA_INFO.data, [[VETH_INFO_PEER, peerInfo]]],
      ],
    ],
  ]);
}

export function setLinkUp(index: number): RouteRequest {
  return change(RTM.newLink, 0, linkHeader(index, IFF_UP), []);
}

export function setLinkMtu(index: number, mtu: number): RouteRequest {
  return change(RTM.newLink, 0, linkHeader(index, 0), [[IFLA.mtu, u32(mtu)]]);
}

export function deleteLink(index: number): RouteRequest {
  return change(RTM.deleteLink, 0, linkHeader(index, 0), []);
}

/** IPv6 without duplicate address detection. */
export function addAddress(index: number, ip: Ip, prefixLength: number): RouteRequest {
  const header = new DataView(new ArrayBuffer(8));
  header.setUint8(0, familyNumber(ip));
  header.setUint8(1, prefixLength);
  header.setUint8(2, isV4(ip) ? 0 : IFA_F_NODAD);
  header.setUint32(4, index, true);
  const bytes = ipToBytes(ip);
  return change(RTM.newAddress, NLM_F_CREATE | NLM_F_REPLACE, bytesOf(header), [
    [IFA.local, bytes],
    [IFA.address, bytes],
  ]);
}

export interface UnicastRoute {
  /** Undefined: the default route of the gateway's family. */
  readonly to: Ip | undefined;
  readonly gateway: Ip;
  readonly device: number;
  /** Of routes to the same destination the lowest counts. */
  readonly metric: number;
  /** Who made the route: rtm_protocol, as in /etc/iproute2/rt_protos. */
  readonly protocol: number;
}

/** Fails with EEXIST where there is such a route of the same metric, whoever made it. */
export function addRoute(route: UnicastRoute): RouteRequest {
  return routeRequest(RTM.newRoute, NLM_F_CREATE | NLM_F_EXCL, route);
}

export function deleteRoute(route: UnicastRoute): RouteRequest {
  return routeRequest(RTM.deleteRoute, 0, route);
}

function routeRequest(
  type: number,
  flags: number,
  { to, gateway, device, metric, protocol }: UnicastRoute,
): RouteRequest {
  const destination = to === undefined ? undefined : ipToBytes(to);
  const header = routeHeader(familyNumber(gateway), (destination?.length ?? 0) * 8, protocol);
  return change(type, flags, header, [
    ...(destination === undefined ? [] : [[RTA.destination, destination] as const]),
    [RTA.gateway, ipToBytes(gateway)],
    [RTA.oif, u32(device)],
    [RTA.priority, u32(metric)],
  ]);
}

/** For a socket with strict checks: routes of one family and one maker alone. */
export function dumpRoutes(family: number, protocol: number): RouteRequest {
  return message(RTM.getRoute, NLM_F_DUMP, routeHeader(family, 0, protocol, 0), []);
}

export function dumpLinks(): RouteRequest {
  return message(RTM.getLink, NLM_F_DUMP, linkHeader(0, 0), []);
}

/** Of one interface; for a socket with strict checks. */
export function dumpAddresses(index: number): RouteRequest {
  const header = new DataView(new ArrayBuffer(8));
  header.setUint32(4, index, true);
  return message(RTM.getAddress, NLM_F_DUMP, bytesOf(header), []);
}

/** struct ifinfomsg; `set` are the flags to be raised. */
function linkHeader(index: number, set: number): Uint8Array {
  const header = new DataView(new ArrayBuffer(16));
  header.setInt32(4, index, true);
  header.setUint32(8, set, true);
  header.setUint32(12, set, true);
  return bytesOf(header);
}

/** struct rtmsg. A dump that names a table or a type is one of those alone. */
function routeHeader(family: number, length: number, protocol: number, type = RTN_UNICAST): Uint8Array {
  const table = type === 0 ? 0 : RT_TABLE_MAIN;
  return Uint8Array.of(family, length, 0, 0, table, protocol, RT_SCOPE_UNIVERSE, type, 0, 0, 0, 0);
}

/** A request that is acknowledged. */
function change(type: number, flags: number, header: Uint8Array, attributes: readonly Attribute[]): RouteRequest {
  return message(type, flags | NLM_F_ACK, header, attributes);
}

function message(type: number, flags: number, header: Uint8Array, attributes: readonly Attribute[]): RouteRequest {
  const body = nested(header, attributes);
  const bytes = new Uint8Array(16 + body.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.length, true);
  view.setUint16(4, type, true);
  view.setUint16(6, NLM_F_REQUEST | flags, true);
  bytes.set(body, 16);
  return bytes;
}

function nested(header: Uint8Array, attributes: readonly Attribute[]): Uint8Array {
  const parts = attributes.map(([type, content]) => {
    const bytes = content instanceof Uint8Array ? content : nested(new Uint8Array(), content);
    const part = new Uint8Array((4 + bytes.length + 3) & ~3);
    const view = new DataView(part.buffer);
    view.setUint16(0, 4 + bytes.length, true);
    view.setUint16(2, type, true);
    part.set(bytes, 4);
    return part;
  });
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, header.length));
  all.set(header);
  let at = header.length;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function familyNumber(ip: Ip): number {
  return isV4(ip) ? AF_INET : AF_INET6;
}

function u32(value: number): Uint8Array {
  return new Uint8Array(Uint32Array.of(value).buffer);
}

/** Ends with a zero, as the kernel wants names. */
function text(value: string): Uint8Array {
  return new TextEncoder().encode(`${value}\0`);
}

function bytesOf(view: DataView): Uint8Array {
  return new Uint8Array(view.buffer);
}
