import { type Ip, ipToBytes, isV4 } from '../net/ip.ts';
import { AF_INET, AF_INET6, libc } from './libc.ts';

/**
 * struct sockaddr_in or sockaddr_in6 (ip(7), ipv6(7)).
 * @param scope interface index of a link-local IPv6 address, else 0.
 */
export function socketAddress(ip: Ip, port: number, scope = 0): Uint8Array {
  const v4 = isV4(ip);
  const address = new DataView(new ArrayBuffer(v4 ? 16 : 28));
  address.setUint16(0, v4 ? AF_INET : AF_INET6, true);
  address.setUint16(2, port, false);
  const bytes = new Uint8Array(address.buffer);
  bytes.set(ipToBytes(ip), v4 ? 4 : 8);
  if (!v4) address.setUint32(24, scope, true);
  return bytes;
}

/** 0 where there is no such interface. */
export function interfaceIndex(name: string): number {
  return libc.if_nametoindex(name);
}
