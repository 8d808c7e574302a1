import { must } from '../../net/result.ts';
import { acceptUntagged } from '../../sys/bpf.ts';
import { ETH_P_ALL, PacketSocket } from '../../sys/packet-socket.ts';
import type { Lan } from './lan.ts';
import type { Namespace } from './namespace.ts';

export interface RelayOptions {
  /** Destination port of the datagrams that are taken. */
  readonly port: number;
  /** Each is late by 0 to this many milliseconds, by chance: so they overtake each other. */
  readonly delay: number;
  /** Of a hundred, so many come twice. */
  readonly twicePercent: number;
}

/** `SKF_AD_OFF + SKF_AD_PKTTYPE`: PACKET_OUTGOING is 4, all below was received. */
const PACKET_TYPE = 0xfffff000 + 4;
const RECEIVED = [0, 1, 2, 3];
const UDP_CHECKSUM = 40;

/** Takes IPv4 datagrams of one UDP port off the switch and passes them on late, out of order, and some twice. */
export class Relay implements AsyncDisposable {
  readonly #sockets: readonly PacketSocket[];
  readonly #lan: Lan;
  readonly #timers = new Set<NodeJS.Timeout>();
  passed = 0;

  private constructor(lan: Lan, sockets: readonly PacketSocket[]) {
    this.#lan = lan;
    this.#sockets = sockets;
  }

  static async start(lan: Lan, hosts: readonly Namespace[], options: RelayOptions): Promise<Relay> {
    const filter = acceptUntagged([
      { load: 'u8', offset: PACKET_TYPE, values: RECEIVED },
      { load: 'u16', offset: 12, values: [0x0800] },
      { load: 'u8', offset: 23, values: [17] },
      { load: 'u16', offset: 36, values: [options.port] },
    ]);
    const socketOf = new Map<string, PacketSocket>();
    const sockets: PacketSocket[] = [];
    const relay = new Relay(lan, sockets);
    for (const host of hosts) {
      const interfaceIndex = await lan.bridge.index(host.name);
      const onFrame = (frame: Uint8Array) => relay.#pass(frame, socketOf, options);
      const socket = lan.bridge.enter(() =>
        must(PacketSocket.open({ interfaceIndex, protocol: ETH_P_ALL, filter, onFrame })),
      );
      sockets.push(socket);
      socketOf.set(await host.mac(), socket);
    }
    await lan.drop(`ether type ip udp dport ${options.port}`);
    return relay;
  }

  #pass(frame: Uint8Array, socketOf: ReadonlyMap<string, PacketSocket>, options: RelayOptions): void {
    const copy = Uint8Array.from(frame);
    // Of a virtual cable the checksum is still to be computed; 0 means that there is none (RFC 768).
    copy.fill(0, UDP_CHECKSUM, UDP_CHECKSUM + 2);
    const to = socketOf.get(Array.from(copy.subarray(0, 6), (byte) => byte.toString(16).padStart(2, '0')).join(':'));
    if (to === undefined) return;
    const times = Math.random() * 100 < options.twicePercent ? 2 : 1;
    for (let i = 0; i < times; i++) {
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        this.passed++;
        to.send(copy);
      }, Math.random() * options.delay);
      this.#timers.add(timer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lan.lose(0);
    for (const timer of this.#timers) clearTimeout(timer);
    for (const socket of this.#sockets) socket[Symbol.dispose]();
  }
}
