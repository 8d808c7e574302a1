import type { Ip } from '../../net/ip.ts';
import { ok, type Result } from '../../net/result.ts';
import type { ControlPacket, Discard } from './packet.ts';

/** RFC 5881 or RFC 5883: which of the two ports a session uses, and whether its packets must have TTL 255. */
export type Hops = 'single' | 'multi';

/** Where a packet came from. */
export interface Arrival {
  readonly source: Ip;
  /** Known for link-local sources, else where the socket tells it. */
  readonly interface?: string;
  readonly hops: Hops;
}

/** The two ends of a session. */
export interface Path {
  readonly remote: Ip;
  readonly local?: Ip;
  /** The interface of a single-hop session; link-local addresses need one. */
  readonly interface?: string;
  readonly hops: Hops;
}

interface Entry {
  readonly discriminator: number;
  readonly path: Path;
}

/** Finds the session that a packet belongs to (RFC 5880 sections 6.3 and 6.8.6, RFC 5881 section 3). */
export class SessionTable<T extends Entry> {
  readonly #byDiscriminator = new Map<number, T>();
  readonly #byRemote = new Map<Ip, readonly T[]>();

  /** A discriminator that no session here has; random, so that nobody off the path can guess it. */
  freshDiscriminator(random: () => number): number {
    let candidate = 0;
    while (candidate === 0 || this.#byDiscriminator.has(candidate)) candidate = Math.floor(random() * 2 ** 32);
    return candidate;
  }

  add(entry: T): void {
    const { remote } = entry.path;
    this.#byDiscriminator.set(entry.discriminator, entry);
    // The newest first: an older one may only be saying goodbye.
    this.#byRemote.set(remote, [entry, ...(this.#byRemote.get(remote) ?? [])]);
  }

  delete(entry: T): void {
    const { remote } = entry.path;
    this.#byDiscriminator.delete(entry.discriminator);
    const rest = (this.#byRemote.get(remote) ?? []).filter((other) => other !== entry);
    if (rest.length > 0) this.#byRemote.set(remote, rest);
    else this.#byRemote.delete(remote);
  }

  find(packet: ControlPacket, arrival: Arrival): Result<T, Discard> {
    if (packet.yourDiscriminator !== 0) {
      const entry = this.#byDiscriminator.get(packet.yourDiscriminator);
      if (entry === undefined) return { problem: 'unknown-discriminator' };
      // A packet for a single-hop session on the multihop port would pass by the check of its TTL.
      return entry.path.hops === arrival.hops ? ok(entry) : { problem: 'wrong-port' };
    }
    if (packet.state !== 'Down' && packet.state !== 'AdminDown') return { problem: 'zero-your-discriminator' };
    const entry = this.#byRemote.get(arrival.source)?.find(({ path }) => couldCarry(path, arrival));
    return entry === undefined ? { problem: 'no-session' } : ok(entry);
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#byDiscriminator.values();
  }
}

function couldCarry(path: Path, arrival: Arrival): boolean {
  const interfacesDiffer =
    path.interface !== undefined && arrival.interface !== undefined && path.interface !== arrival.interface;
  return path.hops === arrival.hops && !interfacesDiffer;
}
