import { after, ManualClock, type MonotonicNs } from '../../../net/clock.ts';
import type { Schedule } from '../../bfd/transport.ts';

interface Timer {
  readonly at: MonotonicNs;
  readonly run: () => void;
}

/** Time that passes only when told, with the timers that run in it. */
export class VirtualTime {
  readonly clock = new ManualClock();
  #timers: Timer[] = [];

  readonly schedule: Schedule = (delay, run) => {
    const timer = { at: after(this.clock.now(), delay), run };
    this.#timers.push(timer);
    return {
      [Symbol.dispose]: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  };

  /** How many timers run. */
  get pending(): number {
    return this.#timers.length;
  }

  readonly wallClock = (): Date => new Date(Date.UTC(2026, 0, 1) + this.clock.now() / 1e6);

  /** Lets so many seconds pass, timer by timer. */
  pass(seconds: number): void {
    const end = after(this.clock.now(), seconds * 1e9);
    for (;;) {
      const next = this.#timers.toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > end) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.clock.advance(Math.max(0, next.at - this.clock.now()));
      next.run();
    }
    this.clock.advance(end - this.clock.now());
  }
}
