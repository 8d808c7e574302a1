import type { IpFamily } from '../../net/ip.ts';
import type { Result } from '../../net/result.ts';
import type { Arrival, Hops, Path } from './table.ts';

/** The socket of one session: connected to its peer's port, TTL or hop limit 255 (RFC 5881 section 5). */
export interface Sender extends Disposable {
  /** A packet that the kernel refuses is lost, as on any network. */
  send(packet: Uint8Array): void;
}

/** What the speaker needs of the system. */
export interface BfdNetwork {
  /**
   * Opens port 3784 or 4784 on every address of the family; single-hop packets that arrived with another TTL than 255
   * must not reach `onPacket`, which takes the bytes for the time of the call.
   */
  listen(hops: Hops, family: IpFamily, onPacket: (payload: Uint8Array, from: From) => void): Result<Disposable>;
  open(path: Path, sourcePort: number): Result<Sender>;
}

export type From = Omit<Arrival, 'hops'>;

/**
 * Calls `run` once after `delay` nanoseconds, and not before what has arrived until then was handed over: a thread that
 * was stopped must read its sockets before it judges silence.
 */
export type Schedule = (delay: number, run: () => void) => Disposable;

/** Timers of Node.js: setImmediate callbacks run after the sockets that were readable. */
export const nodeSchedule: Schedule = (delay, run) => {
  let immediate: NodeJS.Immediate | undefined;
  const timer = setTimeout(
    () => {
      immediate = setImmediate(run);
    },
    Math.ceil(delay / 1e6),
  );
  return {
    [Symbol.dispose]() {
      clearTimeout(timer);
      clearImmediate(immediate);
    },
  };
};
