import { internetChecksum } from '../net/checksum.ts';
import { type IpV6, ipFromBytes, ipToBytes, isMulticast, UNSPECIFIED_V6 } from '../net/ip.ts';
import { type Mac, macFromBytes, macToBytes } from '../net/mac.ts';

/** A Neighbor Solicitation (RFC 4861 section 4.3) in its frame. */
export interface NeighbourSolicitation {
  readonly type: 'solicitation';
  readonly source: Mac;
  readonly destination: Mac;
  /** `::` in duplicate address detection (RFC 4862 section 5.4.2). */
  readonly from: IpV6;
  readonly to: IpV6;
  readonly target: IpV6;
  /** Source link-layer address option. */
  readonly linkAddress: Mac | undefined;
}

/** A Neighbor Advertisement (RFC 4861 section 4.4) in its frame. */
export interface NeighbourAdvertisement {
  readonly type: 'advertisement';
  readonly source: Mac;
  readonly destination: Mac;
  readonly from: IpV6;
  readonly to: IpV6;
  readonly target: IpV6;
  readonly router: boolean;
  readonly solicited: boolean;
  readonly override: boolean;
  /** Target link-layer address option. */
  readonly linkAddress: Mac | undefined;
}

export type NdpFrame = NeighbourSolicitation | NeighbourAdvertisement;

export const ETHERTYPE_IPV6 = 0x86dd;
export const NEXT_HEADER_ICMPV6 = 58;
export const SOLICITATION = 135;
export const ADVERTISEMENT = 136;
const ETHERNET = 14;
const ICMP = 54;
const TARGET = 62;
const OPTIONS = 78;
const SOURCE_LINK_ADDRESS = 1;
const TARGET_LINK_ADDRESS = 2;

export const ALL_NODES = 'ff02::1' as IpV6;

export type NdpFault =
  | 'short'
  | 'not ICMPv6'
  | 'hop limit'
  | 'length'
  | 'checksum'
  | 'type'
  | 'code'
  | 'target'
  | 'option'
  | 'source'
  | 'destination';

/** Checks what RFC 4861 sections 7.1.1 and 7.1.2 ask of a receiver, in that order. */
export function decodeNdp(bytes: Uint8Array): NdpFrame | NdpFault {
  if (bytes.length < OPTIONS) return 'short';
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint16(12) !== ETHERTYPE_IPV6 || view.getUint8(20) !== NEXT_HEADER_ICMPV6) return 'not ICMPv6';
  if (view.getUint8(21) !== 255) return 'hop limit';
  const length = view.getUint16(18);
  if (length < OPTIONS - ICMP || ICMP + length > bytes.length) return 'length';
  const message = bytes.subarray(ICMP, ICMP + length);
  if (checksum(bytes.subarray(22, 38), bytes.subarray(38, 54), message) !== 0) return 'checksum';
  const type = view.getUint8(ICMP);
  if (type !== SOLICITATION && type !== ADVERTISEMENT) return 'type';
  if (view.getUint8(ICMP + 1) !== 0) return 'code';
  const target = ipFromBytes(bytes.subarray(TARGET, OPTIONS)) as IpV6;
  if (isMulticast(target)) return 'target';
  const options = decodeOptions(message.subarray(OPTIONS - ICMP));
  if (options === undefined) return 'option';
  const common = {
    destination: macFromBytes(bytes.subarray(0, 6)),
    source: macFromBytes(bytes.subarray(6, 12)),
    from: ipFromBytes(bytes.subarray(22, 38)) as IpV6,
    to: ipFromBytes(bytes.subarray(38, 54)) as IpV6,
    target,
  };
  if (type === SOLICITATION) {
    const linkAddress = options.get(SOURCE_LINK_ADDRESS);
    if (common.from === UNSPECIFIED_V6) {
      if (common.to !== solicitedNode(target)) return 'destination';
      if (linkAddress !== undefined) return 'source';
    }
    return { type: 'solicitation', ...common, linkAddress };
  }
  const flags = view.getUint8(ICMP + 4);
  const solicited = (flags & 0x40) !== 0;
  if (solicited && isMulticast(common.to)) return 'destination';
  return {
    type: 'advertisement',
    ...common,
    router: (flags & 0x80) !== 0,
    solicited,
    override: (flags & 0x20) !== 0,
    linkAddress: options.get(TARGET_LINK_ADDRESS),
  };
}

/** Link-layer addresses by option type; undefined where an option has length 0 (RFC 4861 section 4.6). */
function decodeOptions(bytes: Uint8Array): Map<number, Mac> | undefined {
  const found = new Map<number, Mac>();
  for (let offset = 0; offset < bytes.length; ) {
    const length = (bytes[offset + 1] ?? 0) * 8;
    if (length === 0 || offset + length > bytes.length) return undefined;
    if (length === 8) found.set(bytes[offset] as number, macFromBytes(bytes.subarray(offset + 2, offset + 8)));
    offset += length;
  }
  return found;
}

export function encodeNdp(frame: NdpFrame): Uint8Array {
  const message = new Uint8Array(24 + (frame.linkAddress === undefined ? 0 : 8));
  const isSolicitation = frame.type === 'solicitation';
  message[0] = isSolicitation ? SOLICITATION : ADVERTISEMENT;
  if (!isSolicitation) {
    message[4] = (frame.router ? 0x80 : 0) | (frame.solicited ? 0x40 : 0) | (frame.override ? 0x20 : 0);
  }
  message.set(ipToBytes(frame.target), 8);
  if (frame.linkAddress !== undefined) {
    message[24] = isSolicitation ? SOURCE_LINK_ADDRESS : TARGET_LINK_ADDRESS;
    message[25] = 1;
    message.set(macToBytes(frame.linkAddress), 26);
  }
  const from = ipToBytes(frame.from);
  const to = ipToBytes(frame.to);
  new DataView(message.buffer).setUint16(2, checksum(from, to, message));

  const bytes = new Uint8Array(ICMP + message.length);
  const view = new DataView(bytes.buffer);
  bytes.set(macToBytes(frame.destination), 0);
  bytes.set(macToBytes(frame.source), 6);
  view.setUint16(12, ETHERTYPE_IPV6);
  view.setUint8(ETHERNET, 0x60);
  view.setUint16(18, message.length);
  view.setUint8(20, NEXT_HEADER_ICMPV6);
  view.setUint8(21, 255);
  bytes.set(from, 22);
  bytes.set(to, 38);
  bytes.set(message, ICMP);
  return bytes;
}

/** Over the pseudo-header of RFC 8200 section 8.1 and the message; 0 verifies. */
function checksum(from: Uint8Array, to: Uint8Array, message: Uint8Array): number {
  const tail = new Uint8Array(8);
  new DataView(tail.buffer).setUint32(0, message.length);
  tail[7] = NEXT_HEADER_ICMPV6;
  return internetChecksum(from, to, tail, message);
}

/** ff02::1:ffXX:XXXX (RFC 4291 section 2.7.1). */
export function solicitedNode(ip: IpV6): IpV6 {
  const group = Uint8Array.of(0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 0);
  group.set(ipToBytes(ip).subarray(13), 13);
  return ipFromBytes(group) as IpV6;
}

/** 33:33 and the last four bytes of the group (RFC 2464 section 7). */
export function multicastMac(group: IpV6): Mac {
  return macFromBytes(Uint8Array.of(0x33, 0x33, ...ipToBytes(group).subarray(12)));
}

/**
 * An unsolicited advertisement (RFC 4861 section 7.2.6). Override is set, or caches keep the old address.
 * To one host, where `to` is given, else to all nodes.
 */
export function unsolicitedAdvertisement(mac: Mac, ip: IpV6, to: Mac = multicastMac(ALL_NODES)): Uint8Array {
  return encodeNdp({
    type: 'advertisement',
    source: mac,
    destination: to,
    from: ip,
    to: ALL_NODES,
    target: ip,
    router: false,
    solicited: false,
    override: true,
    linkAddress: mac,
  });
}

/** Duplicate address detection (RFC 4862 section 5.4.2): from `::`, so that it changes no cache. */
export function dadSolicitation(mac: Mac, ip: IpV6): Uint8Array {
  const to = solicitedNode(ip);
  return encodeNdp({
    type: 'solicitation',
    source: mac,
    destination: multicastMac(to),
    from: UNSPECIFIED_V6,
    to,
    target: ip,
    linkAddress: undefined,
  });
}

export function solicitation(mac: Mac, from: IpV6, ip: IpV6): Uint8Array {
  const to = solicitedNode(ip);
  return encodeNdp({
    type: 'solicitation',
    source: mac,
    destination: multicastMac(to),
    from,
    to,
    target: ip,
    linkAddress: mac,
  });
}
