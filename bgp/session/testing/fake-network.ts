import type { Ip, IpFamily } from '../../../net/ip.ts';
import type { Prefix } from '../../../net/prefix.ts';
import { ok, problem, type Result } from '../../../net/result.ts';
import { encodeMessage } from '../../codec/messages/table.ts';
import { UNNEGOTIATED } from '../../codec/negotiate.ts';
import { MessageReader } from '../../codec/reader.ts';
import type { Message, SessionParameters } from '../../codec/types.ts';
import type {
  BgpNetwork,
  Channel,
  ChannelHandlers,
  ConnectOptions,
  Endpoint,
  Incoming,
  Listener,
  PathOptions,
} from '../../transport/network.ts';

export const LOCAL = '192.0.2.10' as Ip;

/** How the far end of a fake connection reads. */
const READING: SessionParameters = {
  ...UNNEGOTIATED,
  fourOctetAs: true,
  extendedMessage: true,
  families: ['IPv4', 'IPv6'],
  enhancedRouteRefresh: true,
  peerAsn: 65_001,
};

/** A connection whose far end is the test. */
export class FakeConnection implements Channel {
  readonly options: ConnectOptions | PathOptions;
  local: Endpoint | undefined;
  /** What the far end does not take stays unsent. */
  reads = true;
  unsent = 0;
  closed = false;
  readonly #handlers: ChannelHandlers;
  readonly #reader = new MessageReader();
  readonly #waiting: Uint8Array[] = [];

  constructor(options: ConnectOptions | PathOptions, handlers: ChannelHandlers) {
    this.options = options;
    this.#handlers = handlers;
  }

  write(bytes: Uint8Array): void {
    if (this.closed) throw new Error('written after it was closed');
    if (this.reads) this.#reader.push(bytes);
    else {
      this.unsent += bytes.length;
      this.#waiting.push(bytes);
    }
  }

  close(): void {
    this.closed = true;
  }

  /** The SYN is answered. */
  answer(): void {
    this.local = { address: LOCAL, port: 40_000 };
    this.#handlers.onConnect();
  }

  say(...messages: readonly Message[]): void {
    for (const message of messages) this.sayBytes(encodeMessage(message, READING));
  }

  sayBytes(bytes: Uint8Array): void {
    this.#handlers.onData(bytes);
  }

  end(reason?: string): void {
    this.#handlers.onClose(reason);
  }

  /** Takes one of the writes that wait. */
  take(): void {
    const bytes = this.#waiting.shift();
    if (bytes === undefined) return;
    this.unsent -= bytes.length;
    this.#reader.push(bytes);
    this.#handlers.onDrain();
  }

  /** What came since the last call. */
  heard(): Message[] {
    const messages: Message[] = [];
    for (let next = this.#reader.next(READING); next !== undefined; next = this.#reader.next(READING)) {
      if (next.outcome !== 'message') throw new Error(`it cannot be read: ${JSON.stringify(next)}`);
      messages.push(next.message);
    }
    return messages;
  }

  /** Types of what came since the last call, NOTIFICATIONs with their codes. */
  heardTypes(): string[] {
    return this.heard().map((message) =>
      message.type === 'NOTIFICATION' ? `${message.type} ${message.code}/${message.subcode}` : message.type,
    );
  }
}

/** Sockets without a kernel. */
export class FakeNetwork implements BgpNetwork {
  readonly attempts: FakeConnection[] = [];
  readonly keys = new Map<string, string>();
  beside: readonly Ip[] = [LOCAL, '2001:db8::10' as Ip];
  /** Why nobody can listen or set a key, or connect with one. */
  listenFails: string | undefined;
  keyFails: string | undefined;
  readonly #listeners = new Map<IpFamily, (incoming: Incoming) => void>();

  connect(options: ConnectOptions, handlers: ChannelHandlers): Result<Channel> {
    if (this.keyFails !== undefined && options.password !== undefined) return failed(this.keyFails);
    const connection = new FakeConnection(options, handlers);
    this.attempts.push(connection);
    return ok(connection);
  }

  listen(family: IpFamily, _port: number, onConnection: (incoming: Incoming) => void): Result<Listener> {
    if (this.listenFails !== undefined) return failed(this.listenFails);
    this.#listeners.set(family, onConnection);
    return ok({
      setKey: (peer: Ip | Prefix, password: string | undefined) => {
        if (this.keyFails !== undefined && password !== undefined) return failed(this.keyFails);
        if (password === undefined) this.keys.delete(peer);
        else this.keys.set(peer, password);
        return ok(undefined);
      },
      [Symbol.dispose]: () => void this.#listeners.delete(family),
    });
  }

  addressesBeside(): readonly Ip[] {
    return this.beside;
  }

  get listensFor(): readonly IpFamily[] {
    return [...this.#listeners.keys()].sort();
  }

  get last(): FakeConnection {
    const last = this.attempts.at(-1);
    if (last === undefined) throw new Error('nobody has connected');
    return last;
  }

  /** A host connects; what it is refused with, or its connection. */
  dial(remote: Endpoint): FakeConnection | Uint8Array {
    const onConnection = this.#listeners.get(remote.address.includes(':') ? 'IPv6' : 'IPv4');
    if (onConnection === undefined) throw new Error('nobody listens');
    let result: FakeConnection | Uint8Array | undefined;
    onConnection({
      remote,
      take: (options, handlers) => {
        const connection = new FakeConnection(options, handlers);
        connection.local = { address: LOCAL, port: 179 };
        result = connection;
        return ok(connection);
      },
      refuse: (bytes) => {
        result = bytes;
      },
    });
    if (result === undefined) throw new Error('the connection was neither taken nor refused');
    return result;
  }
}

function failed(call: string) {
  return problem(call, 'EPERM', 'failed', 'mend it');
}
