import { type Ip, type IpFamily, isV4 } from '../net/ip.ts';
import { ok, problem, type Result } from '../net/result.ts';
import { attachFilter, onlyTtl } from './bpf.ts';
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
  MSG_DONTWAIT,
  SOCK_CLOEXEC,
  SOCK_DGRAM,
  SOCK_NONBLOCK,
} from './libc.ts';
import { interfaceIndex, socketAddress } from './socket-address.ts';
import { abandon, bindToDevice, NETWORK_CONTROL, scopeOf, setInteger } from './socket-options.ts';

export interface ReceiveOptions {
  readonly family: IpFamily;
  readonly port: number;
  /** The only TTL or hop limit that packets may arrive with; absent: any. */
  readonly ttl?: number;
}

/** A descriptor bound to every address of one family, for `dgram`'s `bind({ fd })`; the caller closes it. */
export function openUdpReceiver({ family, port, ttl }: ReceiveOptions): Result<number> {
  const opened = open(family);
  if (opened.problem !== undefined) return opened;
  const fd = opened.ok;
  if (ttl !== undefined && !attachFilter(fd, onlyTtl(family, ttl))) return abandon(fd, 'setsockopt(SO_ATTACH_FILTER)');
  if (family === 'IPv6' && !setInteger(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)) return abandon(fd, 'setsockopt(IPV6_V6ONLY)');
  const any = socketAddress((family === 'IPv4' ? '0.0.0.0' : '::') as Ip, port);
  if (libc.bind(fd, any, any.length) < 0) return abandon(fd, `bind(UDP port ${port})`);
  return ok(fd);
}

export interface SendOptions {
  readonly remote: Ip;
  readonly remotePort: number;
  readonly local?: Ip;
  readonly localPort: number;
  /** To bind to; needed for link-local addresses. */
  readonly interface?: string;
  readonly ttl: number;
}

/** A connected UDP socket that only sends, without the event loop. */
export class UdpSender implements Disposable {
  #fd: number | undefined;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  static open(options: SendOptions): Result<UdpSender> {
    const { remote, local, interface: device } = options;
    const v4 = isV4(remote);
    const scope = device === undefined ? 0 : interfaceIndex(device);
    if (device !== undefined && scope === 0) {
      return problem('interface', device, 'does not exist', 'name one that does');
    }
    const opened = open(v4 ? 'IPv4' : 'IPv6');
    if (opened.problem !== undefined) return opened;
    const fd = opened.ok;
    const [level, ttlName, classOption] = v4
      ? [IPPROTO_IP, IP_TTL, IP_TOS]
      : [IPPROTO_IPV6, IPV6_UNICAST_HOPS, IPV6_TCLASS];
    if (!setInteger(fd, level, ttlName, options.ttl)) return abandon(fd, 'setsockopt(TTL)');
    // A class that the kernel refuses costs priority alone.
    setInteger(fd, level, classOption, NETWORK_CONTROL);
    if (device !== undefined && !bindToDevice(fd, device)) return abandon(fd, 'setsockopt(SO_BINDTODEVICE)');
    const source = socketAddress(local ?? ((v4 ? '0.0.0.0' : '::') as Ip), options.localPort, scopeOf(local, scope));
    if (libc.bind(fd, source, source.length) < 0) return abandon(fd, `bind(UDP port ${options.localPort})`);
    const target = socketAddress(remote, options.remotePort, scopeOf(remote, scope));
    if (libc.connect(fd, target, target.length) < 0) return abandon(fd, `connect(${remote})`);
    return ok(new UdpSender(fd));
  }

  /** @returns whether the kernel took the datagram. */
  send(payload: Uint8Array): boolean {
    return this.#fd !== undefined && libc.send(this.#fd, payload, payload.length, MSG_DONTWAIT) === payload.length;
  }

  [Symbol.dispose](): void {
    if (this.#fd === undefined) return;
    libc.close(this.#fd);
    this.#fd = undefined;
  }
}

function open(family: IpFamily): Result<number> {
  const fd = libc.socket(family === 'IPv4' ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  return fd < 0 ? callFailed('socket(UDP)') : ok(fd);
}
