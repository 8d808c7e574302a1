import { type Ip, ipToBytes, isV4 } from '../net/ip.ts';
import { AF_INET, AF_INET6 } from './libc.ts';
import { type Attribute, encodeAttributes, encodeMessage, NLM_F } from './netlink-message.ts';
import { IFA, IFLA, IFLA_INFO, RTA, RTM } from './rtnetlink.ts';

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
  const peerInfo = encodeAttributes(linkHeader(0, 0), [
    [IFLA.name, text(peer)],
    ends,
    [IFLA.namespaceFd, u32(peerNamespace)],
  ]);
  return change(RTM.newLink, NLM_F.create | NLM_F.exclusive, linkHeader(0, 0), [
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
  return change(RTM.newAddress, NLM_F.create | NLM_F.replace, bytesOf(header), [
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
  return routeRequest(RTM.newRoute, NLM_F.create | NLM_F.exclusive, route);
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
  return encodeMessage(RTM.getRoute, NLM_F.dump, routeHeader(family, 0, protocol, 0), []);
}

export function dumpLinks(): RouteRequest {
  return encodeMessage(RTM.getLink, NLM_F.dump, linkHeader(0, 0), []);
}

/** Of one interface; for a socket with strict checks. */
export function dumpAddresses(index: number): RouteRequest {
  const header = new DataView(new ArrayBuffer(8));
  header.setUint32(4, index, true);
  return encodeMessage(RTM.getAddress, NLM_F.dump, bytesOf(header), []);
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
  return encodeMessage(type, flags | NLM_F.ack, header, attributes);
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
