import koffi from 'koffi';

/** libc, resolved from the running process: glibc and musl alike. */
const library = koffi.load(null);

/** ssize_t is as wide as a pointer on every Linux. */
export const libc = {
  socket: library.func('int socket(int domain, int type, int protocol)') as (
    domain: number,
    type: number,
    protocol: number,
  ) => number,
  bind: library.func('int bind(int fd, const void *address, uint32_t length)') as (
    fd: number,
    address: Uint8Array,
    length: number,
  ) => number,
  connect: library.func('int connect(int fd, const void *address, uint32_t length)') as (
    fd: number,
    address: Uint8Array,
    length: number,
  ) => number,
  listen: library.func('int listen(int fd, int backlog)') as (fd: number, backlog: number) => number,
  setsockopt: library.func('int setsockopt(int fd, int level, int name, const void *value, uint32_t length)') as (
    fd: number,
    level: number,
    name: number,
    value: Uint8Array,
    length: number,
  ) => number,
  recv: library.func('intptr_t recv(int fd, void *buffer, size_t length, int flags)') as (
    fd: number,
    buffer: Uint8Array,
    length: number,
    flags: number,
  ) => number,
  send: library.func('intptr_t send(int fd, const void *buffer, size_t length, int flags)') as (
    fd: number,
    buffer: Uint8Array,
    length: number,
    flags: number,
  ) => number,
  if_nametoindex: library.func('unsigned int if_nametoindex(const char *name)') as (name: string) => number,
  close: library.func('int close(int fd)') as (fd: number) => number,
  pthread_self: library.func('uintptr_t pthread_self()') as () => number | bigint,
  pthread_setschedparam: library.func(
    'int pthread_setschedparam(uintptr_t thread, int policy, const void *parameters)',
  ) as (thread: number | bigint, policy: number, parameters: Uint8Array) => number,
};

/** Constants of <bits/socket.h> and friends, the same on x86-64 and arm64. */
export const AF_INET = 2;
export const AF_INET6 = 10;
export const AF_NETLINK = 16;
export const AF_PACKET = 17;
export const SOCK_STREAM = 1;
export const SOCK_DGRAM = 2;
export const SOCK_RAW = 3;
export const SOCK_NONBLOCK = 0o4000;
export const SOCK_CLOEXEC = 0o2000000;
export const SOL_SOCKET = 1;
export const IPPROTO_IP = 0;
export const IPPROTO_IPV6 = 41;
export const IP_TOS = 1;
export const IP_TTL = 2;
export const IPV6_UNICAST_HOPS = 16;
export const IPV6_V6ONLY = 26;
export const IPV6_TCLASS = 67;
export const SO_BINDTODEVICE = 25;
export const SO_ATTACH_FILTER = 26;
export const SO_RCVBUFFORCE = 33;
export const MSG_DONTWAIT = 0x40;
/** <bits/sched.h>. */
export const SCHED_RR = 2;
export const SCHED_RESET_ON_FORK = 0x4000_0000;

/** The memory address of a buffer that the caller keeps referenced while the kernel reads it. */
export function addressOf(buffer: Uint8Array): bigint {
  return koffi.address(buffer);
}
