import { type Ip, ipFromBytes } from '../net/ip.ts';
import { ok, problem, type Result } from '../net/result.ts';
import { callFailed, errnoText } from './errno.ts';
import { AF_NETLINK, libc, MSG_DONTWAIT, SOCK_CLOEXEC, SOCK_RAW } from './libc.ts';
import { decodeAttributes, IFA, IFLA, RTA, RTM } from './rtnetlink.ts';
import type { RouteRequest } from './rtnetlink-requests.ts';

const NLMSG_ERROR = 2;
const NLMSG_DONE = 3;
const HEADER = 16;
const SOL_NETLINK = 270;
const NETLINK_GET_STRICT_CHK = 12;
const IFF_UP = 0x1;

export interface LinkRecord {
  readonly index: number;
  readonly name: string;
  readonly mtu: number;
  readonly up: boolean;
  /** Index of the other end, in its own network namespace; 0 where there is none. */
  readonly peer: number;
}

export interface AddressRecord {
  readonly index: number;
  readonly ip: Ip;
}

export interface RouteRecord {
  /** Undefined: a default route. */
  readonly to: Ip | undefined;
  readonly gateway: Ip | undefined;
  readonly device: number | undefined;
}

interface Message {
  readonly type: number;
  readonly body: Uint8Array;
}

/**
 * Changes and reads links, addresses and routes of the network namespace in which this was opened (rtnetlink(7)).
 * The kernel does what is asked within the send, so that no call waits.
 */
export class RouteControl implements Disposable {
  readonly #fd: number;
  readonly #buffer = new Uint8Array(1 << 16);
  #sequence = 0;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  static open(): Result<RouteControl> {
    const fd = libc.socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0) return callFailed('socket(NETLINK_ROUTE)');
    libc.setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, Uint8Array.of(1, 0, 0, 0), 4);
    return ok(new RouteControl(fd));
  }

  /** @returns a problem whose value is the name of the kernel's error, e.g. `EEXIST` */
  change(request: RouteRequest): Result<void> {
    const { problem: failed } = this.#ask(request);
    return failed === undefined ? ok(undefined) : { problem: failed };
  }

  links(request: RouteRequest): Result<readonly LinkRecord[]> {
    return this.#dump(request, RTM.newLink, linkRecord);
  }

  addresses(request: RouteRequest): Result<readonly AddressRecord[]> {
    return this.#dump(request, RTM.newAddress, addressRecord);
  }

  routes(request: RouteRequest): Result<readonly RouteRecord[]> {
    return this.#dump(request, RTM.newRoute, routeRecord);
  }

  [Symbol.dispose](): void {
    libc.close(this.#fd);
  }

  #dump<T>(request: RouteRequest, type: number, decode: (body: Uint8Array) => T | undefined): Result<readonly T[]> {
    const answer = this.#ask(request);
    if (answer.problem !== undefined) return answer;
    const bodies = answer.ok.filter((message) => message.type === type).map(({ body }) => decode(body));
    return ok(bodies.filter((record) => record !== undefined));
  }

  #ask(request: RouteRequest): Result<readonly Message[]> {
    const sequence = ++this.#sequence;
    new DataView(request.buffer, request.byteOffset).setUint32(8, sequence, true);
    if (libc.send(this.#fd, request, request.length, 0) < 0) return callFailed('send(NETLINK_ROUTE)');
    const messages: Message[] = [];
    for (;;) {
      const length = libc.recv(this.#fd, this.#buffer, this.#buffer.length, MSG_DONTWAIT);
      if (length < 0) return callFailed('recv(NETLINK_ROUTE)');
      for (const { type, body } of messagesOf(this.#buffer.slice(0, length), sequence)) {
        if (type === NLMSG_DONE) return ok(messages);
        if (type !== NLMSG_ERROR) messages.push({ type, body });
        else return outcome(new DataView(body.buffer, body.byteOffset).getInt32(0, true), messages);
      }
    }
  }
}

function outcome(error: number, messages: readonly Message[]): Result<readonly Message[]> {
  if (error === 0) return ok(messages);
  return problem('rtnetlink', errnoText(-error), 'the kernel refused a change of links or routes', 'it is tried again');
}

function* messagesOf(bytes: Uint8Array, sequence: number): Generator<Message> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + HEADER <= bytes.length; ) {
    const length = view.getUint32(at, true);
    if (length < HEADER || at + length > bytes.length) return;
    const body = bytes.subarray(at + HEADER, at + length);
    if (view.getUint32(at + 8, true) === sequence) yield { type: view.getUint16(at + 4, true), body };
    at += (length + 3) & ~3;
  }
}

function linkRecord(body: Uint8Array): LinkRecord {
  const view = viewOf(body);
  const attributes = decodeAttributes(body.subarray(16));
  const name = attributes.get(IFLA.name) ?? new Uint8Array();
  return {
    index: view.getInt32(4, true),
    name: new TextDecoder().decode(name.subarray(0, Math.max(0, name.indexOf(0)))),
    mtu: u32(attributes.get(IFLA.mtu)) ?? 0,
    up: (view.getUint32(8, true) & IFF_UP) !== 0,
    peer: u32(attributes.get(IFLA.link)) ?? 0,
  };
}

function addressRecord(body: Uint8Array): AddressRecord | undefined {
  const attributes = decodeAttributes(body.subarray(8));
  const ip = address(attributes.get(IFA.local) ?? attributes.get(IFA.address));
  return ip && { index: viewOf(body).getInt32(4, true), ip };
}

function routeRecord(body: Uint8Array): RouteRecord {
  const attributes = decodeAttributes(body.subarray(12));
  return {
    to: address(attributes.get(RTA.destination)),
    gateway: address(attributes.get(RTA.gateway)),
    device: u32(attributes.get(RTA.oif)),
  };
}

function address(bytes: Uint8Array | undefined): Ip | undefined {
  return bytes?.length === 4 || bytes?.length === 16 ? ipFromBytes(bytes) : undefined;
}

function u32(bytes: Uint8Array | undefined): number | undefined {
  return bytes?.length === 4 ? viewOf(bytes).getUint32(0, true) : undefined;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
