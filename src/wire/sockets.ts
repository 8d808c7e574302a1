import { createSocket, type Socket } from 'node:dgram';
import {
  ADVERTISEMENT,
  ETHERTYPE_ARP,
  ETHERTYPE_IPV6,
  NEXT_HEADER_ICMPV6,
  SOLICITATION,
  solicitedNode,
} from '../../arp/index.ts';
import { type Ip, isLinkLocal, isV6 } from '../../net/ip.ts';
import { ok, type Result } from '../../net/result.ts';
import { acceptUntagged } from '../../sys/bpf.ts';
import { ETH_P_ARP, ETH_P_IPV6, PacketSocket } from '../../sys/packet-socket.ts';
import type { Segment } from './protocol.ts';
import type { SegmentPort } from './segment.ts';

export interface SegmentReceiver {
  readonly onArp: (frame: Uint8Array) => void;
  readonly onNdp: (frame: Uint8Array) => void;
  readonly onDatagram: (bytes: Uint8Array) => void;
  readonly onTrouble: (message: string) => void;
}

const ARP_FILTER = acceptUntagged([{ load: 'u16', offset: 12, values: [ETHERTYPE_ARP] }]);
const NDP_FILTER = acceptUntagged([
  { load: 'u16', offset: 12, values: [ETHERTYPE_IPV6] },
  { load: 'u8', offset: 20, values: [NEXT_HEADER_ICMPV6] },
  { load: 'u8', offset: 21, values: [255] },
  { load: 'u8', offset: 54, values: [SOLICITATION, ADVERTISEMENT] },
]);

const RECEIVE_BUFFER = 1 << 20;

/** Packet sockets for ARP and NDP, and a UDP socket at the segment's own address for heartbeats. */
export function openSegment(
  segment: Segment,
  port: number,
  receiver: SegmentReceiver,
): Result<SegmentPort & Disposable> {
  const arp = PacketSocket.open({
    interfaceIndex: segment.index,
    protocol: ETH_P_ARP,
    filter: ARP_FILTER,
    onFrame: receiver.onArp,
  });
  if (arp.problem !== undefined) return arp;
  const ndp = PacketSocket.open({
    interfaceIndex: segment.index,
    protocol: ETH_P_IPV6,
    filter: NDP_FILTER,
    onFrame: receiver.onNdp,
  });
  if (ndp.problem !== undefined) {
    arp.ok[Symbol.dispose]();
    return ndp;
  }
  const heartbeats =
    segment.address === undefined ? undefined : openHeartbeats(segment, segment.address, port, receiver);
  const groups = new Groups(segment.interface);
  return ok({
    sendArp: (frame) => arp.ok.send(frame),
    sendNdp: (frame) => ndp.ok.send(frame),
    sendDatagram: (to, bytes) => heartbeats?.send(bytes, port, withScope(to, segment.interface)),
    join: (ip) => groups.join(ip),
    leave: (ip) => groups.leave(ip),
    drain(done) {
      arp.ok.drain();
      ndp.ok.drain();
      // libuv hands over datagrams in the poll phase: two turns later all that had arrived is in.
      setImmediate(() => setImmediate(done));
    },
    [Symbol.dispose]() {
      arp.ok[Symbol.dispose]();
      ndp.ok[Symbol.dispose]();
      heartbeats?.close();
      groups.close();
    },
  });
}

function openHeartbeats(segment: Segment, address: Ip, port: number, receiver: SegmentReceiver): Socket {
  const socket = createSocket({ type: isV6(address) ? 'udp6' : 'udp4', recvBufferSize: RECEIVE_BUFFER });
  socket.on('message', receiver.onDatagram);
  socket.on('error', (error) => receiver.onTrouble(`heartbeats on ${address} port ${port}: ${error.message}`));
  socket.bind({ address: withScope(address, segment.interface), port, exclusive: true });
  return socket;
}

function withScope(ip: Ip, interfaceName: string): string {
  return isV6(ip) && isLinkLocal(ip) ? `${ip}%${interfaceName}` : ip;
}

/** Solicited-node groups by an ordinary socket's memberships; several VIPs may share one group. */
class Groups {
  readonly #interface: string;
  readonly #members = new Map<string, number>();
  #socket: Socket | undefined;

  constructor(interfaceName: string) {
    this.#interface = interfaceName;
  }

  join(ip: Ip): void {
    if (!isV6(ip)) return;
    const group = solicitedNode(ip);
    const count = this.#members.get(group) ?? 0;
    this.#members.set(group, count + 1);
    if (count === 0) this.#change('addMembership', group);
  }

  leave(ip: Ip): void {
    if (!isV6(ip)) return;
    const group = solicitedNode(ip);
    const count = this.#members.get(group);
    if (count === undefined) return;
    if (count > 1) this.#members.set(group, count - 1);
    else {
      this.#members.delete(group);
      this.#change('dropMembership', group);
    }
  }

  close(): void {
    this.#socket?.close();
  }

  #change(how: 'addMembership' | 'dropMembership', group: string): void {
    this.#socket ??= createSocket('udp6').unref();
    try {
      this.#socket[how](group, `::%${this.#interface}`);
    } catch {
      // The interface went or has no IPv6: solicitations that reach the packet socket are answered all the same.
    }
  }
}
