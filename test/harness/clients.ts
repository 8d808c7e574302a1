import type { Socket as UdpSocket } from 'node:dgram';
import { request } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import type { Answer } from './backends.ts';
import type { Namespace } from './namespace.ts';
import { tcpSocket, udpSocket } from './sockets.ts';

export interface CallOptions {
  /** Milliseconds. */
  readonly timeout?: number;
  readonly body?: Buffer;
  readonly path?: string;
  /** Of several addresses of the client, the one to come from. */
  readonly localAddress?: string;
}

/** One HTTP request over a new connection; the response's body. Rejects as the connection fails, with its code. */
export function fetchFrom(from: Namespace, address: string, port: number, options: CallOptions = {}): Promise<Buffer> {
  const { timeout = 1_500, path = '/', body, localAddress } = options;
  return new Promise((resolve, reject) => {
    const call = request({
      method: body ? 'POST' : 'GET',
      path,
      // Without an agent, so that createConnection is asked for each request.
      host: isIPv6(address) ? `[${address}]` : address,
      createConnection: () =>
        tcpSocket(from.path, address).connect({ port, host: address, ...(localAddress && { localAddress }) }),
    });
    const timer = setTimeout(() => call.destroy(new Error(`no answer in ${timeout} ms`)), timeout);
    call.once('close', () => clearTimeout(timer));
    call.once('error', reject);
    call.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => resolve(Buffer.concat(chunks)));
    });
    call.end(body);
  });
}

/** Which backend answered an HTTP request, and the client address that it saw. */
export async function askHttp(from: Namespace, address: string, port: number, options?: CallOptions): Promise<Answer> {
  return JSON.parse((await fetchFrom(from, address, port, options)).toString()) as Answer;
}

/** Which backend answered a datagram of `body`, sent from a new port. Rejects with the ICMP error's code. */
export async function askUdp(
  from: Namespace,
  address: string,
  port: number,
  options: CallOptions = {},
): Promise<Answer> {
  const flow = await UdpFlow.open(from, address, port, options);
  try {
    return await flow.ask(options);
  } finally {
    flow.close();
  }
}

/** Datagrams from one port to a `udpBackend`. */
export class UdpFlow {
  readonly #socket: UdpSocket;

  private constructor(socket: UdpSocket) {
    this.#socket = socket;
  }

  static async open(from: Namespace, address: string, port: number, options: CallOptions = {}): Promise<UdpFlow> {
    const { localAddress = isIPv6(address) ? '::' : '0.0.0.0' } = options;
    const socket = await udpSocket(from.path, localAddress);
    // Only a connected socket hears of ICMP errors.
    await new Promise<void>((connected) => socket.connect(port, address, connected));
    return new UdpFlow(socket);
  }

  ask({ timeout = 1_500, body = Buffer.from('hello') }: CallOptions = {}): Promise<Answer> {
    const socket = this.#socket;
    return new Promise<Answer>((resolve, reject) => {
      const settle = (work: () => void) => {
        clearTimeout(timer);
        socket.off('error', onError).off('message', onMessage);
        work();
      };
      const onError = (error: Error) => settle(() => reject(error));
      const onMessage = (message: Buffer) => settle(() => resolve(JSON.parse(message.toString()) as Answer));
      const timer = setTimeout(() => onError(new Error(`no answer in ${timeout} ms`)), timeout);
      socket.on('error', onError).on('message', onMessage);
      socket.send(body);
    });
  }

  close(): void {
    this.#socket.close();
  }
}

/** An open TCP connection to a `tcpBackend`: each exchange is a line sent and echoed. */
export class EchoConnection {
  readonly backend: string;
  readonly #socket: Socket;

  private constructor(socket: Socket, backend: string) {
    this.#socket = socket;
    this.backend = backend;
  }

  static async open(from: Namespace, address: string, port: number, timeout = 1_500): Promise<EchoConnection> {
    const socket = tcpSocket(from.path, address);
    // Failures reach whoever awaits a line; an error between two exchanges must not be uncaught.
    socket.on('error', () => undefined);
    socket.connect(port, address);
    return new EchoConnection(socket, await nextLine(socket, timeout));
  }

  get localPort(): number {
    return this.#socket.localPort ?? 0;
  }

  async exchange(text: string, timeout = 1_500): Promise<string> {
    const answer = nextLine(this.#socket, timeout);
    this.#socket.write(`${text}\n`);
    return answer;
  }

  close(): void {
    this.#socket.destroy();
  }
}

function nextLine(socket: Socket, timeout: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      socket.off('data', onData).off('error', onError).off('close', onClose);
      settle();
    };
    const onData = (chunk: Buffer) => {
      text += chunk.toString();
      if (text.endsWith('\n')) finish(() => resolve(text.trimEnd()));
    };
    const onError = (error: Error) => finish(() => reject(error));
    const onClose = () => finish(() => reject(new Error('connection closed')));
    const timer = setTimeout(() => finish(() => reject(new Error(`no line in ${timeout} ms`))), timeout);
    socket.on('data', onData).on('error', onError).on('close', onClose);
  });
}
