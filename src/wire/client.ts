import { Worker } from 'node:worker_threads';
import { Table } from '../../net/table.ts';
import {
  COUNTERS,
  type CounterName,
  type FromWire,
  type Sections,
  type ToWire,
  type WireCommand,
  type WireInit,
} from './protocol.ts';
import { SectionSender } from './sections.ts';

export interface WireListener {
  readonly onMessage: (message: Exclude<FromWire, { type: 'acknowledge' | 'resend' | 'ready' }>) => void;
  /** The worker ended: nothing answers any more. */
  readonly onExit: (reason: string) => void;
}

export type WireClientOptions = Omit<WireInit, 'counters'> & {
  /** The built worker: TypeScript workers do not load on Node 20. */
  readonly workerFile: URL;
};

/** Three speakers with 300 VIPs collect garbage without end below 64: leases are then lost to pauses. */
const HEAP_MB = 128;
/** What is short-lived here is small: more room would only be kept from the node. */
const YOUNG_MB = 2;
const ALIVE_EVERY_MS = 1000;
/** A thread that does not end by itself in this time is stuck. */
const END_WITHIN_MS = 500;

/** The main thread's side of the wire. */
export class WireClient {
  readonly #worker: Worker;
  readonly #counters: BigInt64Array;
  readonly #alive: NodeJS.Timeout;
  readonly #segments: SectionSender<'segments'>;
  readonly #vips: SectionSender<'vips'>;
  readonly #bfd: SectionSender<'bfd'>;
  readonly #left: Promise<void>;
  #ended = false;

  constructor({ workerFile, ...options }: WireClientOptions, listener: WireListener) {
    const counters = new SharedArrayBuffer(COUNTERS.length * BigInt64Array.BYTES_PER_ELEMENT);
    this.#counters = new BigInt64Array(counters);
    const init: WireInit = { ...options, counters };
    this.#worker = new Worker(workerFile, {
      workerData: init,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: YOUNG_MB },
    });
    const send = (message: ToWire) => this.#worker.postMessage(message);
    this.#segments = new SectionSender('segments', Table.empty<string, Sections['segments']>(), send);
    this.#vips = new SectionSender('vips', Table.empty<string, Sections['vips']>(), send);
    this.#bfd = new SectionSender('bfd', Table.empty<string, Sections['bfd']>(), send);
    let leave: () => void = () => undefined;
    this.#left = new Promise((resolve) => {
      leave = resolve;
    });
    this.#worker.on('message', (message: FromWire) => {
      switch (message.type) {
        case 'ready':
          return;
        case 'acknowledge':
          this.#sender(message.section).onAcknowledge(message.generation);
          return;
        case 'resend':
          this.#sender(message.section).onResend();
          return;
        case 'left':
          leave();
          break;
        default:
      }
      listener.onMessage(message);
    });
    let failure = 'ended by itself';
    this.#worker.on('error', (error) => {
      failure = error.stack ?? error.message;
    });
    this.#worker.once('exit', () => {
      clearInterval(this.#alive);
      leave();
      if (!this.#ended) listener.onExit(failure);
    });
    this.#alive = setInterval(() => send({ type: 'alive' }), ALIVE_EVERY_MS);
  }

  setSegments(table: Table<string, Sections['segments']>): void {
    this.#segments.set(table);
  }

  setVips(table: Table<string, Sections['vips']>): void {
    this.#vips.set(table);
  }

  setBfd(table: Table<string, Sections['bfd']>): void {
    this.#bfd.set(table);
  }

  setKeys(keys: readonly Uint8Array[]): void {
    this.#worker.postMessage({ type: 'keys', keys } satisfies ToWire);
  }

  command(command: WireCommand): void {
    this.#worker.postMessage({ type: 'command', command } satisfies ToWire);
  }

  counters(): Record<CounterName, number> {
    const read = COUNTERS.map((name, i) => [name, Number(Atomics.load(this.#counters, i))] as const);
    return Object.fromEntries(read) as Record<CounterName, number>;
  }

  /** Hands everything over, at most until the signal aborts, and ends the worker. */
  async leave(signal: AbortSignal): Promise<void> {
    this.command({ type: 'leave' });
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    await Promise.race([this.#left, aborted]);
    await this.#end();
  }

  async #end(): Promise<void> {
    this.#ended = true;
    clearInterval(this.#alive);
    const exited = new Promise((resolve) => this.#worker.once('exit', resolve));
    this.#worker.postMessage({ type: 'end' } satisfies ToWire);
    const timer = setTimeout(() => void this.#worker.terminate(), END_WITHIN_MS);
    await exited;
    clearTimeout(timer);
  }

  #sender(section: keyof Sections): { onAcknowledge(generation: number): void; onResend(): void } {
    return { segments: this.#segments, vips: this.#vips, bfd: this.#bfd }[section];
  }
}
