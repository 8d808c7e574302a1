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
/** The request form first: it moves caches that a reply may not. */
const ARP_FORMS = ['request', 'reply'] as const;
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

/** A broadcast that waits for the budget: its frame is written as it leaves, since thousands may wait. */
interface Waiting {
  readonly ip: Ip;
  /** Which of its forms, from 0. */
  readonly form: number;
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
  #queue: Waiting[] = [];
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
    for (const form of ARP_FORMS.keys()) {
      for (const ip of ips) if (form < formsOf(ip)) this.#queue.push({ ip, form });
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
    const forms = Array.from({ length: formsOf(ip) }, (_, form) => form);
    return family.flatMap(({ mac }) => forms.map((form) => this.#write({ ip, form }, mac)));
  }

  #takeBudget(now: MonotonicNs): Announcement[] {
    const burst = BROADCASTS_PER_SECOND / 10;
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#refilledAt) / ms(1000)) * BROADCASTS_PER_SECOND);
    this.#refilledAt = now;
    const count = Math.min(this.#queue.length, Math.floor(this.#tokens));
    this.#tokens -= count;
    return this.#queue.splice(0, count).map((waiting) => this.#write(waiting));
  }

  #write({ ip, form }: Waiting, to?: Mac): Announcement {
    const frame = isV4(ip)
      ? gratuitousArp(ARP_FORMS[form] ?? 'reply', this.#mac, ip, to)
      : unsolicitedAdvertisement(this.#mac, ip, to);
    return { ip, frame };
  }
}

function formsOf(ip: Ip): number {
  return isV4(ip) ? ARP_FORMS.length : 1;
}
