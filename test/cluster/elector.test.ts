import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { monotonicClock } from '../../net/clock.ts';
import { createClient } from '../../src/kubernetes/client.ts';
import { Elector } from '../../src/kubernetes/elector.ts';
import { ControlPlane } from '../harness/cluster/control-plane.ts';
import { FaultProxy } from '../harness/cluster/fault-proxy.ts';
import { describeOnCluster } from '../harness/cluster/programs.ts';
import { eventually } from '../harness/eventually.ts';

const NAME = 'signpost-coordinator';

await describeOnCluster('the election of the coordinator', (programs) => {
  let plane: ControlPlane;
  const candidates: Candidate[] = [];

  beforeAll(async () => {
    plane = await ControlPlane.start(programs, { controllers: false });
  });

  afterAll(async () => {
    for (const candidate of candidates) await candidate[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  test('one leads; it gives the lease back in order; cut off, it stops before another begins', async () => {
    for (const name of ['n0', 'n1', 'n2']) candidates.push(new Candidate(name, await FaultProxy.start(plane)));
    const leaders = () => candidates.filter(({ elector }) => elector.remainingMs() > 0);
    const one = () => eventually('one leader', leaders, ({ length }) => length === 1, { within: 8_000, every: 20 });

    const [first] = await one();
    expect(await holder()).toBe(first?.identity);
    await first?.leave();
    expect(first?.elector.remainingMs()).toBe(0);

    const [second] = await one();
    expect(second).not.toBe(first);
    await sleep(4_000);
    expect(leaders()).toEqual([second]);

    // Clocks of other nodes do not matter: the times in the lease are a year ahead, and nobody minds.
    second?.cutOff();
    const successor = () => leaders().find((candidate) => candidate !== second);
    let overlapped = false;
    const looking = setInterval(() => {
      overlapped ||= leaders().length > 1;
    }, 5);
    const third = await eventually('a successor', successor, Boolean, { within: 20_000, every: 50 });
    clearInterval(looking);
    expect(overlapped).toBe(false);
    expect(second?.elector.remainingMs()).toBe(0);
    expect(await holder()).toBe(third?.identity);
    expect(candidates.map(({ told }) => told)).toEqual(candidates.map(({ told }) => alternating(told.length)));
  });

  async function holder(): Promise<string | undefined> {
    const path = `/apis/coordination.k8s.io/v1/namespaces/default/leases/${NAME}`;
    return ((await plane.send('GET', path)) as { spec: { holderIdentity?: string } }).spec.holderIdentity;
  }
});

class Candidate implements AsyncDisposable {
  readonly identity: string;
  readonly elector: Elector;
  /** What it was told, in order. */
  readonly told: boolean[] = [];
  readonly #proxy: FaultProxy;
  readonly #ending = new AbortController();
  readonly #running: Promise<void>;

  constructor(identity: string, proxy: FaultProxy) {
    this.identity = identity;
    this.#proxy = proxy;
    this.elector = new Elector({
      client: createClient(proxy.access(), 'test'),
      namespace: 'default',
      name: NAME,
      identity,
      clock: monotonicClock,
      today: () => new Date(Date.now() + 365 * 86_400_000),
      random: Math.random,
      prepare: () => sleep(10),
      onLeading: (leading) => this.told.push(leading),
      onFailure: () => undefined,
    });
    this.#running = this.elector.run(this.#ending.signal);
  }

  async leave(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }

  cutOff(): void {
    this.#proxy.inject({ status: 503 });
    this.#proxy.cut();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave();
    await this.#proxy[Symbol.asyncDispose]();
  }
}

function alternating(length: number): boolean[] {
  return Array.from({ length }, (_, i) => i % 2 === 0);
}
