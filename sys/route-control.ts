import { type Ip, ipFromBytes } from '../net/ip.ts';
import { ok, type Result } from '../net/result.ts';
import { decodeAttributes } from './netlink-message.ts';
import { NETLINK, NetlinkSocket } from './netlink-socket.ts';
import { IFA, IFLA, RTA, RTM } from './rtnetlink.ts';
import type { RouteRequest } from './rtnetlink-requests.ts';

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

/**
 * Changes and reads links, addresses and routes of the network namespace in which this was opened (rtnetlink(7)).
 */
export class RouteControl implements Disposable {
  readonly #socket: NetlinkSocket;

  private constructor(socket: NetlinkSocket) {
    this.#socket = socket;
  }

  static open(): Result<RouteControl> {
    const socket = NetlinkSocket.open(NETLINK.route);
    return socket.problem === undefined ? ok(new RouteControl(socket.ok)) : socket;
  }

  /** @returns a problem whose value is the name of the kernel's error, e.g. `EEXIST` */
  change(request: RouteRequest): Result<void> {
    return this.#socket.change(request);
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
    this.#socket[Symbol.dispose]();
  }

  #dump<T>(request: RouteRequest, type: number, decode: (body: Uint8Array) => T | undefined): Result<readonly T[]> {
    const records: T[] = [];
    for (const part of this.#socket.ask(request)) {
      if (part.problem !== undefined) return part;
      for (const message of part.ok) {
        const record = message.type === type ? decode(message.body) : undefined;
        if (record !== undefined) records.push(record);
      }
    }
    return ok(records);
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
