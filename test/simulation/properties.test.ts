import { describe, expect, it } from 'vitest';
import { ms } from '../../net/clock.ts';
import { FORMER_HOLDERS } from '../../src/membership/timings.ts';
import { Audit } from './audit.ts';
import { Cluster, type ClusterOptions } from './cluster.ts';
import { Random } from './random.ts';
import { randomSchedule, run } from './schedule.ts';

function warm(options: Partial<ClusterOptions>): Cluster {
  const cluster = new Cluster({ seed: 1, nodes: 3, vips: 4, fencing: 'Require', firstClaim: 'written', ...options });
  new Audit(cluster);
  cluster.startAll();
  cluster.run(ms(3000));
  return cluster;
}

function packetsOf(cluster: Cluster, node: string, milliseconds: number): number {
  let packets = 0;
  const { onMessage } = cluster;
  cluster.onMessage = (from, to, message) => {
    if (from === node) packets++;
    onMessage?.(from, to, message);
  };
  cluster.runFor(ms(milliseconds));
  cluster.onMessage = onMessage;
  return packets;
}

describe('the election', () => {
  it('is deterministic: a seed gives the same timeline each time', () => {
    for (const seed of [3, 17, 52, 118]) {
      const schedule = randomSchedule(new Random(seed), seed);
      expect(run(schedule, true).timeline).toEqual(run(schedule, true).timeline);
    }
  });

  it('does not mind any message that comes twice', () => {
    const once = warm({});
    const twice = new Cluster({ ...once.options });
    new Audit(twice);
    twice.duplication = 1;
    twice.startAll();
    twice.run(ms(3000));
    for (const cluster of [once, twice]) {
      cluster.crash('n1');
      cluster.runFor(ms(2000));
      cluster.start('n1');
      cluster.runFor(ms(3000));
      expect(cluster.violations).toEqual([]);
      for (const vip of cluster.vips) expect(cluster.holders(vip)).toHaveLength(1);
    }
  });

  it('changes nothing for forged, cut and replayed datagrams', () => {
    const cluster = warm({ forgery: 0.3, fencing: 'Require' });
    const before = cluster.vips.map((vip) => cluster.holders(vip));
    cluster.runFor(ms(20_000));
    expect(cluster.vips.map((vip) => cluster.holders(vip))).toEqual(before);
    expect(cluster.violations).toEqual([]);
  });

  it('moves nothing in three minutes at 10 % loss', () => {
    const cluster = warm({ nodes: 5 });
    const epochs = () => cluster.vips.map((vip) => cluster.node('n1').state?.claims.get(vip)?.claim.epoch);
    const before = epochs();
    cluster.loss = 0.1;
    cluster.runFor(ms(180_000));
    expect(epochs()).toEqual(before);
    expect(cluster.violations).toEqual([]);
  });

  it('moves nothing by a pause of 200 ms', () => {
    const cluster = warm({});
    for (const node of cluster.names) {
      cluster.pause(node, ms(200));
      cluster.runFor(ms(2000));
    }
    for (const vip of cluster.vips) expect(cluster.node('n1').state?.claims.get(vip)?.claim.epoch).toBe(1);
  });

  it.each([2, 3, 20])('keeps an isolated node of %i quiet', (nodes) => {
    const cluster = warm({ nodes });
    cluster.isolate('n1', 'both');
    cluster.runFor(ms(2000));
    expect(packetsOf(cluster, 'n1', 10_000) / 10).toBeLessThan(150);
  });

  it('keeps its memory bounded over many moves', () => {
    const cluster = warm({ nodes: 5, vips: 8 });
    const sizes = () => {
      const { state } = cluster.node('n1');
      if (state === undefined) throw new Error('n1 is down');
      const { registers, claims, proposals, tells, certificates, subjects, holdings } = state;
      const lives = [...subjects.values()].reduce((count, each) => count + each.size, 0);
      return [registers, claims, proposals, holdings].reduce(
        (count, { size }) => count + size,
        tells.length + certificates.length + lives,
      );
    };
    const rounds = (count: number) => {
      for (let i = 0; i < count; i++) {
        const node = `n${2 + (i % 4)}`;
        cluster.crash(node);
        cluster.runFor(ms(1000));
        cluster.start(node);
        cluster.runFor(ms(2000));
      }
      cluster.runFor(ms(70_000));
      return sizes();
    };
    const few = rounds(8);
    expect(rounds(24)).toBeLessThanOrEqual(few + 8);
  });

  it('spreads VIPs: no node has more than a quarter above the mean', () => {
    const cluster = warm({ nodes: 5, vips: 40, firstClaim: 'peers' });
    const most = () =>
      Math.max(...cluster.names.map((node) => cluster.vips.filter((vip) => cluster.holders(vip)[0] === node).length));
    expect(most()).toBeLessThanOrEqual(10);
    cluster.crash('n1');
    cluster.runFor(ms(2000));
    expect(most()).toBeLessThanOrEqual(13);
    cluster.start('n1');
    cluster.runFor(ms(3000));
    cluster.handle(cluster.node('n2'), { type: 'rebalance' });
    cluster.runFor(ms(2000));
    expect(most()).toBeLessThanOrEqual(8);
    expect(cluster.violations).toEqual([]);
  });

  it('moves a VIP by choice at most twice in three minutes', () => {
    const cluster = warm({ vips: 1 });
    const vip = cluster.vips[0];
    if (vip === undefined) throw new Error('no VIP');
    for (let i = 0; i < 6; i++) {
      const [holder = 'n1'] = cluster.holders(vip);
      cluster.handle(cluster.node(holder), { type: 'handOver', vip });
      cluster.runFor(ms(1000));
    }
    expect(cluster.node('n1').state?.claims.get(vip)?.claim.epoch).toBe(3);
    cluster.runFor(ms(180_000));
    cluster.handle(cluster.node(cluster.holders(vip)[0] ?? 'n1'), { type: 'handOver', vip });
    cluster.runFor(ms(1000));
    expect(cluster.node('n1').state?.claims.get(vip)?.claim.epoch).toBe(4);
  });

  it('hands over within 10 ms without an answer, and to the node that was asked for', () => {
    const cluster = warm({ vips: 1 });
    const vip = cluster.vips[0];
    if (vip === undefined) throw new Error('no VIP');
    const [from = 'n1'] = cluster.holders(vip);
    const to = cluster.names.find((node) => node !== from && node !== 'n2') ?? cluster.names[2];
    cluster.handle(cluster.node(from), { type: 'drain', ...(to === undefined ? {} : { to }) });
    let dark = 0;
    for (let i = 0; i < 1000; i++) {
      cluster.runFor(ms(0.1));
      if (cluster.holders(vip).length === 0) dark++;
    }
    expect(dark / 10).toBeLessThan(10);
    expect(cluster.holders(vip)).toEqual([to]);
  });

  it.each([1, 2, 3, 4, 5])('knows who held a VIP before, over crashes and a rolling update (seed %i)', (seed) => {
    const cluster = warm({ seed, nodes: 6 });
    const random = new Random(seed);
    const history = new Map(cluster.vips.map((vip) => [vip, cluster.holders(vip)]));
    const { onEffect } = cluster;
    let moves = 0;
    cluster.onEffect = (node, effect) => {
      onEffect?.(node, effect);
      if (effect.type !== 'answer') return;
      const held = history.get(effect.vip) ?? [];
      const expected = held.filter((other) => other !== node);
      expect(effect.formerHolders).toEqual(expected.slice(0, FORMER_HOLDERS));
      if (held[0] !== node) moves++;
      history.set(effect.vip, [node, ...expected]);
    };
    for (let round = 0; round < 3; round++) {
      for (const name of cluster.names.toSorted(() => random.next() - 0.5)) {
        if (random.chance(0.3)) cluster.crash(name);
        else cluster.handle(cluster.node(name), { type: 'leave' });
        cluster.runFor(ms(1500));
        cluster.start(name);
        cluster.runFor(ms(3000));
      }
    }
    expect(moves).toBeGreaterThan(3 * cluster.vips.length);
    expect(cluster.violations).toEqual([]);
  });

  it('leads on a node of last resort only where no other can', () => {
    const cluster = warm({ vips: 1 });
    const vip = cluster.vips[0];
    if (vip === undefined) throw new Error('no VIP');
    const [from = 'n1'] = cluster.holders(vip);
    const node = cluster.node(from);
    node.eligibility.set(vip, { kind: 'lastResort', reason: 'NotReady' });
    cluster.handle(node, { type: 'vips', upserts: cluster.entriesFor(node), deletes: [] });
    cluster.runFor(ms(2000));
    expect(cluster.holders(vip)).not.toEqual([from]);
    for (const other of cluster.names) if (other !== from) cluster.crash(other);
    cluster.runFor(ms(1000));
    expect(cluster.violations).toEqual([]);
  });

  it('gives two nodes with a witness full fencing', () => {
    const cluster = warm({ nodes: 3, witnesses: 1, vips: 2 });
    cluster.crash('n1');
    cluster.runFor(ms(740));
    for (const vip of cluster.vips) expect(cluster.holders(vip)).toEqual(['n2']);
  });
});
