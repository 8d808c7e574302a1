import { createServer, type Server, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { familyOf, type Ip, isV4, parseIp } from '../../net/ip.ts';
import { ok, type Result } from '../../net/result.ts';
import { type ConnectionOptions, openTcpClient, openTcpListener, prepareConnection, setTcpKey } from '../../sys/tcp.ts';
import type { BgpNetwork, Channel, ChannelHandlers, Endpoint, Incoming, PathOptions } from './network.ts';

/** Octets that the kernel takes beyond what it can send: what waits there cannot be overtaken by a KEEPALIVE. */
const KERNEL_UNSENT = 32_768;

/** Milliseconds that a closed connection has to deliver its last words. */
const LINGER = 2_000;

/** What every peer may need: SYN-ACKs leave before it is known whose they are (RFC 5082 section 3). */
const LISTENER_TTL = 255;

/** TCP of this network namespace. */
export const linuxNetwork: BgpNetwork = {
  connect({ remote, local, interface: device, password, ...path }, handlers) {
    const opened = openTcpClient({
      ...connectionOptions(path),
      remote: remote.address,
      ...(local === undefined ? {} : { local }),
      ...(device === undefined ? {} : { interface: device }),
      ...(password === undefined ? {} : { password }),
    });
    if (opened.problem !== undefined) return opened;
    const socket = socketOf(opened.ok);
    const channel = new SocketChannel(socket, handlers);
    // The socket is bound to the interface of a link-local address, which needs no zone then.
    socket.connect({ host: remote.address, port: remote.port });
    socket.once('connect', () => {
      socket.resume();
      channel.connected();
    });
    return ok(channel);
  },

  listen(family, port, onConnection) {
    const opened = openTcpListener({ family, port, hops: { send: LISTENER_TTL } });
    if (opened.problem !== undefined) return opened;
    const fd = opened.ok;
    const server = createServer({ pauseOnConnect: true }, (socket) => accept(socket, onConnection));
    server.on('error', () => undefined);
    server.listen({ fd });
    return ok({
      setKey: (peer, password) => setTcpKey(fd, { peer, password: password ?? '' }),
      [Symbol.dispose]: () => void closeServer(server),
    });
  },

  addressesBeside(local) {
    const beside = Object.values(networkInterfaces()).find((list) => list?.some(({ address }) => address === local));
    return (beside ?? []).flatMap(({ address }) => parseIp(address).ok ?? []);
  },
};

function closeServer(server: Server): Server {
  return server.close();
}

function connectionOptions({ ttl, minimumTtl, userTimeout }: PathOptions): ConnectionOptions {
  return {
    hops: { ...(ttl === undefined ? {} : { send: ttl }), ...(minimumTtl === undefined ? {} : { receive: minimumTtl }) },
    userTimeout,
    unsentLimit: KERNEL_UNSENT,
  };
}

/** Without `pauseOnCreate` it reads before it is connected. Node.js knows the option, its types do not. */
function socketOf(fd: number): Socket {
  const options = { fd, readable: true, writable: true, pauseOnCreate: true };
  return new Socket(options);
}

function accept(socket: Socket, onConnection: (incoming: Incoming) => void): void {
  const remote = endpoint(socket.remoteAddress, socket.remotePort);
  const fd = descriptorOf(socket);
  // It was reset before it could be looked at.
  if (remote === undefined || fd === undefined) {
    socket.destroy();
    return;
  }
  onConnection({
    remote,
    take(path, handlers): Result<Channel> {
      const prepared = prepareConnection(fd, familyOf(remote.address), connectionOptions(path));
      if (prepared.problem !== undefined) {
        socket.destroy();
        return prepared;
      }
      const channel = new SocketChannel(socket, handlers);
      socket.resume();
      channel.connected({ silently: true });
      return ok(channel);
    },
    refuse(bytes) {
      socket.on('error', () => undefined);
      socket.end(bytes);
      finish(socket);
    },
  });
}

/** Node.js has no public way to the descriptor of a connection that it accepted. */
function descriptorOf(socket: Socket): number | undefined {
  const { _handle: handle } = socket as Socket & { readonly _handle?: { readonly fd?: number } | null };
  return handle?.fd !== undefined && handle.fd >= 0 ? handle.fd : undefined;
}

/** Reads on without listening, since unread data would turn the FIN into an RST that overtakes our last words. */
function finish(socket: Socket): void {
  socket.on('data', () => undefined);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER);
  socket.once('close', () => clearTimeout(timer));
}

class SocketChannel implements Channel {
  readonly #socket: Socket;
  #local: Endpoint | undefined;
  #handlers: ChannelHandlers | undefined;

  constructor(socket: Socket, handlers: ChannelHandlers) {
    this.#socket = socket;
    this.#handlers = handlers;
    let failure: string | undefined;
    socket.on('data', (bytes) => this.#handlers?.onData(bytes));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      failure = error.code ?? error.message;
    });
    socket.on('end', () => this.#closed(undefined));
    socket.on('close', () => this.#closed(failure));
  }

  get local(): Endpoint | undefined {
    return this.#local;
  }

  get unsent(): number {
    return this.#socket.writableLength;
  }

  connected({ silently = false } = {}): void {
    this.#local = endpoint(this.#socket.localAddress, this.#socket.localPort);
    if (!silently) this.#handlers?.onConnect();
  }

  write(bytes: Uint8Array): void {
    // The stream's own 'drain' speaks only of what is beyond its high-water mark.
    this.#socket.write(bytes, (error) => {
      if (!error) this.#handlers?.onDrain();
    });
  }

  close(): void {
    this.#handlers = undefined;
    if (this.#socket.connecting || this.#socket.destroyed) {
      this.#socket.destroy();
      return;
    }
    this.#socket.end();
    finish(this.#socket);
  }

  #closed(reason: string | undefined): void {
    const handlers = this.#handlers;
    this.#handlers = undefined;
    handlers?.onClose(reason);
    this.#socket.destroy();
  }
}

/** `fe80::1%eth0`: the zone is the interface. */
function endpoint(text: string | undefined, port: number | undefined): Endpoint | undefined {
  const [host = '', device] = (text ?? '').split('%');
  const address: Ip | undefined = parseIp(host).ok;
  if (address === undefined || port === undefined) return undefined;
  return { address, port, ...(device === undefined || isV4(address) ? {} : { interface: device }) };
}
