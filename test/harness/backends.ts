import { createServer as createHttpServer } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import type { Lab } from './lab.ts';
import type { Namespace } from './namespace.ts';
import { listen, udpSocket } from './sockets.ts';

/** What a backend tells about a request: who answered and which client address it saw. */
export interface Answer {
  readonly backend: string;
  readonly client: string;
  /** By which the backend tells one masqueraded flow from another. */
  readonly clientPort: number;
  /** Bytes of the request's body or datagram. */
  readonly bytes: number;
}

/** HTTP, both families: answers with an `Answer` as JSON; `/bytes/N` answers with N bytes. */
export async function httpBackend(lab: Lab, namespace: Namespace, port: number, name = namespace.name): Promise<void> {
  const server = createHttpServer((request, response) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    request.on('end', () => {
      const wanted = /^\/bytes\/(\d+)$/.exec(request.url ?? '')?.[1];
      const client = plain(request.socket.remoteAddress);
      response.end(
        wanted === undefined
          ? encode({ backend: name, client, clientPort: request.socket.remotePort ?? 0, bytes })
          : Buffer.alloc(Number(wanted), 'x'),
      );
    });
  });
  await listen(namespace.path, server, port);
  lab.defer(() => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  });
}

/**
 * UDP: answers each datagram with an `Answer` as JSON, padded with spaces to the datagram's length. A host of several
 * addresses names them: a socket of all of them would answer from the one that its route prefers.
 */
export async function udpBackend(
  lab: Lab,
  namespace: Namespace,
  port: number,
  addresses: readonly string[] = ['0.0.0.0', '::'],
): Promise<void> {
  for (const address of addresses) {
    const socket = await udpSocket(namespace.path, address, port);
    socket.on('message', (message, from) => {
      const client = plain(from.address);
      const answer = encode({ backend: namespace.name, client, clientPort: from.port, bytes: message.length });
      socket.send(answer.padEnd(message.length), from.port, from.address, () => undefined);
    });
    lab.defer(() => socket.close());
  }
}

/** TCP, both families: greets with its name and a newline, then echoes. */
export async function tcpBackend(lab: Lab, namespace: Namespace, port: number, name = namespace.name): Promise<void> {
  const open = new Set<Socket>();
  const server = createTcpServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => undefined);
    socket.write(`${name}\n`);
    socket.pipe(socket);
  });
  await listen(namespace.path, server, port);
  lab.defer(() => {
    for (const socket of open) socket.destroy();
    return new Promise((done) => server.close(done));
  });
}

function encode(answer: Answer): string {
  return JSON.stringify(answer);
}

function plain(address = ''): string {
  return address.replace(/^::ffff:/, '');
}
