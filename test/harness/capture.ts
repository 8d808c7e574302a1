import { setTimeout as sleep } from 'node:timers/promises';
import type { Background } from './command.ts';

export interface Packet {
  /** Unix time in milliseconds, when the kernel saw it. */
  readonly at: number;
  /** tcpdump's description, its continuation lines joined. */
  readonly text: string;
}

/** A running tcpdump. */
export class Capture implements AsyncDisposable {
  readonly #tcpdump: Background;

  constructor(tcpdump: Background) {
    this.#tcpdump = tcpdump;
  }

  /** What was captured until now. */
  get packets(): Packet[] {
    const packets: { at: number; text: string }[] = [];
    for (const line of this.#tcpdump.lines) {
      const start = /^(\d+\.\d+) (.*)/.exec(line);
      const last = packets.at(-1);
      if (start) packets.push({ at: Number(start[1]) * 1000, text: start[2] ?? '' });
      else if (last && /^\s/.test(line)) last.text += ` ${line.trim()}`;
    }
    return packets;
  }

  /** Waits for what is under way, ends the capture and returns all of it. */
  async stop(): Promise<Packet[]> {
    await sleep(100);
    await this.#tcpdump.stop('SIGINT');
    return this.packets;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tcpdump[Symbol.asyncDispose]();
  }
}
