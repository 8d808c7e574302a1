import { after, type MonotonicNs, ms } from '../net/clock.ts';
import { type Ip, isV4 } from '../net/ip.ts';
import type { Mac } from '../net/mac.ts';
import { gratuitousArp } from './arp-frame.ts';
import { unsolicitedAdvertisement } from './ndp-frame.ts';

/** When an address that was just taken is announced; caches that ignored one (Linux: for 1 s) take a later one. */
const ROUNDS = [0, 50, 200, 1100, 2200, 5000].map(ms);
const REPEAT = ms(60_000);
/** Share of the repeat interval that is random, so that nodes do not announce in step. */
const JITTER = 0.2;
/** Storm control of a switch shuts a port that broadcasts much more. */
const BROADCASTS_PER_SECOND = 200;

export interface GatewayTarget {
  readonly ip: Ip;
  readonly mac: Mac;
}

interface Announced {
  readonly since: MonotonicNs;
  round: number;
  nextAt: MonotonicNs;
}

export interface Announcement {
  readonly ip: Ip;
  readonly frame: Uint8Array;
}

/**
 * Gratuitous announcements of one interface. Gateways are told first, by unicast; then each address once by one form,
 * then each by the other, within a budget of broadcasts.
 */
export class Announcer {
  readonly #random: () => number;
  readonly #addresses = new Map<Ip, Announced>();
  #mac: Mac;
  #gateways: readonly GatewayTarget[] = [];
  #queue: Announcement[] = [];
  #tokens = BROADCASTS_PER_SECOND / 10;
  #refilledAt: MonotonicNs;

  constructor(mac: Mac, random: () => number, now: MonotonicNs) {
    this.#mac = mac;
    this.#random = random;
    this.#refilledAt = now;
  }

  /** A changed MAC address is announced as if every address had just been taken. */
  setMac(mac: Mac, now: MonotonicNs): void {
    if (mac === this.#mac) return;
    this.#mac = mac;
    this.#queue = [];
    for (const ip of this.#addresses.keys()) this.start(ip, now);
  }

  setGateways(gateways: readonly GatewayTarget[]): void {
    this.#gateways = gateways;
  }

  start(ip: Ip, now: MonotonicNs): void {
    this.#addresses.set(ip, { since: now, round: 0, nextAt: now });
  }

  /** Nothing of the address leaves after this, not even what was queued. */
  stop(ip: Ip): void {
    this.#addresses.delete(ip);
    this.#queue = this.#queue.filter((broadcast) => broadcast.ip !== ip);
  }

  /** Frames to send now. */
  due(now: MonotonicNs): Announcement[] {
    const ips: Ip[] = [];
    for (const [ip, announced] of this.#addresses) {
      if (announced.nextAt > now) continue;
      ips.push(ip);
      this.#advance(announced, now);
    }
    const unicast = ips.flatMap((ip) => this.#toGateways(ip));
    const forms = ips.map((ip) => announcements(this.#mac, ip));
    for (const form of [0, 1]) {
      ips.forEach((ip, i) => {
        const frame = forms[i]?.[form];
        if (frame !== undefined) this.#queue.push({ ip, frame });
      });
    }
    return [...unicast, ...this.#takeBudget(now)];
  }

  /** When `due` has something to say next. */
  nextAt(now: MonotonicNs): MonotonicNs | undefined {
    const times = Array.from(this.#addresses.values(), (announced) => announced.nextAt);
    if (this.#queue.length > 0) times.push(after(now, ms(1000 / BROADCASTS_PER_SECOND)));
    return times.length === 0 ? undefined : times.reduce((a, b) => (a < b ? a : b));
  }

  #advance(announced: Announced, now: MonotonicNs): void {
    announced.round++;
    const offset = ROUNDS[announced.round];
    announced.nextAt =
      offset === undefined ? after(now, REPEAT * (1 - JITTER * this.#random())) : after(announced.since, offset);
  }

  #toGateways(ip: Ip): Announcement[] {
    const family = this.#gateways.filter((gateway) => isV4(gateway.ip) === isV4(ip));
    return family.flatMap(({ mac }) => announcements(this.#mac, ip, mac)).map((frame) => ({ ip, frame }));
  }

  #takeBudget(now: MonotonicNs): Announcement[] {
    const burst = BROADCASTS_PER_SECOND / 10;
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#refilledAt) / ms(1000)) * BROADCASTS_PER_SECOND);
    this.#refilledAt = now;
    const count = Math.min(this.#queue.length, Math.floor(this.#tokens));
    this.#tokens -= count;
    return this.#queue.splice(0, count);
  }
}

/** The request form first: it moves caches that a reply may not. */
function announcements(mac: Mac, ip: Ip, to?: Mac): Uint8Array[] {
  if (!isV4(ip)) return [unsolicitedAdvertisement(mac, ip, to)];
  return [gratuitousArp('request', mac, ip, to), gratuitousArp('reply', mac, ip, to)];
}
