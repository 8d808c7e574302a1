import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterAccess } from '../../../src/kubernetes/access.ts';
import type { ControlPlane } from './control-plane.ts';

export interface Faults {
  /** Answers with this status instead of asking the API server; also 410 for watches alone by `only`. */
  readonly status?: number;
  readonly retryAfter?: number;
  /** Of requests, 0 to 1; the others pass. */
  readonly share?: number;
  readonly only?: (request: { readonly method: string; readonly url: string }) => boolean;
  /** Milliseconds before an answer begins. */
  readonly delay?: number;
}

/** Stands between a client and the API server and does what networks and servers do. */
export class FaultProxy implements AsyncDisposable {
  readonly requests: { readonly method: string; readonly url: string }[] = [];
  readonly #plane: ControlPlane;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #faults: Faults = {};

  private constructor(plane: ControlPlane) {
    this.#plane = plane;
    this.#server = createServer((incoming, outgoing) => void this.#serve(incoming, outgoing));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  static async start(plane: ControlPlane): Promise<FaultProxy> {
    const proxy = new FaultProxy(plane);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** As the admin, or by another token. */
  access(token = this.#plane.token): ClusterAccess {
    const { port } = this.#server.address() as AddressInfo;
    const headers = { authorization: `Bearer ${token}` };
    return {
      server: new URL(`http://127.0.0.1:${port}`),
      namespace: 'default',
      options: () => Promise.resolve({ headers }),
    };
  }

  /** Replaces what was set before; none: everything passes. */
  inject(faults: Faults = {}): void {
    this.#faults = faults;
  }

  /** Resets every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = incoming;
    this.requests.push({ method, url });
    const { status, share = 1, only, delay = 0, retryAfter } = this.#faults;
    const concerned = (only?.({ method, url }) ?? true) && Math.random() < share;
    if (concerned && delay > 0) await sleep(delay);
    if (concerned && status !== undefined) {
      outgoing.statusCode = status;
      if (retryAfter !== undefined) outgoing.setHeader('retry-after', retryAfter);
      outgoing.end(JSON.stringify({ kind: 'Status', code: status, message: 'injected' }));
      return;
    }
    const ca = readFileSync(this.#plane.certificateAuthority);
    const upstream = request(new URL(url, this.#plane.server), { method, headers, ca }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      outgoing.flushHeaders();
      answer.pipe(outgoing);
      answer.once('error', () => outgoing.destroy());
    });
    upstream.once('error', () => outgoing.destroy());
    outgoing.once('close', () => upstream.destroy());
    incoming.pipe(upstream);
  }
}
