import { type Ip, isLinkLocal, isV6 } from '../net/ip.ts';
import type { Failure } from '../net/result.ts';
import { callFailed } from './errno.ts';
import { libc, SO_BINDTODEVICE, SOL_SOCKET } from './libc.ts';

/** DSCP CS6, network control (RFC 4594 section 3.2), as IP_TOS and IPV6_TCLASS have it. */
export const NETWORK_CONTROL = 0xc0;

/** @returns whether the kernel took it; else errno says why. */
export function setInteger(fd: number, level: number, name: number, value: number): boolean {
  return libc.setsockopt(fd, level, name, new Uint8Array(Int32Array.of(value).buffer), 4) === 0;
}

export function bindToDevice(fd: number, device: string): boolean {
  const name = new TextEncoder().encode(`${device}\0`);
  return libc.setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, name.length) === 0;
}

/** The scope that the address needs in a sockaddr: that of its interface where it is link-local, else none. */
export function scopeOf(ip: Ip | undefined, scope: number): number {
  return ip !== undefined && isV6(ip) && isLinkLocal(ip) ? scope : 0;
}

/** Closes the descriptor whose preparation failed. To be called before any other call, since it reads errno. */
export function abandon(fd: number, call: string): Failure {
  const failure = callFailed(call);
  libc.close(fd);
  return failure;
}
