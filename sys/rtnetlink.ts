import { type Ip, ipFromBytes } from '../net/ip.ts';
import { type Mac, macFromBytes } from '../net/mac.ts';
import { decodeAttributes } from './netlink-message.ts';

/** What rtnetlink(7) tells of links, addresses, default routes and neighbours. */
export type RouteMessage =
  | { readonly type: 'link'; readonly index: number; readonly link: LinkInfo }
  | { readonly type: 'linkGone'; readonly index: number }
  | {
      readonly type: 'address' | 'addressGone';
      readonly index: number;
      readonly ip: Ip;
      readonly prefixLength: number;
      /** Duplicate address detection is under way or has failed. */
      readonly tentative: boolean;
    }
  | { readonly type: 'gateway' | 'gatewayGone'; readonly index: number; readonly ip: Ip }
  | { readonly type: 'neighbour'; readonly index: number; readonly ip: Ip; readonly mac: Mac }
  | { readonly type: 'neighbourGone'; readonly index: number; readonly ip: Ip };

export interface LinkInfo {
  readonly name: string;
  /** Absent for links that are not Ethernet. */
  readonly mac: Mac | undefined;
  /** IFF_UP: the administrator wants it up. */
  readonly up: boolean;
  /** IFF_LOWER_UP: there is a carrier. */
  readonly carrier: boolean;
  readonly loopback: boolean;
  readonly master: number | undefined;
  /** Kind of the master: `bridge`, `bond`, `vrf` ... */
  readonly memberOf: string | undefined;
}

/** What ends or spoils a dump. */
export type Control = 'done' | 'interrupted' | { readonly errno: number };

export interface Decoded {
  readonly messages: readonly RouteMessage[];
  readonly control: readonly Control[];
}

const HEADER = 16;
const NLMSG_ERROR = 2;
const NLMSG_DONE = 3;
const NLM_F_DUMP_INTR = 0x10;

const AF_UNSPEC = 0;
const ARPHRD_ETHER = 1;
const IFF_UP = 0x1;
const IFF_LOOPBACK = 0x8;
const IFF_LOWER_UP = 0x10000;
const IFA_F_TENTATIVE = 0x40;
const IFA_F_DADFAILED = 0x08;
const RT_TABLE_MAIN = 254;
/** NUD_INCOMPLETE and NUD_FAILED: the neighbour has no usable address. */
const NUD_USELESS = 0x01 | 0x20;

/** Decodes one datagram; what is malformed or of no interest is passed over. */
export function decodeRouteMessages(bytes: Uint8Array): Decoded {
  const messages: RouteMessage[] = [];
  const control: Control[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let offset = 0; offset + HEADER <= bytes.length; ) {
    const length = view.getUint32(offset, true);
    if (length < HEADER || offset + length > bytes.length) break;
    const type = view.getUint16(offset + 4, true);
    const body = bytes.subarray(offset + HEADER, offset + length);
    if ((view.getUint16(offset + 6, true) & NLM_F_DUMP_INTR) !== 0) control.push('interrupted');
    if (type === NLMSG_DONE) control.push('done');
    else if (type === NLMSG_ERROR && body.length >= 4) control.push({ errno: -viewOf(body).getInt32(0, true) });
    else {
      const message = decodeBody(type, body);
      if (message !== undefined) messages.push(message);
    }
    offset += (length + 3) & ~3;
  }
  return { messages, control };
}

function decodeBody(type: number, body: Uint8Array): RouteMessage | undefined {
  switch (type) {
    case RTM.newLink:
    case RTM.deleteLink:
      return decodeLink(type, body);
    case RTM.newAddress:
    case RTM.deleteAddress:
      return decodeAddress(type, body);
    case RTM.newRoute:
    case RTM.deleteRoute:
      return decodeRoute(type, body);
    case RTM.newNeighbour:
    case RTM.deleteNeighbour:
      return decodeNeighbour(type, body);
    default:
      return undefined;
  }
}

/** Message types of <linux/rtnetlink.h>. */
export const RTM = {
  newLink: 16,
  deleteLink: 17,
  getLink: 18,
  newAddress: 20,
  deleteAddress: 21,
  getAddress: 22,
  newRoute: 24,
  deleteRoute: 25,
  getRoute: 26,
  newNeighbour: 28,
  deleteNeighbour: 29,
  getNeighbour: 30,
} as const;

/** Attributes of <linux/if_link.h>, <linux/if_addr.h>, <linux/rtnetlink.h> and <linux/neighbour.h>. */
export const IFLA = { address: 1, name: 3, mtu: 4, link: 5, master: 10, linkInfo: 18, namespaceFd: 28 } as const;
export const IFLA_INFO = { kind: 1, data: 2, slaveKind: 4 } as const;
export const IFA = { address: 1, local: 2, flags: 8 } as const;
export const RTA = { destination: 1, oif: 4, gateway: 5, priority: 6, table: 15 } as const;
const NDA = { destination: 1, lladdr: 2 } as const;

function decodeLink(type: number, body: Uint8Array): RouteMessage | undefined {
  // The bridge tells of its ports in the same messages (AF_BRIDGE): a port that leaves it is not gone.
  if (body.length < 16 || body[0] !== AF_UNSPEC) return undefined;
  const view = viewOf(body);
  const index = view.getInt32(4, true);
  if (type === RTM.deleteLink) return { type: 'linkGone', index };
  const attributes = decodeAttributes(body.subarray(16));
  const flags = view.getUint32(8, true);
  const mac = attributes.get(IFLA.address);
  const master = attributes.get(IFLA.master);
  const info = attributes.get(IFLA.linkInfo);
  return {
    type: 'link',
    index,
    link: {
      name: text(attributes.get(IFLA.name)) ?? '',
      mac: view.getUint16(2, true) === ARPHRD_ETHER && mac?.length === 6 ? macFromBytes(mac) : undefined,
      up: (flags & IFF_UP) !== 0,
      carrier: (flags & IFF_LOWER_UP) !== 0,
      loopback: (flags & IFF_LOOPBACK) !== 0,
      master: master?.length === 4 ? viewOf(master).getInt32(0, true) : undefined,
      memberOf: info && text(decodeAttributes(info).get(IFLA_INFO.slaveKind)),
    },
  };
}

function decodeAddress(type: number, body: Uint8Array): RouteMessage | undefined {
  if (body.length < 8) return undefined;
  const view = viewOf(body);
  const attributes = decodeAttributes(body.subarray(8));
  // On a point-to-point link `address` is the far end and `local` the own one.
  const ip = address(attributes.get(IFA.local) ?? attributes.get(IFA.address));
  if (ip === undefined) return undefined;
  const long = attributes.get(IFA.flags);
  const flags = long?.length === 4 ? viewOf(long).getUint32(0, true) : view.getUint8(2);
  return {
    type: type === RTM.newAddress ? 'address' : 'addressGone',
    index: view.getInt32(4, true),
    ip,
    prefixLength: view.getUint8(1),
    tentative: (flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) !== 0,
  };
}

/** Default routes of the main table with one next hop. */
function decodeRoute(type: number, body: Uint8Array): RouteMessage | undefined {
  if (body.length < 12) return undefined;
  const attributes = decodeAttributes(body.subarray(12));
  const table = attributes.get(RTA.table);
  const inMain = (table?.length === 4 ? viewOf(table).getUint32(0, true) : body[4]) === RT_TABLE_MAIN;
  const isDefault = body[1] === 0 && !attributes.has(RTA.destination);
  const ip = address(attributes.get(RTA.gateway));
  const oif = attributes.get(RTA.oif);
  if (!inMain || !isDefault || ip === undefined || oif?.length !== 4) return undefined;
  return { type: type === RTM.newRoute ? 'gateway' : 'gatewayGone', index: viewOf(oif).getInt32(0, true), ip };
}

function decodeNeighbour(type: number, body: Uint8Array): RouteMessage | undefined {
  if (body.length < 12) return undefined;
  const view = viewOf(body);
  const index = view.getInt32(4, true);
  const attributes = decodeAttributes(body.subarray(12));
  const ip = address(attributes.get(NDA.destination));
  if (ip === undefined) return undefined;
  const mac = attributes.get(NDA.lladdr);
  const usable = type === RTM.newNeighbour && mac?.length === 6 && (view.getUint16(8, true) & NUD_USELESS) === 0;
  return usable ? { type: 'neighbour', index, ip, mac: macFromBytes(mac) } : { type: 'neighbourGone', index, ip };
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function address(bytes: Uint8Array | undefined): Ip | undefined {
  return bytes?.length === 4 || bytes?.length === 16 ? ipFromBytes(bytes) : undefined;
}

function text(bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}

/** A dump request: header and an empty rtgenmsg of AF_UNSPEC, padded as the kernel's strict checks ask. */
export function encodeDumpRequest(type: number, sequence: number): Uint8Array {
  const NLM_F_REQUEST = 0x1;
  const NLM_F_DUMP = 0x300;
  const bytes = new DataView(new ArrayBuffer(HEADER + 16));
  bytes.setUint32(0, bytes.byteLength, true);
  bytes.setUint16(4, type, true);
  bytes.setUint16(6, NLM_F_REQUEST | NLM_F_DUMP, true);
  bytes.setUint32(8, sequence, true);
  return new Uint8Array(bytes.buffer);
}
