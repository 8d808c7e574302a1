import type { Lab } from './lab.ts';
import type { Namespace } from './namespace.ts';
import { udpSocket } from './sockets.ts';

/** UDP: sends each datagram back as it came. */
export async function echoBackend(lab: Lab, namespace: Namespace, port: number): Promise<void> {
  for (const address of ['0.0.0.0', '::']) {
    const socket = await udpSocket(namespace.path, address, port);
    socket.on('message', (message, from) => socket.send(message, from.port, from.address, () => undefined));
    lab.defer(() => socket.close());
  }
}

export interface ProbeResult {
  readonly sent: number;
  readonly lost: number;
  /** The longest time between two answered probes that were sent one after the other, or to the end, in milliseconds. */
  readonly outage: number;
  /** From the start to the first answer, in milliseconds; infinite where there was none. */
  readonly firstAnswer: number;
  /** The longest time in which no answer came, in milliseconds. */
  readonly silence: number;
}

/** Sends numbered datagrams at a steady rate to an `echoBackend` and sees which come back. */
export class Probe {
  readonly #answeredAt = new Map<number, number>();
  readonly #sentAt: number[] = [];
  readonly #started: number;
  readonly #timer: NodeJS.Timeout;
  readonly #close: () => void;

  private constructor(send: (bytes: Buffer) => void, perSecond: number, close: () => void) {
    this.#close = close;
    const started = performance.now();
    this.#started = started;
    this.#timer = setInterval(() => {
      const due = Math.floor(((performance.now() - started) / 1000) * perSecond);
      while (this.#sentAt.length <= due) {
        const bytes = Buffer.alloc(8);
        bytes.writeUInt32BE(this.#sentAt.length);
        this.#sentAt.push(performance.now());
        send(bytes);
      }
    }, 1);
  }

  /**
   * @param flows source ports that take turns: a flow stays with its endpoint, which may be on a node that is lost
   */
  static async start(from: Namespace, address: string, port: number, perSecond = 1000, flows = 1): Promise<Probe> {
    const any = address.includes(':') ? '::' : '0.0.0.0';
    const sockets = await Promise.all(Array.from({ length: flows }, () => udpSocket(from.path, any)));
    let turn = 0;
    const probe = new Probe(
      (bytes) => sockets[turn++ % flows]?.send(bytes, port, address, () => undefined),
      perSecond,
      () => {
        for (const socket of sockets) socket.close();
      },
    );
    for (const socket of sockets) {
      socket.on('error', () => undefined);
      socket.on('message', (message) => probe.#answeredAt.set(message.readUInt32BE(0), performance.now()));
    }
    return probe;
  }

  get answered(): number {
    return this.#answeredAt.size;
  }

  get lastAnsweredAt(): number {
    return Math.max(0, ...[...this.#answeredAt.values()].slice(-50));
  }

  /** Probes still under way get 300 ms. */
  async stop(): Promise<ProbeResult> {
    clearInterval(this.#timer);
    await new Promise((resolve) => setTimeout(resolve, 300));
    this.#close();
    const sent = this.#sentAt.length;
    let outage = 0;
    let last: number | undefined;
    for (let i = 0; i < sent; i++) {
      if (!this.#answeredAt.has(i)) continue;
      const at = this.#sentAt[i] as number;
      if (last !== undefined) outage = Math.max(outage, at - last);
      last = at;
    }
    const end = this.#sentAt.at(-1);
    if (last !== undefined && end !== undefined) outage = Math.max(outage, end - last);
    const arrivals = [...this.#answeredAt.values()];
    const gaps = arrivals.slice(1).map((at, i) => at - (arrivals[i] ?? at));
    return {
      sent,
      lost: sent - this.#answeredAt.size,
      outage: Math.round(outage),
      firstAnswer: Math.round((arrivals[0] ?? Number.POSITIVE_INFINITY) - this.#started),
      silence: Math.round(Math.max(0, ...gaps)),
    };
  }
}
