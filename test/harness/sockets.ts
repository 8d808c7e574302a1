import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { closeSync, openSync } from 'node:fs';
import { isIPv6, type Server, Socket } from 'node:net';
import koffi from 'koffi';
import { type Ip, ipToBytes, isV4, parseIp } from '../../net/ip.ts';
import { must } from '../../net/result.ts';

const CLONE_NEWNET = 0x40000000;
const IPPROTO_IPV6 = 41;
const IPV6_V6ONLY = 26;
const AF = { inet: 2, inet6: 10 } as const;
const SOCK = { stream: 1, datagram: 2, nonblock: 0o4000, cloexec: 0o2000000 } as const;

const libc = koffi.load('libc.so.6');
const setns = libc.func('int setns(int fd, int nstype)') as (fd: number, type: number) => number;
const socket = libc.func('int socket(int domain, int type, int protocol)') as (...args: number[]) => number;

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

/** Of the namespace; `connect` or `listen` is the caller's. */
export function tcpSocket(namespace: string, address: string): Socket {
  return new Socket({ fd: descriptor(namespace, address, SOCK.stream) });
}

/** Bound to `port`, or a free one, of `address`: `::` means every IPv6 address and no IPv4 one. */
export async function udpSocket(namespace: string, address: string, port = 0): Promise<UdpSocket> {
  const type = isIPv6(address) ? 'udp6' : 'udp4';
  const made = createSocket({ type, ipv6Only: true });
  const bound = new Promise<void>((resolve, reject) => {
    made.once('error', reject);
    made.once('listening', resolve);
  });
  const fd = descriptor(namespace, address, SOCK.datagram);
  bindTo(fd, must(parseIp(address)), port);
  made.bind({ fd });
  await bound;
  return made;
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

function descriptor(namespace: string, address: string, type: number): number {
  const domain = isIPv6(address) ? AF.inet6 : AF.inet;
  return inNamespace(namespace, () => check(socket(domain, type | SOCK.nonblock | SOCK.cloexec, 0), 'make a socket'));
}

const bind = libc.func('int bind(int fd, const uint8_t *address, uint32_t length)') as (
  fd: number,
  address: Uint8Array,
  length: number,
) => number;
const setsockopt = libc.func('int setsockopt(int fd, int level, int name, const int *value, uint32_t length)') as (
  fd: number,
  level: number,
  name: number,
  value: number[],
  length: number,
) => number;

function bindTo(fd: number, address: Ip, port: number): void {
  // struct sockaddr_in: family, port, address, 8 zeros; sockaddr_in6: family, port, flow label, address, scope.
  const sockaddr = Buffer.alloc(isV4(address) ? 16 : 28);
  sockaddr.writeUInt16LE(isV4(address) ? AF.inet : AF.inet6, 0);
  sockaddr.writeUInt16BE(port, 2);
  sockaddr.set(ipToBytes(address), isV4(address) ? 4 : 8);
  if (!isV4(address)) check(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, [1], 4), 'set IPV6_V6ONLY');
  check(bind(fd, sockaddr, sockaddr.length), `bind port ${port} of ${address}`);
}

function check(result: number, what: string): number {
  if (result < 0) throw new Error(`cannot ${what}: errno ${koffi.errno()}`);
  return result;
}
