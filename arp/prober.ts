import { after, type MonotonicNs } from '../net/clock.ts';
import { type Ip, isV4, isV6 } from '../net/ip.ts';
import type { Mac } from '../net/mac.ts';
import { arpProbe } from './arp-frame.ts';
import { dadSolicitation } from './ndp-frame.ts';

export type ProbeOutcome =
  | { readonly type: 'silence' }
  | { readonly type: 'answered'; readonly mac: Mac }
  /** The same MAC answered for an address that nobody has: a proxy that answers for everything. */
  | { readonly type: 'proxy'; readonly mac: Mac };

interface Probing {
  /** An unused address of the same network, probed beside. */
  readonly control: Ip | undefined;
  readonly intervalNs: number;
  left: number;
  nextAt: MonotonicNs;
  answeredBy: Mac | undefined;
  controlAnsweredBy: Mac | undefined;
}

export interface ProbeTick {
  readonly frames: readonly Uint8Array[];
  readonly outcomes: readonly { readonly ip: Ip; readonly outcome: ProbeOutcome }[];
}

/** Asks a LAN whether somebody has an address, without changing any cache (RFC 5227 section 2.1.1, RFC 4862 5.4). */
export class Prober {
  readonly #probe: (ip: Ip) => Uint8Array;
  readonly #running = new Map<Ip, Probing>();

  /** @param probe the frame that asks for an address; by default one that changes no cache */
  constructor(mac: Mac, probe = (ip: Ip) => probeFrame(mac, ip)) {
    this.#probe = probe;
  }

  /** `count` probes, the outcome one interval after the last. A probe that runs already goes on. */
  start(ip: Ip, control: Ip | undefined, count: number, intervalNs: number, now: MonotonicNs): void {
    if (this.#running.has(ip)) return;
    const fresh = { answeredBy: undefined, controlAnsweredBy: undefined };
    this.#running.set(ip, { control, intervalNs, left: count, nextAt: now, ...fresh });
  }

  /** Somebody other than us said that it has `ip`. */
  heard(ip: Ip, mac: Mac): void {
    for (const [probed, probing] of this.#running) {
      if (probed === ip) probing.answeredBy ??= mac;
      if (probing.control === ip) probing.controlAnsweredBy ??= mac;
    }
  }

  tick(now: MonotonicNs): ProbeTick {
    const frames: Uint8Array[] = [];
    const outcomes: { ip: Ip; outcome: ProbeOutcome }[] = [];
    for (const [ip, probing] of this.#running) {
      if (probing.nextAt > now) continue;
      if (probing.left === 0) {
        this.#running.delete(ip);
        outcomes.push({ ip, outcome: outcomeOf(probing) });
        continue;
      }
      probing.left--;
      probing.nextAt = after(now, probing.intervalNs);
      frames.push(this.#probe(ip));
      if (probing.control !== undefined) frames.push(this.#probe(probing.control));
    }
    return { frames, outcomes };
  }

  nextAt(): MonotonicNs | undefined {
    const times = Array.from(this.#running.values(), (probing) => probing.nextAt);
    return times.length === 0 ? undefined : times.reduce((a, b) => (a < b ? a : b));
  }
}

/** RFC 5227 section 2.1.1, RFC 4862 section 5.4.2. */
export function probeFrame(mac: Mac, ip: Ip): Uint8Array {
  if (isV4(ip)) return arpProbe(mac, ip);
  if (isV6(ip)) return dadSolicitation(mac, ip);
  throw new TypeError(`${String(ip)} is of no family`);
}

function outcomeOf({ answeredBy, controlAnsweredBy }: Probing): ProbeOutcome {
  if (answeredBy === undefined) return { type: 'silence' };
  return answeredBy === controlAnsweredBy ? { type: 'proxy', mac: answeredBy } : { type: 'answered', mac: answeredBy };
}
