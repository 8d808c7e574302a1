import type { Ip, IpFamily } from '../../net/ip.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Result } from '../../net/result.ts';

/** One end of a TCP connection. */
export interface Endpoint {
  readonly address: Ip;
  readonly port: number;
  /** Of a link-local address. */
  readonly interface?: string;
}

/** A connection, or the attempt at one. */
export interface Channel {
  /** Undefined until it is connected. */
  readonly local: Endpoint | undefined;
  /** Octets that were written and that the kernel has not taken. */
  readonly unsent: number;
  /** The bytes must not change afterwards. */
  write(bytes: Uint8Array): void;
  /** FIN once everything written has left, or RST where the peer does not take it in time. No handler is called after. */
  close(): void;
}

/** Called one at a time, never from within a call into the channel. */
export interface ChannelHandlers {
  /** The peer answered the SYN. Not called for accepted connections. */
  onConnect(): void;
  onData(bytes: Uint8Array): void;
  /** The kernel has taken something of what was unsent. */
  onDrain(): void;
  /** The connection or the attempt is over; `reason` is undefined where the peer closed in order. */
  onClose(reason: string | undefined): void;
}

/** What holds for the packets of a connection. */
export interface PathOptions {
  /** TTL or hop limit that ours leave with; undefined: the system's. */
  readonly ttl: number | undefined;
  /** What the peer's must at least arrive with (RFC 5082). */
  readonly minimumTtl: number | undefined;
  /** Milliseconds that sent data may stay unacknowledged (RFC 5482). */
  readonly userTimeout: number;
}

export interface ConnectOptions extends PathOptions {
  readonly remote: Endpoint;
  readonly local: Ip | undefined;
  /** To bind to. */
  readonly interface: string | undefined;
  /** RFC 2385. */
  readonly password: string | undefined;
}

/** A connection that a peer opened. One of `take` and `refuse` must be called at once. */
export interface Incoming {
  readonly remote: Endpoint;
  take(options: PathOptions, handlers: ChannelHandlers): Result<Channel>;
  /** Closes it after these bytes. */
  refuse(bytes: Uint8Array): void;
}

export interface Listener extends Disposable {
  /** The key of a peer or of a network of peers (RFC 2385); undefined: it has none any more. */
  setKey(peer: Ip | Prefix, password: string | undefined): Result<void>;
}

/** What a speaker needs of the system. */
export interface BgpNetwork {
  connect(options: ConnectOptions, handlers: ChannelHandlers): Result<Channel>;
  /** On every address of the family. */
  listen(family: IpFamily, port: number, onConnection: (incoming: Incoming) => void): Result<Listener>;
  /** All addresses of the interface that has this one, for next hops of the other family. */
  addressesBeside(local: Ip): readonly Ip[];
}
