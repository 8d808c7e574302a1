import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ManualClock, ms } from '../../net/clock.ts';
import type { Ip } from '../../net/ip.ts';
import { problem } from '../../net/result.ts';
import { BfdSpeaker } from './speaker.ts';
import type { BfdEvent } from './status.ts';
import type { Hops } from './table.ts';
import type { BfdNetwork, From, Schedule } from './transport.ts';
import type { Parameters } from './types.ts';

const FAST: Parameters = { desiredMinTx: 300_000, requiredMinRx: 300_000, detectMultiplier: 3 };

type OnPacket = (payload: Uint8Array, from: From) => void;

interface Task {
  readonly at: number;
  readonly run: () => void;
}

/** Speakers on one link with virtual time, delay and loss, in order. */
class Link {
  readonly clock = new ManualClock(ms(1000));
  readonly events: (BfdEvent & { readonly at: number; readonly speaker: string })[] = [];
  loss = 0;
  cut = false;
  readonly #random: () => number;
  readonly #listeners = new Map<string, OnPacket>();
  #tasks: Task[] = [];

  constructor(seed = 1) {
    this.#random = randomFrom(seed);
  }

  readonly schedule: Schedule = (delay, run) => {
    const task = { at: this.clock.now() + Math.round(delay), run };
    this.#tasks.push(task);
    return { [Symbol.dispose]: () => void (this.#tasks = this.#tasks.filter((other) => other !== task)) };
  };

  speaker(address: string): BfdSpeaker {
    const network: BfdNetwork = {
      listen: (hops, _family, onPacket) => {
        this.#listeners.set(`${address} ${hops}`, onPacket);
        return { ok: { [Symbol.dispose]: () => void this.#listeners.delete(`${address} ${hops}`) } };
      },
      open: ({ remote, hops }) => ({
        ok: { send: (packet) => this.#carry(address, remote, hops, packet), [Symbol.dispose]: () => undefined },
      }),
    };
    return new BfdSpeaker({
      network,
      schedule: this.schedule,
      clock: this.clock,
      random: this.#random,
      onEvent: (event) => this.events.push({ ...event, at: this.milliseconds, speaker: address }),
    });
  }

  get milliseconds(): number {
    return this.clock.now() / ms(1) - 1000;
  }

  /** Lets that much time pass. */
  run(milliseconds: number): this {
    const end = this.clock.now() + ms(milliseconds);
    for (;;) {
      const next = this.#tasks.reduce<Task | undefined>((a, b) => (a !== undefined && a.at <= b.at ? a : b), undefined);
      if (next === undefined || next.at > end) break;
      this.#tasks = this.#tasks.filter((task) => task !== next);
      this.clock.advance(Math.max(0, next.at - this.clock.now()));
      next.run();
    }
    this.clock.advance(end - this.clock.now());
    return this;
  }

  #carry(from: string, to: Ip, hops: Hops, packet: Uint8Array): void {
    if (this.cut || this.#random() < this.loss) return;
    this.schedule(ms(0.4), () => {
      this.#listeners.get(`${to} ${hops}`)?.(packet, { source: from as Ip });
    });
  }
}

function pair(a = FAST, b = FAST, seed?: number) {
  const link = new Link(seed);
  const [left, right] = [link.speaker('192.0.2.1'), link.speaker('192.0.2.2')];
  left.upsert('right', { path: { remote: '192.0.2.2' as Ip, hops: 'single' }, parameters: a });
  right.upsert('left', { path: { remote: '192.0.2.1' as Ip, hops: 'single' }, parameters: b });
  const states = () => [left, right].map((speaker) => speaker.status()[0]?.state);
  return { link, left, right, states };
}

const parameters: fc.Arbitrary<Parameters> = fc.record({
  desiredMinTx: fc.integer({ min: 10_000, max: 2_000_000 }),
  requiredMinRx: fc.integer({ min: 10_000, max: 2_000_000 }),
  detectMultiplier: fc.integer({ min: 2, max: 10 }),
});

describe('two speakers', () => {
  test('are Up in milliseconds, at the negotiated intervals', () => {
    const { link, left, right, states } = pair({ ...FAST, requiredMinRx: 500_000 }, { ...FAST, detectMultiplier: 5 });
    link.run(20);
    expect(states()).toEqual(['Up', 'Up']);
    link.run(2000);
    expect(left.status()[0]).toMatchObject({ transmitInterval: 300, detectionTime: 2500, problem: undefined });
    expect(right.status()[0]).toMatchObject({ transmitInterval: 500, detectionTime: 900, transitions: 2 });
  });

  test('come up, stay up, and fall when the link is cut, whatever their parameters', () => {
    fc.assert(
      fc.property(parameters, parameters, fc.nat(), (a, b, seed) => {
        const { link, left, right, states } = pair(a, b, seed);
        link.run(20_000);
        expect(states()).toEqual(['Up', 'Up']);
        expect(link.events).toHaveLength(4);
        const [l, r] = [left.status()[0], right.status()[0]];
        expect(l?.transmitInterval).toBe(Math.max(a.desiredMinTx, b.requiredMinRx) / 1000);
        expect(l?.detectionTime).toBe((b.detectMultiplier * Math.max(a.requiredMinRx, b.desiredMinTx)) / 1000);
        link.cut = true;
        const cutAt = link.milliseconds;
        link.run(50_000);
        const falls = link.events.slice(4);
        expect(falls.map(({ to }) => to)).toEqual(['Down', 'Down']);
        for (const { at, speaker } of falls) {
          const detection = (speaker === '192.0.2.1' ? l : r)?.detectionTime ?? 0;
          expect(at - cutAt).toBeLessThanOrEqual(detection + 2);
          // The last packet came at most one interval before the cut.
          expect(at - cutAt).toBeGreaterThanOrEqual(detection * (1 - 1 / 2) - 2);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('come up over a link that loses a third, and their Poll Sequences end', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const { link, left, states } = pair({ ...FAST, detectMultiplier: 20 }, { ...FAST, detectMultiplier: 20 }, seed);
        link.loss = 0.33;
        link.run(30_000);
        expect(states()).toEqual(['Up', 'Up']);
        left.upsert('right', {
          path: { remote: '192.0.2.2' as Ip, hops: 'single' },
          parameters: { ...FAST, desiredMinTx: 700_000, detectMultiplier: 20 },
        });
        link.run(15_000);
        expect(left.status()[0]).toMatchObject({ state: 'Up', transmitInterval: 700 });
      }),
      { numRuns: 40 },
    );
  });

  test('a restarted speaker comes back with another discriminator', () => {
    const { link, left, right, states } = pair();
    link.run(100);
    left[Symbol.dispose]();
    const again = link.speaker('192.0.2.1');
    again.upsert('right', { path: { remote: '192.0.2.2' as Ip, hops: 'single' }, parameters: FAST });
    link.run(3000);
    expect([again.status()[0]?.state, states()[1]]).toEqual(['Up', 'Up']);
    expect(right.status()[0]?.remoteDiscriminator).toBe(again.status()[0]?.localDiscriminator);
  });
});

test('a session that ends says AdminDown for as long as its peer could miss it', () => {
  const { link, left, right } = pair();
  link.run(2000);
  left.delete('right', 'admin-down');
  link.run(1);
  expect(link.events.slice(4)).toMatchObject([{ speaker: '192.0.2.2', to: 'Down', remoteState: 'AdminDown' }]);
  expect(right.status()[0]?.problem).toMatch(/administratively down at the peer/);
  const received = () => right.status()[0]?.received ?? 0;
  const before = received();
  link.run(3500);
  const told = received();
  expect(told - before).toBeGreaterThanOrEqual(3);
  link.run(10_000);
  expect(received()).toBe(told);
});

test('a session that ends silently leaves its peer to the detection time', () => {
  const { link, left } = pair();
  link.run(2000);
  left.delete('right', 'silent');
  link.run(600);
  expect(link.events).toHaveLength(4);
  link.run(400);
  expect(link.events.at(-1)).toMatchObject({ speaker: '192.0.2.2', to: 'Down', diagnostic: 1 });
});

test('a socket that cannot be opened is a problem in words, and tried again', () => {
  const link = new Link();
  let present = false;
  const speaker = new BfdSpeaker({
    network: {
      listen: () => ({ ok: { [Symbol.dispose]: () => undefined } }),
      open: () =>
        present
          ? { ok: { send: () => undefined, [Symbol.dispose]: () => undefined } }
          : problem('bind', 'EADDRNOTAVAIL', 'failed', 'name an address of this node'),
    },
    schedule: link.schedule,
    clock: link.clock,
    random: () => 0.5,
    onEvent: () => undefined,
  });
  speaker.upsert('x', { path: { remote: '192.0.2.2' as Ip, hops: 'single' }, parameters: FAST });
  expect(speaker.status()[0]).toMatchObject({
    sent: 0,
    problem: expect.stringMatching(/address of this node/) as string,
  });
  present = true;
  link.run(1000);
  expect(speaker.status()[0]).toMatchObject({ sent: 1, problem: undefined });
});

test('source ports are those of RFC 5881, one a session, and a taken one is passed over', () => {
  const link = new Link();
  const ports: number[] = [];
  const draws = [0.999_999];
  const speaker = new BfdSpeaker({
    network: {
      listen: () => ({ ok: { [Symbol.dispose]: () => undefined } }),
      open: (_, port) => {
        ports.push(port);
        if (port === 49_153) return problem('bind', 'EADDRINUSE', 'failed', '');
        return { ok: { send: () => undefined, [Symbol.dispose]: () => undefined } };
      },
    },
    schedule: link.schedule,
    clock: link.clock,
    random: () => draws.shift() ?? Math.random(),
    onEvent: () => undefined,
  });
  for (const last of [1, 2, 3]) {
    speaker.upsert(`${last}`, { path: { remote: `192.0.2.${last}` as Ip, hops: 'single' }, parameters: FAST });
  }
  expect(ports).toEqual([65_535, 49_152, 49_153, 49_154]);
});

test('strange packets are counted by reason', () => {
  const { link, left } = pair();
  const stranger = link.speaker('192.0.2.9');
  stranger.upsert('x', { path: { remote: '192.0.2.1' as Ip, hops: 'single' }, parameters: FAST });
  link.run(500);
  expect(left.strays.get('no-session')).toBe(1);
});

/** mulberry32 */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
