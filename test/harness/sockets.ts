import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { closeSync, openSync } from 'node:fs';
import { isIPv6, type Server, Socket } from 'node:net';
import koffi from 'koffi';
import { type Ip, ipToBytes, isV4, parseIp } from '../../net/ip.ts';
import { must } from '../../net/result.ts';
import { errnoName } from '../../sys/errno.ts';
import { AF_INET, AF_INET6, libc, SOCK_CLOEXEC, SOCK_DGRAM, SOCK_NONBLOCK, SOCK_STREAM } from '../../sys/libc.ts';

const CLONE_NEWNET = 0x40000000;
const IPPROTO_IPV6 = 41;
const IPV6_V6ONLY = 26;

const setns = koffi.load(null).func('int setns(int fd, int nstype)') as (fd: number, type: number) => number;

/**
 * Runs `work`, which must be synchronous, with this thread in the network namespace. A socket belongs for life to the
 * namespace in which it was made: one test process can so hold clients and servers in all of them.
 */
export function inNamespace<T>(name: string, work: () => T): T {
  const home = openSync('/proc/thread-self/ns/net', 'r');
  const target = openSync(`/run/netns/${name}`, 'r');
  try {
    check(setns(target, CLONE_NEWNET), `enter ${name}`);
    return work();
  } finally {
    check(setns(home, CLONE_NEWNET), 'return from the namespace');
    closeSync(target);
    closeSync(home);
  }
}

/** Of the namespace; `connect` is the caller's. */
export function tcpSocket(namespace: string, address: string): Socket {
  return new Socket({ fd: descriptor(namespace, must(parseIp(address)), SOCK_STREAM) });
}

/** Bound to `port`, or a free one, of `address`: `::` means every IPv6 address and no IPv4 one. */
export async function udpSocket(namespace: string, address: string, port = 0): Promise<UdpSocket> {
  const socket = createSocket({ type: isIPv6(address) ? 'udp6' : 'udp4', ipv6Only: true });
  const bound = new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('listening', resolve);
  });
  const local = must(parseIp(address));
  const fd = descriptor(namespace, local, SOCK_DGRAM);
  bindTo(fd, local, port);
  socket.bind({ fd });
  await bound;
  return socket;
}

/** Listens on every address of the namespace, both families. */
export async function listen(namespace: string, server: Server, port: number): Promise<void> {
  const ready = new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', resolve);
  });
  // Without a host, node makes and binds the socket before listen() returns.
  inNamespace(namespace, () => server.listen(port));
  await ready;
}

function descriptor(namespace: string, address: Ip, type: number): number {
  const family = isV4(address) ? AF_INET : AF_INET6;
  return inNamespace(namespace, () =>
    check(libc.socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), 'make a socket'),
  );
}

function bindTo(fd: number, address: Ip, port: number): void {
  // struct sockaddr_in: family, port, address, 8 zeros; sockaddr_in6: family, port, flow label, address, scope.
  const sockaddr = Buffer.alloc(isV4(address) ? 16 : 28);
  sockaddr.writeUInt16LE(isV4(address) ? AF_INET : AF_INET6, 0);
  sockaddr.writeUInt16BE(port, 2);
  sockaddr.set(ipToBytes(address), isV4(address) ? 4 : 8);
  const one = Uint8Array.of(1, 0, 0, 0);
  if (!isV4(address)) check(libc.setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, one, 4), 'set IPV6_V6ONLY');
  check(libc.bind(fd, sockaddr, sockaddr.length), `bind port ${port} of ${address}`);
}

function check(result: number, what: string): number {
  if (result < 0) throw new Error(`cannot ${what}: ${errnoName()}`);
  return result;
}
