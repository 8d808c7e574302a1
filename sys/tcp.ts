import { type Ip, type IpFamily, isV4, UNSPECIFIED_V4, UNSPECIFIED_V6 } from '../net/ip.ts';
import { type Prefix, prefixAddress, prefixLength } from '../net/prefix.ts';
import { ok, problem, type Result } from '../net/result.ts';
import { callFailed } from './errno.ts';
import {
  AF_INET,
  AF_INET6,
  IP_TOS,
  IP_TTL,
  IPPROTO_IP,
  IPPROTO_IPV6,
  IPV6_TCLASS,
  IPV6_UNICAST_HOPS,
  IPV6_V6ONLY,
  libc,
  SOCK_CLOEXEC,
  SOCK_NONBLOCK,
  SOCK_STREAM,
  SOL_SOCKET,
} from './libc.ts';
import { interfaceIndex, socketAddress } from './socket-address.ts';
import { abandon, bindToDevice, NETWORK_CONTROL, scopeOf, setInteger } from './socket-options.ts';

/** <linux/tcp.h>, <linux/in.h> and <linux/in6.h>, the same on every architecture that Node.js runs on. */
const SO_REUSEADDR = 2;
const IP_MINTTL = 21;
const IPV6_MINHOPCOUNT = 73;
const IPPROTO_TCP = 6;
const TCP_NODELAY = 1;
const TCP_MD5SIG = 14;
const TCP_USER_TIMEOUT = 18;
const TCP_NOTSENT_LOWAT = 25;
const TCP_MD5SIG_EXT = 32;
const TCP_MD5SIG_FLAG_PREFIX = 1;
/** TCP_MD5SIG_MAXKEYLEN, octets. */
const MAX_KEY_LENGTH = 80;

/** TTLs of IPv4, hop limits of IPv6. */
export interface Hops {
  /** What our packets leave with; absent: the system's default. */
  readonly send?: number;
  /** What the peer's packets must at least arrive with (RFC 5082). */
  readonly receive?: number;
}

export interface TcpKey {
  readonly peer: Ip | Prefix;
  /** RFC 2385: 1 to 80 octets. Empty: the key is removed. */
  readonly password: string;
}

/** What holds for an open connection. */
export interface ConnectionOptions {
  readonly hops?: Hops;
  /** Milliseconds that sent data may stay unacknowledged before the kernel gives the connection up (RFC 5482). */
  readonly userTimeout?: number;
  /** Octets that the kernel takes in advance of what it can send. */
  readonly unsentLimit?: number;
}

export interface ConnectOptions extends ConnectionOptions {
  readonly remote: Ip;
  readonly local?: Ip;
  /** To bind to; needed for link-local addresses. */
  readonly interface?: string;
  readonly password?: string;
}

/** A descriptor with everything that must be there before the SYN, bound but not connected; the caller closes it. */
export function openTcpClient(options: ConnectOptions): Result<number> {
  const { remote, local, interface: device, password } = options;
  const scope = device === undefined ? 0 : interfaceIndex(device);
  if (device !== undefined && scope === 0) return problem('interface', device, 'does not exist', 'name one that does');
  const opened = open(isV4(remote) ? 'IPv4' : 'IPv6');
  if (opened.problem !== undefined) return opened;
  const fd = opened.ok;
  const prepared = prepareConnection(fd, isV4(remote) ? 'IPv4' : 'IPv6', options);
  if (prepared.problem !== undefined) return closed(fd, prepared);
  if (device !== undefined && !bindToDevice(fd, device)) return abandon(fd, 'setsockopt(SO_BINDTODEVICE)');
  if (password !== undefined) {
    const keyed = setTcpKey(fd, { peer: remote, password });
    if (keyed.problem !== undefined) return closed(fd, keyed);
  }
  if (local !== undefined) {
    const source = socketAddress(local, 0, scopeOf(local, scope));
    if (libc.bind(fd, source, source.length) < 0) return abandon(fd, `bind(${local})`);
  }
  return ok(fd);
}

export interface ListenOptions {
  readonly family: IpFamily;
  readonly port: number;
  /** Absent: every address of the family. */
  readonly local?: Ip;
  readonly hops?: Hops;
}

const BACKLOG = 128;

/** A descriptor that listens; the caller closes it. */
export function openTcpListener({ family, port, local, hops }: ListenOptions): Result<number> {
  const opened = open(family);
  if (opened.problem !== undefined) return opened;
  const fd = opened.ok;
  if (!setInteger(fd, SOL_SOCKET, SO_REUSEADDR, 1)) return abandon(fd, 'setsockopt(SO_REUSEADDR)');
  if (family === 'IPv6' && !setInteger(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)) return abandon(fd, 'setsockopt(IPV6_V6ONLY)');
  const prepared = prepareConnection(fd, family, { ...(hops === undefined ? {} : { hops }) });
  if (prepared.problem !== undefined) return closed(fd, prepared);
  const address = socketAddress(local ?? (family === 'IPv4' ? UNSPECIFIED_V4 : UNSPECIFIED_V6), port);
  if (libc.bind(fd, address, address.length) < 0) return abandon(fd, `bind(TCP port ${port})`);
  if (libc.listen(fd, BACKLOG) < 0) return abandon(fd, `listen(TCP port ${port})`);
  return ok(fd);
}

/** Of a client before it connects, or of a connection that was accepted. */
export function prepareConnection(fd: number, family: IpFamily, options: ConnectionOptions): Result<void> {
  const { hops = {}, userTimeout, unsentLimit } = options;
  const [level, sendName, receiveName, className] =
    family === 'IPv4'
      ? ([IPPROTO_IP, IP_TTL, IP_MINTTL, IP_TOS] as const)
      : ([IPPROTO_IPV6, IPV6_UNICAST_HOPS, IPV6_MINHOPCOUNT, IPV6_TCLASS] as const);
  // A class or a hint that the kernel refuses costs priority or memory alone.
  setInteger(fd, level, className, NETWORK_CONTROL);
  setInteger(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  if (unsentLimit !== undefined) setInteger(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsentLimit);
  if (userTimeout !== undefined) setInteger(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, userTimeout);
  if (hops.send !== undefined && !setInteger(fd, level, sendName, hops.send)) return callFailed('setsockopt(TTL)');
  if (hops.receive !== undefined && !setInteger(fd, level, receiveName, hops.receive)) {
    return callFailed('setsockopt(minimum TTL)');
  }
  return ok(undefined);
}

/** The key of one peer, or of a network of peers, on a listener or a client (RFC 2385; TCP_MD5SIG of tcp(7)). */
export function setTcpKey(fd: number, { peer, password }: TcpKey): Result<void> {
  const key = new TextEncoder().encode(password);
  if (key.length > MAX_KEY_LENGTH) {
    // The value is a secret.
    return problem('password', undefined, `has more than ${MAX_KEY_LENGTH} octets`, 'choose a shorter one');
  }
  const network = isPrefix(peer);
  const option = md5sig(network ? prefixAddress(peer) : peer, key, network ? prefixLength(peer) : undefined);
  const set = libc.setsockopt(fd, IPPROTO_TCP, network ? TCP_MD5SIG_EXT : TCP_MD5SIG, option, option.length);
  return set === 0 ? ok(undefined) : callFailed('setsockopt(TCP_MD5SIG)');
}

/** struct tcp_md5sig: the address, flags, prefix length, key length, interface index, key. */
function md5sig(address: Ip, key: Uint8Array, length: number | undefined): Uint8Array {
  const bytes = new Uint8Array(216);
  const view = new DataView(bytes.buffer);
  bytes.set(socketAddress(address, 0), 0);
  if (length !== undefined) {
    bytes[128] = TCP_MD5SIG_FLAG_PREFIX;
    bytes[129] = length;
  }
  view.setUint16(130, key.length, true);
  bytes.set(key, 136);
  return bytes;
}

function isPrefix(peer: Ip | Prefix): peer is Prefix {
  return peer.includes('/');
}

function open(family: IpFamily): Result<number> {
  const fd = libc.socket(family === 'IPv4' ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  return fd < 0 ? callFailed('socket(TCP)') : ok(fd);
}

function closed<T extends Result<unknown>>(fd: number, failure: T): T {
  libc.close(fd);
  return failure;
}
