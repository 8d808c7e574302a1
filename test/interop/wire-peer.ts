import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { MessageReader, UNNEGOTIATED } from '../../bgp/codec/index.ts';
import { encodeMessage } from '../../bgp/codec/messages/table.ts';
import type { Capability, Message, Notification, Open, SessionParameters, Update } from '../../bgp/codec/types.ts';
import type { IpV4 } from '../../net/ip.ts';

export type MessageOf<T extends Message['type']> = Extract<Message, { readonly type: T }>;

/** How long a scripted peer waits for a word, in milliseconds. */
const PATIENCE = 5_000;

export const PEER_ASN = 65_001;
export const SPEAKER_ASN = 65_000;

/** What the scripted peer announces: both families, route refresh, four-octet AS numbers. */
export const CAPABILITIES: readonly Capability[] = [
  { kind: 'multiprotocol', afi: 1, safi: 1 },
  { kind: 'multiprotocol', afi: 2, safi: 1 },
  { kind: 'route-refresh' },
  { kind: 'four-octet-as', asn: PEER_ASN },
];

export function openOf(change: Partial<Open> = {}): Open {
  return {
    type: 'OPEN',
    asn: PEER_ASN,
    holdTime: 90,
    identifier: '10.9.9.77' as IpV4,
    capabilities: CAPABILITIES,
    ...change,
  };
}

/** How it reads what the speaker under test says. */
const SESSION: SessionParameters = {
  ...UNNEGOTIATED,
  fourOctetAs: true,
  families: ['IPv4', 'IPv6'],
  peerAsn: SPEAKER_ASN,
};

/** A peer that says only what a test tells it to, over real TCP. */
export class WirePeer {
  readonly heard: Message[] = [];
  readonly socket: Socket;
  readonly #reader = new MessageReader();
  #taken = 0;
  #ended: 'FIN' | 'RST' | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (bytes) => {
      this.#reader.push(bytes);
      for (let next = this.#reader.next(SESSION); next !== undefined; next = this.#reader.next(SESSION)) {
        if (next.outcome === 'message') this.heard.push(next.message);
        else throw new Error(`the speaker said what cannot be read: ${JSON.stringify(next)}`);
      }
    });
    socket.on('end', () => {
      this.#ended ??= 'FIN';
    });
    socket.on('error', () => {
      this.#ended ??= 'RST';
    });
  }

  /** Connects to the speaker from `from`. */
  static async dial(port: number, from: string): Promise<WirePeer> {
    const socket = connect({ port, host: '127.0.0.1', localAddress: from, allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new WirePeer(socket);
  }

  send(message: Message, session = SESSION): void {
    this.socket.write(encodeMessage(message, session));
  }

  /** The next message, which must be of this type. */
  async expect<T extends Message['type']>(type: T): Promise<MessageOf<T>> {
    const message = await this.next();
    if (message?.type !== type) throw new Error(`${type} was to come, not ${JSON.stringify(message ?? this.#ended)}`);
    return message as MessageOf<T>;
  }

  /** The next message; undefined: the connection ended before. */
  async next(): Promise<Message | undefined> {
    await this.#until(() => this.heard.length > this.#taken || this.#ended !== undefined);
    return this.heard[this.#taken++];
  }

  /** The next message of this type, whatever comes before. */
  async skipTo<T extends Message['type']>(type: T): Promise<MessageOf<T>> {
    for (;;) {
      const message = await this.next();
      if (message === undefined) throw new Error(`the connection ended (${this.#ended}) before a ${type}`);
      if (message.type === type) return message as MessageOf<T>;
    }
  }

  /** How the speaker ended the connection, with all that it said before. */
  async ending(): Promise<{
    readonly how: 'FIN' | 'RST' | undefined;
    readonly notification: Notification | undefined;
  }> {
    await this.#until(() => this.#ended !== undefined);
    const notification = this.heard.find((message) => message.type === 'NOTIFICATION');
    return { how: this.#ended, notification };
  }

  get isOpen(): boolean {
    return this.#ended === undefined;
  }

  /** OPENs and KEEPALIVEs of both sides. */
  async establish(open = openOf()): Promise<Open> {
    const theirs = await this.expect('OPEN');
    this.send(open);
    await this.expect('KEEPALIVE');
    this.send({ type: 'KEEPALIVE' });
    return theirs;
  }

  /** All UPDATEs until the End-of-RIB of as many families. */
  async dump(families = 2): Promise<Update[]> {
    const updates: Update[] = [];
    for (let left = families; left > 0; ) {
      const update = await this.skipTo('UPDATE');
      if (update.announced.length === 0 && update.withdrawn.every(({ count }) => count === 0)) left--;
      else updates.push(update);
    }
    return updates;
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }

  close(): void {
    this.socket.destroy();
  }

  async #until(holds: () => boolean): Promise<void> {
    const deadline = performance.now() + PATIENCE;
    while (!holds()) {
      if (performance.now() > deadline)
        throw new Error(`nothing in ${PATIENCE} ms; heard ${JSON.stringify(this.heard)}`);
      await sleep(2);
    }
  }
}

/** Waits for the speaker's connections on `address`. */
export class WireListener implements AsyncDisposable {
  readonly peers: WirePeer[] = [];
  readonly port: number;
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  static async open(address: string): Promise<WireListener> {
    const server = createServer({ allowHalfOpen: true });
    await new Promise<void>((resolve) => server.listen(0, address, resolve));
    const bound = server.address();
    if (bound === null || typeof bound === 'string') throw new Error('no TCP port');
    const listener = new WireListener(server, bound.port);
    server.on('connection', (socket) => listener.peers.push(new WirePeer(socket)));
    return listener;
  }

  /** The connection number `index`, counted from 0. */
  async accepted(index = 0): Promise<WirePeer> {
    const deadline = performance.now() + PATIENCE;
    for (;;) {
      const peer = this.peers[index];
      if (peer !== undefined) return peer;
      if (performance.now() > deadline) throw new Error(`no connection ${index}`);
      await sleep(2);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const peer of this.peers) peer.close();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** A TCP port that is free on all addresses now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no TCP port');
  return address.port;
}
