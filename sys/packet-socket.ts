import koffi from 'koffi';
import { type Failure, ok, type Result } from '../net/result.ts';
import { attachFilter, type Instruction } from './bpf.ts';
import { callFailed } from './errno.ts';
import {
  AF_PACKET,
  libc,
  MSG_DONTWAIT,
  SO_RCVBUFFORCE,
  SOCK_CLOEXEC,
  SOCK_NONBLOCK,
  SOCK_RAW,
  SOL_SOCKET,
} from './libc.ts';

/** Every frame, also those that are sent, and before a bridge takes them off its port. */
export const ETH_P_ALL = 0x0003;
export const ETH_P_ARP = 0x0806;
export const ETH_P_IPV6 = 0x86dd;

/** Enough for a burst of requests while the thread collects garbage. */
const RECEIVE_BUFFER = 4 << 20;
const MAX_FRAME = 2048;
/** Frames taken per wake-up, so that one interface cannot starve the others. */
const BATCH = 64;

export interface PacketSocketOptions {
  readonly interfaceIndex: number;
  readonly protocol: typeof ETH_P_ALL | typeof ETH_P_ARP | typeof ETH_P_IPV6;
  readonly filter: readonly Instruction[];
  /** Called with a frame that is valid until the call returns. Must not throw. */
  readonly onFrame: (frame: Uint8Array) => void;
}

/** An AF_PACKET socket on one interface (packet(7)) that hands frames to a callback of this thread's event loop. */
export class PacketSocket implements Disposable {
  readonly #fd: number;
  readonly #buffer = new Uint8Array(MAX_FRAME);
  readonly #onFrame: (frame: Uint8Array) => void;
  // Kept referenced: a collected handle stops polling.
  #poll: { close(): void } | undefined;

  private constructor(fd: number, onFrame: (frame: Uint8Array) => void) {
    this.#fd = fd;
    this.#onFrame = onFrame;
    this.#poll = koffi.node.poll(fd, { readable: true }, () => this.drain());
  }

  /** Opened with protocol 0, so that nothing arrives before the filter is in place. */
  static open(options: PacketSocketOptions): Result<PacketSocket> {
    const fd = libc.socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return callFailed('socket(AF_PACKET)');
    const size = new Uint8Array(Int32Array.of(RECEIVE_BUFFER).buffer);
    libc.setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, size, 4);
    if (!attachFilter(fd, options.filter)) return failedAfterOpen(fd, 'setsockopt(SO_ATTACH_FILTER)');
    const address = sockaddrLl(options.protocol, options.interfaceIndex);
    if (libc.bind(fd, address, address.length) < 0) return failedAfterOpen(fd, 'bind(AF_PACKET)');
    return ok(new PacketSocket(fd, options.onFrame));
  }

  /** Hands over what has arrived, at most a batch; also called to catch up after a pause of this thread. */
  drain(): void {
    for (let i = 0; i < BATCH && this.#poll !== undefined; i++) {
      const length = libc.recv(this.#fd, this.#buffer, MAX_FRAME, MSG_DONTWAIT);
      if (length < 0) return;
      this.#onFrame(this.#buffer.subarray(0, length));
    }
  }

  /** @returns whether the kernel took the frame; a full queue or a link that is down drops it, as on any Ethernet. */
  send(frame: Uint8Array): boolean {
    return this.#poll !== undefined && libc.send(this.#fd, frame, frame.length, MSG_DONTWAIT) === frame.length;
  }

  [Symbol.dispose](): void {
    if (this.#poll === undefined) return;
    // The handle before the descriptor, or libuv aborts the process.
    this.#poll.close();
    this.#poll = undefined;
    libc.close(this.#fd);
  }
}

function failedAfterOpen(fd: number, call: string): Failure {
  const failure = callFailed(call);
  libc.close(fd);
  return failure;
}

/** struct sockaddr_ll: family, protocol in network order, interface index. */
function sockaddrLl(protocol: number, interfaceIndex: number): Uint8Array {
  const address = new DataView(new ArrayBuffer(20));
  address.setUint16(0, AF_PACKET, true);
  address.setUint16(2, protocol, false);
  address.setInt32(4, interfaceIndex, true);
  return new Uint8Array(address.buffer);
}
