import { expect, it } from 'vitest';
import { ms } from '../../net/clock.ts';
import type { Vip } from '../../net/names.ts';
import type { VipEntry } from '../../src/membership/types.ts';
import { Cluster } from './cluster.ts';

const VIPS = 300;

function entryOf(i: number, ready: boolean): VipEntry {
  return {
    vip: `203.0.${1 + (i >> 8)}.${i & 255}` as Vip,
    fencing: 'Prefer',
    firstClaim: { kind: 'peers' },
    eligibility: { kind: 'eligible' },
    ready,
    preferredNodes: [],
    routeKey: `default/route-${i}`,
  };
}

function tell(cluster: Cluster, entry: VipEntry): void {
  for (const node of cluster.nodes.values()) cluster.handle(node, { type: 'vips', upserts: [entry], deletes: [] });
}

/** Counts what is sent and done from now on, by type. */
function counting(cluster: Cluster): Map<string, number> {
  const counts = new Map<string, number>();
  const count = (type: string) => void counts.set(type, (counts.get(type) ?? 0) + 1);
  cluster.onMessage = (_from, _to, { type }) => count(type);
  cluster.onEffect = (_node, effect) => {
    if (effect.type !== 'report') count(effect.type);
  };
  return counts;
}

function warm(): Cluster {
  const cluster = new Cluster({ seed: 1, nodes: 3, vips: 0, fencing: 'Prefer', firstClaim: 'peers' });
  cluster.startAll();
  cluster.run(ms(4000));
  return cluster;
}

it('gives VIPs that come one by one a holder each, without a contest and for a bounded number of messages', () => {
  const cluster = warm();
  const counts = counting(cluster);
  for (let i = 0; i < VIPS; i++) {
    tell(cluster, entryOf(i, false));
    cluster.runFor(ms(5));
    tell(cluster, entryOf(i, true));
    cluster.runFor(ms(10));
  }
  cluster.runFor(ms(1000));
  expect(counts.get('answer')).toBe(VIPS);
  expect(counts.get('refused') ?? 0).toBeLessThan(VIPS / 10);
  expect(counts.get('probe')).toBeLessThanOrEqual(2 * VIPS);
  expect(counts.get('send')).toBeLessThan(35 * VIPS);
});

it('ends a time of heavy loss with one holder each, and does not answer whole tables by whole tables', () => {
  const cluster = warm();
  for (let i = 0; i < VIPS; i++) tell(cluster, entryOf(i, true));
  cluster.runFor(ms(5000));
  cluster.loss = 0.8;
  cluster.runFor(ms(8000));
  cluster.loss = 0;
  const counts = counting(cluster);
  cluster.runFor(ms(3000));
  const holders = () => {
    const answering = [...cluster.nodes.values()].flatMap((node) => [...node.answering]);
    return { answered: new Set(answering).size, twice: answering.length - new Set(answering).size };
  };
  expect(holders()).toEqual({ answered: VIPS, twice: 0 });
  expect(counts.get('unfenced') ?? 0).toBeLessThan(VIPS);
  expect(counts.get('send')).toBeLessThan(40 * VIPS);
});
