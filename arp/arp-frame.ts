import { type IpV4, ipFromBytes, ipToBytes } from '../net/ip.ts';
import { isGroupMac, MAC_BROADCAST, type Mac, macFromBytes, macToBytes } from '../net/mac.ts';

/** An ARP packet for IPv4 over Ethernet (RFC 826) in its frame. */
export interface ArpFrame {
  readonly operation: 'request' | 'reply';
  /** Of the Ethernet header. */
  readonly source: Mac;
  readonly destination: Mac;
  readonly senderMac: Mac;
  readonly senderIp: IpV4;
  readonly targetMac: Mac;
  readonly targetIp: IpV4;
}

export const ARP_FRAME_LENGTH = 42;
export const ETHERTYPE_ARP = 0x0806;
const HARDWARE_ETHERNET = 1;
const PROTOCOL_IPV4 = 0x0800;

export type ArpFault =
  | 'short'
  | 'not ARP'
  | 'hardware type'
  | 'protocol type'
  | 'address lengths'
  | 'operation'
  | 'sender';

/**
 * Bytes after the packet are Ethernet's padding. A sender hardware address that is a group address is a fault:
 * no host has one, and an answer to it would go to many.
 */
export function decodeArp(bytes: Uint8Array): ArpFrame | ArpFault {
  if (bytes.length < ARP_FRAME_LENGTH) return 'short';
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint16(12) !== ETHERTYPE_ARP) return 'not ARP';
  if (view.getUint16(14) !== HARDWARE_ETHERNET) return 'hardware type';
  if (view.getUint16(16) !== PROTOCOL_IPV4) return 'protocol type';
  if (view.getUint8(18) !== 6 || view.getUint8(19) !== 4) return 'address lengths';
  const operation = view.getUint16(20);
  if (operation !== 1 && operation !== 2) return 'operation';
  const senderMac = macFromBytes(bytes.subarray(22, 28));
  if (isGroupMac(senderMac)) return 'sender';
  return {
    operation: operation === 1 ? 'request' : 'reply',
    destination: macFromBytes(bytes.subarray(0, 6)),
    source: macFromBytes(bytes.subarray(6, 12)),
    senderMac,
    senderIp: ipFromBytes(bytes.subarray(28, 32)) as IpV4,
    targetMac: macFromBytes(bytes.subarray(32, 38)),
    targetIp: ipFromBytes(bytes.subarray(38, 42)) as IpV4,
  };
}

export function encodeArp(frame: ArpFrame): Uint8Array {
  const bytes = new Uint8Array(ARP_FRAME_LENGTH);
  const view = new DataView(bytes.buffer);
  bytes.set(macToBytes(frame.destination), 0);
  bytes.set(macToBytes(frame.source), 6);
  view.setUint16(12, ETHERTYPE_ARP);
  view.setUint16(14, HARDWARE_ETHERNET);
  view.setUint16(16, PROTOCOL_IPV4);
  view.setUint8(18, 6);
  view.setUint8(19, 4);
  view.setUint16(20, frame.operation === 'request' ? 1 : 2);
  bytes.set(macToBytes(frame.senderMac), 22);
  bytes.set(ipToBytes(frame.senderIp), 28);
  bytes.set(macToBytes(frame.targetMac), 32);
  bytes.set(ipToBytes(frame.targetIp), 38);
  return bytes;
}

/**
 * A gratuitous announcement. In the reply form the target hardware address is the sender's: Linux takes no other
 * for gratuitous and would ignore it within its locktime. To one host, where `to` is given, else to all.
 */
export function gratuitousArp(
  operation: ArpFrame['operation'],
  mac: Mac,
  ip: IpV4,
  to: Mac = MAC_BROADCAST,
): Uint8Array {
  return encodeArp({
    operation,
    source: mac,
    destination: to,
    senderMac: mac,
    senderIp: ip,
    targetMac: mac,
    targetIp: ip,
  });
}

const NOBODY = '00:00:00:00:00:00' as Mac;

/** An ARP Probe (RFC 5227 section 1.1): sender 0.0.0.0, so that it changes no cache. */
export function arpProbe(mac: Mac, ip: IpV4): Uint8Array {
  return arpRequest(mac, '0.0.0.0' as IpV4, ip);
}

export function arpRequest(mac: Mac, from: IpV4, ip: IpV4): Uint8Array {
  return encodeArp({
    operation: 'request',
    source: mac,
    destination: MAC_BROADCAST,
    senderMac: mac,
    senderIp: from,
    targetMac: NOBODY,
    targetIp: ip,
  });
}
