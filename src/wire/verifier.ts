import { Prober } from '../../arp/index.ts';
import { after, type MonotonicNs, ms } from '../../net/clock.ts';
import type { Ip } from '../../net/ip.ts';
import type { Mac } from '../../net/mac.ts';
import type { NodeName, Vip } from '../../net/names.ts';

/** What the LAN said of a VIP that another member holds. */
export interface Verdict {
  readonly vip: Vip;
  readonly holder: NodeName;
  /** Undefined: nobody. */
  readonly answeredBy: Mac | undefined;
}

export interface VerifierTick {
  readonly frames: readonly Uint8Array[];
  readonly verdicts: readonly Verdict[];
}

/** After a move clients' caches and the switch have their time. */
const FIRST_AFTER = ms(300);
const AGAIN_AFTER = ms(1_000);
const EVERY = ms(30_000);
const PROBES = 2;
const PROBE_INTERVAL = ms(250);
/** Keeps the broadcasts below what storm control allows. */
const AT_ONCE = 8;
const PACE = ms(50);

interface Due {
  readonly vip: Vip;
  readonly holder: NodeName;
  readonly at: MonotonicNs;
}

/**
 * Asks the LAN whether VIPs answer that other members hold: some time after each move, then regularly. Only the member
 * whose turn it is asks; the others look at each time whether it has become theirs.
 */
export class Verifier {
  readonly #isTurn: (vip: Vip, holder: NodeName) => boolean;
  readonly #question: (ip: Ip) => Uint8Array;
  #prober: Prober;
  readonly #holders = new Map<Vip, NodeName>();
  /** In order of time, each with its own distance from now. */
  readonly #queues = { first: [] as Due[], again: [] as Due[], regular: [] as Due[] };
  readonly #probing = new Map<Vip, NodeName>();
  #paceAt = 0 as MonotonicNs;

  /** @param question the frame that asks for an address, and whose answer is told by `heard` */
  constructor(mac: Mac, isTurn: (vip: Vip, holder: NodeName) => boolean, question: (ip: Ip) => Uint8Array) {
    this.#isTurn = isTurn;
    this.#question = question;
    this.#prober = new Prober(mac, question);
  }

  setMac(mac: Mac): void {
    this.#prober = new Prober(mac, this.#question);
    this.#probing.clear();
  }

  /** @param holder another member; undefined: nobody, or this node itself */
  setHolder(vip: Vip, holder: NodeName | undefined, now: MonotonicNs): void {
    if (this.#holders.get(vip) === holder) return;
    if (holder === undefined) this.#holders.delete(vip);
    else {
      this.#holders.set(vip, holder);
      this.#queues.first.push({ vip, holder, at: after(now, FIRST_AFTER) });
    }
  }

  /** No answer, or the wrong one: asked once more before anybody is told. */
  askAgain({ vip, holder }: Verdict, now: MonotonicNs): void {
    this.#queues.again.push({ vip, holder, at: after(now, AGAIN_AFTER) });
  }

  /** An answer to the question: an announcement to everybody proves nothing. */
  heard(vip: Vip, mac: Mac): void {
    if (this.#probing.has(vip)) this.#prober.heard(vip, mac);
  }

  tick(now: MonotonicNs): VerifierTick {
    if (now >= this.#paceAt) this.#ask(now);
    const { frames, outcomes } = this.#prober.tick(now);
    const verdicts = outcomes.flatMap(({ ip, outcome }): Verdict[] => {
      const vip = ip as Vip;
      const holder = this.#probing.get(vip);
      this.#probing.delete(vip);
      const current = this.#holders.get(vip);
      if (holder === undefined || current === undefined) return [];
      if (current !== holder) {
        this.#queues.again.push({ vip, holder: current, at: after(now, AGAIN_AFTER) });
        return [];
      }
      return [{ vip, holder, answeredBy: outcome.type === 'silence' ? undefined : outcome.mac }];
    });
    return { frames, verdicts };
  }

  nextAt(): MonotonicNs | undefined {
    const { first, again, regular } = this.#queues;
    const due = [first[0], again[0], regular[0]].filter((head) => head !== undefined).map(({ at }) => at);
    const earliest = due.length === 0 ? undefined : due.reduce((a, b) => (a < b ? a : b));
    const ask = earliest === undefined || earliest > this.#paceAt ? earliest : this.#paceAt;
    const probe = this.#prober.nextAt();
    return ask === undefined || (probe !== undefined && probe < ask) ? probe : ask;
  }

  #ask(now: MonotonicNs): void {
    let asked = 0;
    for (const queue of [this.#queues.again, this.#queues.first, this.#queues.regular]) {
      while (asked < AT_ONCE && queue[0] !== undefined && queue[0].at <= now) {
        const { vip, holder } = queue.shift() as Due;
        if (this.#holders.get(vip) !== holder) continue;
        if (queue !== this.#queues.again) this.#queues.regular.push({ vip, holder, at: after(now, EVERY) });
        if (this.#probing.has(vip) || !this.#isTurn(vip, holder)) continue;
        this.#probing.set(vip, holder);
        this.#prober.start(vip, undefined, PROBES, PROBE_INTERVAL, now);
        asked++;
      }
    }
    if (asked === AT_ONCE) this.#paceAt = after(now, PACE);
  }
}
