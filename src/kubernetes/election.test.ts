import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type MonotonicNs, ms } from '../../net/clock.ts';
import { type Election, type ElectionEvent, type LeaseRecord, leadsUntil, startElection, step } from './election.ts';

const at = (milliseconds: number) => ms(milliseconds) as MonotonicNs;
const lease = (holder: string, resourceVersion = 1, transitions = 0): LeaseRecord => ({
  holder,
  durationMs: 15_000,
  transitions,
  resourceVersion: String(resourceVersion),
});

/** Each event at its time, without spread. */
function run(...events: readonly (readonly [number, ElectionEvent])[]) {
  let last = step(startElection('n1'), { kind: 'tick' }, at(0), 0);
  for (const [time, event] of events) last = step(last.election, event, at(time), 0);
  return last;
}

test('does nothing before it knows whether there is a lease', () => {
  expect(run()).toMatchObject({ write: undefined, leading: false, wakeAt: undefined });
});

test('makes the lease where there is none', () => {
  const { write, leading } = run([0, { kind: 'seen', record: undefined }]);
  expect(write).toEqual({ holder: 'n1', transitions: 0, over: undefined, acquires: true });
  expect(leading).toBe(false);
});

test('leads from when the acquisition was sent, for less than others respect it', () => {
  const acquired = run(
    [0, { kind: 'seen', record: undefined }],
    [4_000, { kind: 'written', record: lease('n1'), sentAt: at(0) }],
  );
  expect(acquired.leading).toBe(true);
  expect(leadsUntil(acquired.election)).toBe(at(10_000));
  expect(step(acquired.election, { kind: 'tick' }, at(10_000), 0).leading).toBe(false);
});

test('renews in time and keeps the count of transitions', () => {
  const acquired = run(
    [0, { kind: 'seen', record: undefined }],
    [10, { kind: 'written', record: lease('n1', 4, 2), sentAt: at(0) }],
  );
  expect(acquired.wakeAt).toBe(at(3_000));
  const renewal = step(acquired.election, { kind: 'tick' }, at(3_000), 0);
  expect(renewal.write).toEqual({ holder: 'n1', transitions: 2, over: '4', acquires: false });
});

test('respects a holder that renews, however long, and takes over one that is silent', () => {
  const other = run([0, { kind: 'seen', record: lease('n2', 1) }], [14_000, { kind: 'seen', record: lease('n2', 2) }]);
  expect(other.wakeAt).toBe(at(29_000));
  expect(step(other.election, { kind: 'tick' }, at(28_999), 0).write).toBeUndefined();
  const taken = step(other.election, { kind: 'tick' }, at(29_000), 0).write;
  expect(taken).toEqual({ holder: 'n1', transitions: 1, over: '2', acquires: true });
});

test('takes a released lease at once', () => {
  const { write } = run([0, { kind: 'seen', record: lease('n2', 1) }], [50, { kind: 'seen', record: lease('', 2) }]);
  expect(write).toMatchObject({ holder: 'n1', over: '2' });
});

test('stops at once when another one holds the lease', () => {
  const lost = run(
    [0, { kind: 'seen', record: undefined }],
    [0, { kind: 'written', record: lease('n1', 1), sentAt: at(0) }],
    [100, { kind: 'seen', record: lease('n2', 9) }],
  );
  expect(lost.leading).toBe(false);
});

test('an echo of an earlier renewal does not make the next one fail', () => {
  const { election } = run(
    [0, { kind: 'seen', record: undefined }],
    [0, { kind: 'written', record: lease('n1', 5), sentAt: at(0) }],
    [0, { kind: 'seen', record: lease('n1', 4) }],
  );
  expect(step(election, { kind: 'tick' }, at(3_000), 0).write?.over).toBe('5');
});

const TICK_MS = 100;

test('a lost race does not shorten the respect for who won it', () => {
  const lost = run(
    [0, { kind: 'seen', record: undefined }],
    [100, { kind: 'seen', record: lease('n2', 1) }],
    [200, { kind: 'refused' }],
  );
  expect(lost.wakeAt).toBe(at(15_100));
});

/** Candidates with clocks of their own speed, slow requests, watches that lag, and one that stops for a while. */
class Cluster {
  record: LeaseRecord | undefined;
  now = 0;
  readonly candidates: { election: Election; speed: number; wakeAt: number; alive: boolean }[];
  readonly #queue: { readonly at: number; readonly run: () => void }[] = [];
  readonly #random: () => number;
  #version = 0;

  constructor(speeds: readonly number[], random: () => number) {
    this.#random = random;
    this.candidates = speeds.map((speed, i) => ({
      election: startElection(`n${i}`),
      speed,
      wakeAt: Number.POSITIVE_INFINITY,
      alive: true,
    }));
    for (const i of speeds.keys()) this.#later(() => this.#event(i, { kind: 'seen', record: this.record }));
  }

  leaders(): number[] {
    return [...this.candidates.keys()].filter((i) => {
      const candidate = this.candidates[i];
      return candidate !== undefined && leadsUntil(candidate.election) > this.#clockOf(i);
    });
  }

  advance(): void {
    this.now += TICK_MS;
    for (let i = 0; i < this.#queue.length; ) {
      const entry = this.#queue[i];
      if (entry !== undefined && entry.at <= this.now) this.#queue.splice(i, 1)[0]?.run();
      else i++;
    }
    for (const [i, { wakeAt }] of this.candidates.entries()) {
      if (wakeAt <= this.#clockOf(i)) this.#event(i, { kind: 'tick' });
    }
  }

  #clockOf(i: number): MonotonicNs {
    return at(this.now * (this.candidates[i]?.speed ?? 1));
  }

  #event(i: number, event: ElectionEvent): void {
    const candidate = this.candidates[i];
    if (candidate === undefined || !candidate.alive) return;
    const sentAt = this.#clockOf(i);
    const { election, write, wakeAt } = step(candidate.election, event, sentAt, this.#random());
    candidate.election = election;
    candidate.wakeAt = wakeAt ?? Number.POSITIVE_INFINITY;
    if (write === undefined) return;
    this.#later(() => {
      if (write.over !== this.record?.resourceVersion) {
        this.#later(() => this.#event(i, { kind: 'refused' }));
        return;
      }
      this.#version++;
      const record = { ...lease(write.holder, this.#version, write.transitions) };
      this.record = record;
      this.#later(() => this.#event(i, { kind: 'written', record, sentAt }));
      for (const j of this.candidates.keys()) this.#later(() => this.#event(j, { kind: 'seen', record }));
    });
  }

  #later(run: () => void): void {
    this.#queue.push({ at: this.now + this.#random() ** 3 * 4_000, run });
  }
}

test('there are never two leaders, and soon one after the last has died', () => {
  fc.assert(
    fc.property(
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })),
      fc.array(fc.double({ min: 0.9, max: 1.1, noNaN: true }), { minLength: 2, maxLength: 4 }),
      (randoms, speeds) => {
        const cluster = new Cluster(speeds, () => randoms.next().value as number);
        const run = (milliseconds: number) => {
          for (let i = 0; i < milliseconds / TICK_MS; i++) {
            cluster.advance();
            expect(cluster.leaders().length).toBeLessThanOrEqual(1);
          }
        };
        run(60_000);
        const [leader] = cluster.leaders();
        const victim = leader === undefined ? undefined : cluster.candidates[leader];
        if (victim !== undefined) victim.alive = false;
        run(45_000);
        expect(cluster.record?.holder).not.toBe(victim?.election.self);
      },
    ),
    { numRuns: 60 },
  );
});
