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
import { DirectTables } from './tables.ts';

const VIP = '192.0.2.1' as Vip;
const KEY = `${VIP} . tcp . 80`;
const ETH0 = 'eth0' as InterfaceName;

const names = (count: number) => Array.from({ length: count }, (_, i) => `n${i + 1}.example` as NodeName);
const addressOf = (node: NodeName) => `10.0.0.${/\d+/.exec(node)?.[0]}` as Ip;
const macOf = (node: NodeName) => `02:00:00:00:00:${(/\d+/.exec(node)?.[0] ?? '').padStart(2, '0')}` as Mac;

function surroundings(self: NodeName, nodes: readonly NodeName[]): DirectSurroundings {
  return {
    self,
    interfaces: [
      { name: ETH0, members: nodes.filter((node) => node !== self).map((node) => ({ node, mac: macOf(node) })) },
    ],
    nodes: new Map(nodes.map((node) => [node, { IPv4: { to: addressOf(node), device: ETH0 } }])),
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
  readonly #around: DirectSurroundings;
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

  /** The node that a client's frame is sent to; this one where it is kept. */
  steer(slot: number): NodeName {
    const [rule] = this.#chain('netdev signpost', this.kernel.lookup('netdev signpost', 'steer4', KEY));
    const chain = verdictOf(rule, slot);
    const [forward = ''] = this.#chain('netdev signpost', chain);
    return chain === undefined ? this.name : nodeAt(/^fwd ip to (\S+)/.exec(forward)?.[1]);
  }

  /** How a segment is passed on, and to whom; undefined where it stays. */
  pass(slot: number, known: boolean, frame: Frame): { readonly to: NodeName; readonly frame: Frame } | undefined {
    if (frame.passedOn || (frame.from !== undefined && known)) return undefined;
    const table = 'ip signpost-direct';
    for (const rule of this.#chain(table, this.kernel.lookup(table, 'service', KEY))) {
      if (known && rule.includes('ct state new,invalid')) continue;
      const verdict = verdictOf(rule, slot);
      const chain =
        verdict === 'goto sender' ? frame.from && this.kernel.lookup(table, 'senders', macOf(frame.from)) : verdict;
      if (chain === undefined) continue;
      const [marking = '', duplicate = ''] = this.#chain(table, chain);
      const passedOn = !marking.startsWith('iifname . ether saddr @members') || frame.from !== undefined;
      return { to: nodeAt(/^dup to (\S+)/.exec(duplicate)?.[1]), frame: { from: this.name, passedOn } };
    }
    return undefined;
  }

  #chain(table: string, verdict: string | undefined): readonly string[] {
    return verdict === undefined ? [] : this.kernel.rules(table, verdict.replace('goto ', ''));
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
  readonly passedOn: boolean;
}

function attempt(work: () => void): Result<string> {
  try {
    work();
    return { ok: '' };
  } catch (error) {
    return problem('', undefined, String(error), '');
  }
}

function verdictOf(rule: string | undefined, slot: number): string | undefined {
  return new RegExp(`[{ ]${slot} : (goto [\\w.-]+)`).exec(rule ?? '')?.[1];
}

function nodeAt(address: string | undefined): NodeName {
  return `n${address?.split('.')[3]}.example` as NodeName;
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
  let frame: Frame = { from: undefined, passedOn: false };
  if (steered !== leader) {
    way.push(steered);
    frame = { from: leader, passedOn: false };
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

describe('tables of two generations', () => {
  const world = fc.integer({ min: 3, max: 20 }).chain((count) =>
    fc.record({
      nodes: fc.constant(names(count)),
      generations: fc.tuple(...([0, 1, 2] as const).map(() => anyShares(names(count)))),
      /** Which nodes have the newest of them. */
      ahead: fc.array(fc.boolean(), { minLength: count, maxLength: count }),
      leader: fc.nat(count - 1).map((i) => names(count)[i] as NodeName),
    }),
  );

  test('no segment goes in a loop, and one of an older connection comes to its node', async () => {
    await fc.assert(
      fc.asyncProperty(world, async ({ nodes, generations, ahead, leader }) => {
        const [before, old, now] = generations as [NodeShare[], NodeShare[], NodeShare[]];
        const all = new Map(nodes.map((name) => [name, new Node(name, nodes)] as const));
        for (const node of all.values()) for (const shares of [before, old]) await node.carry(shares);
        const homes = new Map(SAMPLE.map((slot) => [slot, (all.get(leader) as Node).steer(slot)] as const));
        for (const [i, node] of [...all.values()].entries()) if (ahead[i]) await node.carry(now);
        for (const [slot, home] of homes) {
          for (const entrance of nodes) {
            expect(wayOf(all, entrance, slot, home).at(-1)).toBe(home);
            expect(wayOf(all, entrance, slot, undefined).length).toBeLessThanOrEqual(3);
          }
        }
      }),
      { numRuns: 10 },
    );
  }, 60_000);
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
  for (const node of all.values()) await node.carry(some(3));
  const leader = all.get(nodes[0] as NodeName) as Node;
  const homes = SAMPLE.map((slot) => leader.steer(slot));
  for (const node of all.values()) await node.carry(some(4));
  const dump = () => [...all.values()].map(({ kernel }) => kernel.text('ip signpost-direct'));
  const before = dump();
  for (const node of all.values()) {
    node.restart();
    await node.carry(some(4));
  }
  expect(dump()).toEqual(before);
  SAMPLE.forEach((slot, i) => expect(wayOf(all, leader.name, slot, homes[i]).at(-1)).toBe(homes[i]));
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
