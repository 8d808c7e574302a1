import raw from 'raw-socket';
import { type Ip, type IpV6, ipToBytes, parseIpV6 } from '../net/ip.ts';
import { ok, problem, type Result } from '../net/result.ts';
import { onlyTtl, withFilter } from './bpf.ts';
import { IPPROTO_IPV6, SO_ATTACH_FILTER, SO_BINDTODEVICE, SOL_SOCKET } from './libc.ts';
import { interfaceIndex } from './socket-address.ts';

const IPPROTO_ICMPV6 = 58;
const IPV6_MULTICAST_IF = 17;
const IPV6_MULTICAST_HOPS = 18;
const IPV6_MULTICAST_LOOP = 19;
const IPV6_ADD_MEMBERSHIP = 20;
const IPV6_UNICAST_HOPS = 16;
const ICMP6_FILTER = 1;

export interface Icmpv6Options {
  readonly interface: string;
  /** ICMPv6 types to receive; only messages of hop limit 255 arrive (RFC 4861 section 6.1). */
  readonly types: readonly number[];
  readonly groups: readonly IpV6[];
  readonly onMessage: (message: Uint8Array, source: IpV6) => void;
  /** The socket is of no use any more: its interface went. */
  readonly onFailure: (error: Error) => void;
}

/** Neighbour discovery on one interface, with hop limit 255 and checksums by the kernel. For the main thread alone. */
export class Icmpv6Socket implements Disposable {
  readonly #socket: ReturnType<typeof raw.createSocket>;
  readonly #onFailure: (error: Error) => void;
  #closed = false;

  private constructor(socket: ReturnType<typeof raw.createSocket>, options: Icmpv6Options) {
    this.#socket = socket;
    this.#onFailure = options.onFailure;
    socket.on('message', (buffer: Buffer, source: string) => {
      const address = parseIpV6(source.split('%')[0] ?? '');
      // The buffer is raw-socket's own and written again by the next message.
      if (!this.#closed && address.ok !== undefined) options.onMessage(Uint8Array.from(buffer), address.ok);
    });
    socket.on('error', (error: Error) => this.#fail(error));
  }

  static open(options: Icmpv6Options): Result<Icmpv6Socket> {
    const index = interfaceIndex(options.interface);
    if (index === 0) return problem('interface', options.interface, 'does not exist', 'name one that does');
    try {
      const socket = raw.createSocket({ protocol: raw.Protocol.ICMPv6, addressFamily: raw.AddressFamily.IPv6 });
      try {
        configure(socket, index, options);
        return ok(new Icmpv6Socket(socket, options));
      } catch (error) {
        socket.close();
        throw error;
      }
    } catch (error) {
      const fix = 'grant the capability NET_RAW, or run as root';
      return problem('ICMPv6 socket', options.interface, `cannot be opened: ${(error as Error).message}`, fix);
    }
  }

  /** @param message an ICMPv6 message with its checksum left zero. Link-local targets are on the socket's interface. */
  send(message: Uint8Array, to: Ip): void {
    if (this.#closed) return;
    this.#socket.send(Buffer.from(message), 0, message.length, to, (error) => {
      if (error !== null) this.#fail(error);
    });
  }

  [Symbol.dispose](): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#socket.close();
  }

  #fail(error: Error): void {
    if (this.#closed) return;
    this[Symbol.dispose]();
    this.#onFailure(error);
  }
}

function configure(
  socket: ReturnType<typeof raw.createSocket>,
  index: number,
  { interface: device, types, groups }: Icmpv6Options,
): void {
  const bytes = (level: number, option: number, value: Buffer) => socket.setOption(level, option, value, value.length);
  bytes(SOL_SOCKET, SO_BINDTODEVICE, Buffer.from(`${device}\0`));
  bytes(IPPROTO_ICMPV6, ICMP6_FILTER, passOnly(types));
  withFilter(onlyTtl('IPv6', 255), (sockFprog) => bytes(SOL_SOCKET, SO_ATTACH_FILTER, Buffer.from(sockFprog)));
  socket.setOption(IPPROTO_IPV6, IPV6_MULTICAST_IF, index);
  socket.setOption(IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 255);
  socket.setOption(IPPROTO_IPV6, IPV6_UNICAST_HOPS, 255);
  socket.setOption(IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
  for (const group of groups) {
    // struct ipv6_mreq
    const membership = Buffer.alloc(20);
    membership.set(ipToBytes(group));
    membership.writeUInt32LE(index, 16);
    bytes(IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, membership);
  }
}

/** struct icmp6_filter (RFC 3542 section 3.2): a bit that is set blocks its type. */
function passOnly(types: readonly number[]): Buffer {
  const filter = Buffer.alloc(32, 0xff);
  for (const type of types) {
    const word = (type >>> 5) * 4;
    filter.writeUInt32LE((filter.readUInt32LE(word) & ~(1 << (type & 31))) >>> 0, word);
  }
  return filter;
}
