import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Ip } from '../../../../net/ip.ts';
import type { Mac } from '../../../../net/mac.ts';
import type { InterfaceName, NodeName, Vip } from '../../../../net/names.ts';
import { problem, type Result } from '../../../../net/result.ts';
import { Table } from '../../../../net/table.ts';
import { SLOTS } from '../../../decide/direct/slots.ts';
import {
  type DirectSurroundings,
  type ForwardingEntry,
  type ForwardingPlan,
  forwardingKey,
  type NodeShare,
  type Port,
} from '../../../decide/types.ts';
import { KernelModel } from '../testing/kernel-model.ts';
import { traverse } from '../testing/traversal.ts';
import { REMEMBERED } from './lineage.ts';
import { DirectTables } from './tables.ts';

const VIP = '192.0.2.1' as Vip;
const KEY = `${VIP} . tcp . 80`;
const ETH0 = 'eth0' as InterfaceName;

const names = (count: number) => Array.from({ length: count }, (_, i) => `n${i + 1}.example` as NodeName);
const addressOf = (node: NodeName) => `10.0.0.${/\d+/.exec(node)?.[0]}` as Ip;
const macOf = (node: NodeName) => `02:00:00:00:00:${(/\d+/.exec(node)?.[0] ?? '').padStart(2, '0')}` as Mac;

function surroundings(self: NodeName, nodes: readonly NodeName[], gone = new Set<NodeName>()): DirectSurroundings {
  return {
    self,
    interfaces: [
      { name: ETH0, members: nodes.filter((node) => node !== self).map((node) => ({ node, mac: macOf(node) })) },
    ],
    nodes: new Map(nodes.map((node) => [node, { IPv4: { to: addressOf(node), device: ETH0 } }])),
    gone,
  };
}

/** Undefined: the entry is translated to any endpoint. */
type Shares = readonly NodeShare[] | undefined;

function planOf(around: DirectSurroundings, shares: Shares): ForwardingPlan {
  const base: ForwardingEntry = {
    vip: VIP,
    protocol: 'TCP',
    port: 80 as Port,
    endpoints: [],
    keepClientAddress: false,
    affinity: { type: 'None' },
    sourceRanges: [],
  };
  const entry = shares === undefined ? base : { ...base, direct: { shares, own: [] } };
  return {
    vips: Table.from([[VIP, true]]),
    entries: Table.from([[forwardingKey(entry), entry]]),
    announcingInterfaces: [ETH0],
    direct: around,
  };
}

/** A node with its kernel and its daemon. */
class Node {
  readonly name: NodeName;
  readonly kernel = new KernelModel();
  #around: DirectSurroundings;
  #tables = this.#start();

  constructor(name: NodeName, nodes: readonly NodeName[]) {
    this.name = name;
    this.#around = surroundings(name, nodes);
  }

  /** A new run of the daemon knows only what the kernel holds. */
  restart(): void {
    this.#tables = this.#start();
  }

  async carry(shares: Shares, translatedBefore = true): Promise<void> {
    expect(await this.#tables.apply(planOf(this.#around, shares), translatedBefore)).toBeUndefined();
    for (let i = 0; i < 2; i++) expect(await this.#tables.settle()).toBeUndefined();
  }

  /** Applies without the time that connections of the leader get. */
  async begin(shares: Shares): Promise<void> {
    expect(await this.#tables.apply(planOf(this.#around, shares), true)).toBeUndefined();
  }

  /** Other nodes are known to be gone from the next plan on. */
  lose(...gone: readonly NodeName[]): void {
    this.#around = { ...this.#around, gone: new Set(gone) };
  }

  /** The node that a client's frame is sent to; this one where it is kept. */
  steer(slot: number): NodeName {
    const segment = { slot, key: KEY, known: false, from: undefined, dscp: 0 };
    const sent = traverse(this.kernel, 'netdev signpost', 'steer', segment);
    return sent === undefined ? this.name : nodeAt(sent.to);
  }

  /** How a segment is passed on, and to whom; undefined where it stays. */
  pass(slot: number, known: boolean, frame: Frame): { readonly to: NodeName; readonly frame: Frame } | undefined {
    const from = frame.from === undefined ? undefined : macOf(frame.from);
    const segment = { slot, key: KEY, known, from, dscp: frame.dscp };
    const sent = traverse(this.kernel, 'ip signpost-direct', 'passing', segment);
    return sent && { to: nodeAt(sent.to), frame: { from: this.name, dscp: sent.dscp } };
  }

  #start(): DirectTables {
    return new DirectTables({
      transact: (line) => Promise.resolve(attempt(() => this.kernel.run(line))),
      query: () => Promise.resolve({ ok: '' }),
      list: (table) => Promise.resolve({ ok: this.kernel.text(table) }),
      missingFeatures: () => Promise.resolve(undefined),
    });
  }
}

interface Frame {
  /** The member that sent it; undefined: a client. */
  readonly from: NodeName | undefined;
  readonly dscp: number;
}

function attempt(work: () => void): Result<string> {
  try {
    work();
    return { ok: '' };
  } catch (error) {
    return problem('', undefined, String(error), '');
  }
}

function nodeAt(address: string): NodeName {
  return `n${address.split('.')[3]}.example` as NodeName;
}

/** The way of a segment from a client that comes to `leader`, of a connection that lives on some node, if on any. */
function wayOf(
  nodes: ReadonlyMap<NodeName, Node>,
  leader: NodeName,
  slot: number,
  home: NodeName | undefined,
): NodeName[] {
  const way = [leader];
  const steered = (nodes.get(leader) as Node).steer(slot);
  let frame: Frame = { from: undefined, dscp: 0 };
  if (steered !== leader) {
    way.push(steered);
    frame = { from: leader, dscp: 0 };
  }
  while (way.length < 20) {
    const at = way.at(-1) as NodeName;
    const next = (nodes.get(at) as Node).pass(slot, at === home, frame);
    if (next === undefined) return way;
    frame = next.frame;
    way.push(next.to);
  }
  throw new Error(`a loop: ${way.join(' ')}`);
}

const anyShares = (nodes: readonly NodeName[]) =>
  fc
    .array(fc.integer({ min: 0, max: 3 }), { minLength: nodes.length, maxLength: nodes.length })
    .map((weights) =>
      nodes.map((node, i) => ({ node, weight: weights[i] as number })).filter(({ weight }) => weight > 0),
    )
    .filter((shares) => shares.length > 0);

const SAMPLE = [0, 1, 2, 3, 7, 25, 100, 400, 641, 999, SLOTS - 2, SLOTS - 1];

describe('tables of several generations', () => {
  const world = (most: number, changes: number) =>
    fc.integer({ min: 3, max: most }).chain((count) =>
      fc.record({
        nodes: fc.constant(names(count)),
        generations: fc.array(anyShares(names(count)), { minLength: 2, maxLength: changes }),
        /** Which nodes have the newest of them. */
        ahead: fc.array(fc.boolean(), { minLength: count, maxLength: count }),
      }),
    );

  test.each([
    [20, 3, 8],
    [REMEMBERED + 1, 7, 16],
  ])(
    'of %i nodes, over %i changes, no connection is lost and no segment goes in a loop',
    async (most, changes, runs) => {
      const property = fc.asyncProperty(world(most, changes), async ({ nodes, generations, ahead }) => {
        const all = new Map(nodes.map((name) => [name, new Node(name, nodes)] as const));
        const homes = SAMPLE.map(() => new Set<NodeName>());
        for (const shares of generations.slice(0, -1)) {
          for (const node of all.values()) await node.carry(shares);
          SAMPLE.forEach((slot, i) => homes[i]?.add((all.get(nodes[0] as NodeName) as Node).steer(slot)));
        }
        const newest = generations.at(-1) as NodeShare[];
        for (const [i, node] of [...all.values()].entries()) if (ahead[i]) await node.carry(newest);
        for (const [i, slot] of SAMPLE.entries()) {
          for (const entrance of nodes) {
            for (const home of homes[i] ?? []) expect(wayOf(all, entrance, slot, home).at(-1)).toBe(home);
            const former = (homes[i]?.size ?? 0) + 1;
            expect(wayOf(all, entrance, slot, undefined).length).toBeLessThanOrEqual(former + 4);
          }
        }
      });
      await fc.assert(property, { numRuns: runs });
    },
    60_000,
  );
});

test('a node that is gone is not asked', async () => {
  const nodes = names(4);
  const all = new Map(nodes.map((name) => [name, new Node(name, nodes)] as const));
  const shares = (some: readonly NodeName[]) => some.map((node) => ({ node, weight: 1 }));
  const [home, lost, ...left] = nodes as [NodeName, NodeName, ...NodeName[]];
  for (const some of [[home], [lost]]) for (const node of all.values()) await node.carry(shares(some));
  for (const node of all.values()) {
    node.lose(lost);
    await node.carry(shares(left));
  }
  const way = (slot: number) => wayOf(all, left[0] as NodeName, slot, home);
  for (const slot of SAMPLE) {
    expect(way(slot)).not.toContain(lost);
    expect(way(slot).at(-1)).toBe(home);
  }
  for (const node of all.values()) {
    node.lose();
    await node.carry(shares(left));
  }
  for (const slot of SAMPLE) expect(wayOf(all, left[0] as NodeName, slot, undefined)).toContain(lost);
});

describe('a change of the mode', () => {
  const nodes = names(3);
  const shares = nodes.map((node) => ({ node, weight: 1 }));
  const [first, second, third] = nodes as [NodeName, NodeName, NodeName];
  const cluster = () => new Map(nodes.map((name) => [name, new Node(name, nodes)] as const));

  test('connections of the leader go on, whichever node learns of it first', async () => {
    const all = cluster();
    for (const node of all.values()) await node.carry(undefined);
    const [leader, other, late] = [...all.values()] as [Node, Node, Node];
    const reached = () => SAMPLE.map((slot) => wayOf(all, first, slot, first).at(-1));
    await leader.begin(shares);
    expect(reached()).toEqual(SAMPLE.map(() => first));
    await other.begin(shares);
    await late.begin(shares);
    expect(reached()).toEqual(SAMPLE.map(() => first));
    await leader.carry(shares);
    expect(new Set(SAMPLE.map((slot) => leader.steer(slot))).size).toBeGreaterThan(1);
    expect(reached()).toEqual(SAMPLE.map(() => first));
  });

  test('connections go on that began as Direct', async () => {
    const all = cluster();
    for (const node of all.values()) await node.carry(shares);
    const homes = SAMPLE.map((slot) => (all.get(second) as Node).steer(slot));
    for (const name of [third, first, second]) {
      await all.get(name)?.carry(undefined);
      SAMPLE.forEach((slot, i) => expect(wayOf(all, second, slot, homes[i]).at(-1)).toBe(homes[i]));
    }
    expect(SAMPLE.map((slot) => (all.get(second) as Node).steer(slot))).toEqual(SAMPLE.map(() => second));
  });
});

test('a new run remembers who had the slots before', async () => {
  const nodes = names(4);
  const all = new Map(nodes.map((name) => [name, new Node(name, nodes)] as const));
  const some = (count: number) => nodes.slice(0, count).map((node) => ({ node, weight: 1 }));
  const leader = all.get(nodes[0] as NodeName) as Node;
  const homes = SAMPLE.map(() => new Set<NodeName>());
  for (const count of [3, 1, 2, 4]) {
    for (const node of all.values()) await node.carry(some(count));
    SAMPLE.forEach((slot, i) => homes[i]?.add(leader.steer(slot)));
  }
  const dump = () => [...all.values()].map(({ kernel }) => kernel.text('ip signpost-direct'));
  const before = dump();
  for (const node of all.values()) {
    node.restart();
    await node.carry(some(4));
  }
  expect(dump()).toEqual(before);
  SAMPLE.forEach((slot, i) => {
    for (const home of homes[i] ?? []) expect(wayOf(all, leader.name, slot, home).at(-1)).toBe(home);
  });
});

test('a node that comes back empty knows who had its slots', async () => {
  const nodes = names(3);
  const all = new Map(nodes.map((name) => [name, new Node(name, nodes)] as const));
  const shares = (some: readonly NodeName[]) => some.map((node) => ({ node, weight: 1 }));
  const [back, ...others] = nodes as [NodeName, NodeName, NodeName];
  for (const node of all.values()) if (node.name !== back) await node.carry(shares(others));
  const leader = all.get(others[0]) as Node;
  const homes = SAMPLE.map((slot) => leader.steer(slot));
  await all.get(back)?.carry(shares(nodes), false);
  for (const name of others) await all.get(name)?.carry(shares(nodes));
  SAMPLE.forEach((slot, i) => expect(wayOf(all, leader.name, slot, homes[i]).at(-1)).toBe(homes[i]));
});

test('without an entry there is no table', async () => {
  const nodes = names(2);
  const node = new Node(nodes[0] as NodeName, nodes);
  await node.carry(undefined);
  expect(node.kernel.text('netdev signpost')).toBeUndefined();
});

test('a table that changes while a node waits to steer is remembered', async () => {
  const nodes = names(3);
  const all = new Map(nodes.map((name) => [name, new Node(name, nodes)] as const));
  const [home, leader, late] = nodes as [NodeName, NodeName, NodeName];
  const shares = (some: readonly NodeName[]) => some.map((node) => ({ node, weight: 1 }));
  for (const node of all.values()) await node.carry(undefined);
  for (const name of [home, leader]) await all.get(name)?.carry(shares(nodes));
  await all.get(late)?.begin(shares(nodes));
  const slots = Array.from({ length: 100 }, (_, slot) => slot).filter((slot) => all.get(leader)?.steer(slot) === home);
  expect(slots.length).toBeGreaterThan(0);
  await all.get(late)?.begin(shares([leader, late]));
  for (const name of [leader, home, late]) await all.get(name)?.carry(shares([leader, late]));
  for (const slot of slots) expect(wayOf(all, leader, slot, home).at(-1)).toBe(home);
});
