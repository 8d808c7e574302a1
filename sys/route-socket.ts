import koffi from 'koffi';
import { ok, type Result } from '../net/result.ts';
import { callFailed, errnoName } from './errno.ts';
import {
  AF_NETLINK,
  libc,
  MSG_DONTWAIT,
  SO_RCVBUFFORCE,
  SOCK_CLOEXEC,
  SOCK_NONBLOCK,
  SOCK_RAW,
  SOL_SOCKET,
} from './libc.ts';
import { decodeRouteMessages, encodeDumpRequest, type RouteMessage, RTM } from './rtnetlink.ts';

/** RTMGRP_LINK, _NEIGH, _IPV4_IFADDR, _IPV4_ROUTE, _IPV6_IFADDR, _IPV6_ROUTE of <linux/rtnetlink.h>. */
const GROUPS = 0x1 | 0x4 | 0x10 | 0x40 | 0x100 | 0x400;
const DUMPS = [RTM.getLink, RTM.getAddress, RTM.getRoute, RTM.getNeighbour] as const;
const RECEIVE_BUFFER = 4 << 20;
const MAX_DATAGRAM = 1 << 16;

export interface RouteListener {
  /** A dump begins: what follows up to `synced` is everything there is. Comes again when events were lost. */
  readonly onResync: () => void;
  readonly onMessages: (messages: readonly RouteMessage[]) => void;
  readonly onSynced: () => void;
}

/**
 * Follows links, addresses, default routes and neighbours of this network namespace (rtnetlink(7)).
 * When the kernel reports lost events (ENOBUFS) or an inconsistent dump, everything is read anew.
 */
export class RouteSocket implements Disposable {
  readonly #fd: number;
  readonly #listener: RouteListener;
  readonly #buffer = new Uint8Array(MAX_DATAGRAM);
  #poll: { close(): void } | undefined;
  #sequence = 0;
  #pending: number[] = [];
  #spoilt = false;

  private constructor(fd: number, listener: RouteListener) {
    this.#fd = fd;
    this.#listener = listener;
    // Work is handed over: a callback of the poll must not throw nor take long.
    this.#poll = koffi.node.poll(fd, { readable: true }, () => void setImmediate(() => this.#receive()));
  }

  static open(listener: RouteListener): Result<RouteSocket> {
    const fd = libc.socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return callFailed('socket(AF_NETLINK)');
    const size = new Uint8Array(Int32Array.of(RECEIVE_BUFFER).buffer);
    libc.setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, size, 4);
    const address = new DataView(new ArrayBuffer(12));
    address.setUint16(0, AF_NETLINK, true);
    address.setUint32(8, GROUPS, true);
    if (libc.bind(fd, new Uint8Array(address.buffer), 12) < 0) {
      const failure = callFailed('bind(AF_NETLINK)');
      libc.close(fd);
      return failure;
    }
    const socket = new RouteSocket(fd, listener);
    socket.resync();
    return ok(socket);
  }

  /** Reads everything anew. */
  resync(): void {
    this.#spoilt = false;
    this.#pending = [...DUMPS];
    this.#listener.onResync();
    this.#requestNext();
  }

  /** The kernel runs one dump of a socket at a time. */
  #requestNext(): void {
    const [type] = this.#pending;
    if (type === undefined) {
      this.#listener.onSynced();
      return;
    }
    const request = encodeDumpRequest(type, ++this.#sequence);
    libc.send(this.#fd, request, request.length, 0);
  }

  #receive(): void {
    while (this.#poll !== undefined) {
      const length = libc.recv(this.#fd, this.#buffer, MAX_DATAGRAM, MSG_DONTWAIT);
      if (length < 0) {
        if (errnoName() !== 'ENOBUFS') return;
        this.#lost();
        continue;
      }
      const { messages, control } = decodeRouteMessages(this.#buffer.subarray(0, length));
      if (messages.length > 0) this.#listener.onMessages(messages);
      for (const item of control) {
        if (item === 'interrupted') this.#spoilt = true;
        else this.#finishDump();
      }
    }
  }

  #lost(): void {
    // During a dump its end must come first: it is then begun again.
    if (this.#pending.length > 0) this.#spoilt = true;
    else this.resync();
  }

  #finishDump(): void {
    if (this.#pending.length === 0) return;
    this.#pending.shift();
    if (this.#pending.length === 0 && this.#spoilt) this.resync();
    else this.#requestNext();
  }

  [Symbol.dispose](): void {
    if (this.#poll === undefined) return;
    this.#poll.close();
    this.#poll = undefined;
    libc.close(this.#fd);
  }
}
