import type { NodeName } from '../../../../net/names.ts';
import { hash32 } from '../../../../net/rendezvous.ts';
import type { Bounce, DirectSurroundings } from '../../../decide/types.ts';
import { FAMILIES, type FamilyText, familyName } from '../family.ts';
import type { Selector } from '../selector.ts';
import type { ChainObject } from '../table.ts';
import { join, type NftText, nft } from '../text.ts';
import { foreignRules, ownRules, sendTo, slotExpression, type Way } from './layout.ts';
import type { Lineage, Tenure } from './lineage.ts';

/** What an entry's packets go through. */
export interface EntryChains {
  /** In the steering table; absent where this node has every slot, or steers nothing. */
  readonly steer: Selector | undefined;
  /** In the passing table of the family; absent where no other node has or had a slot. */
  readonly pass: Selector | undefined;
}

/**
 * The chains of lineages. Their names say what is in them, so that a run finds those of the last as they were, and
 * entries with the same lineage share them. Only the chains of nodes, which end them, know where those are: they are
 * replaced when that changes, and nothing else is.
 */
export class Chains {
  readonly #made = new WeakMap<Lineage, Map<string, EntryChains>>();
  surroundings: DirectSurroundings;

  constructor(surroundings: DirectSurroundings) {
    this.surroundings = surroundings;
  }

  /**
   * @param steered this node sends packets to the slots' nodes; else it only passes on segments of connections that
   * it does not know: they began when it did, or a member steers already
   */
  of(lineage: Lineage, family: FamilyText, byClient: boolean, steered: boolean): EntryChains {
    const made = this.#made.get(lineage) ?? new Map<string, EntryChains>();
    this.#made.set(lineage, made);
    const kind = `${family.digit} ${byClient} ${steered}`;
    const known = made.get(kind);
    if (known !== undefined) return known;
    const chains = {
      steer: steered ? this.#steer(lineage, family, byClient) : undefined,
      pass: this.#pass(lineage, family, byClient, steered),
    };
    made.set(kind, chains);
    return chains;
  }

  /** To every node there is. */
  everywhere(family: FamilyText): Selector | undefined {
    const { nodes, self } = this.surroundings;
    const others = [...nodes.keys()].filter((node) => node !== self).sort();
    const places = others.map((node) => this.#place(node, family)).filter((place) => place !== undefined);
    if (places.length === 0) return undefined;
    const rules = [...places.map((place) => nft`dup to ${destination(place)}`), nft`drop`];
    const chain = contentNamed(nft`everywhere`, rules);
    return { chain: chain.name, objects: () => [chain] };
  }

  /** In a passing table: sends the packet to a node. What would go to one that is gone, or to this one, comes back. */
  passTo(node: NodeName, family: FamilyText): ChainObject {
    const { self, gone } = this.surroundings;
    const place = node === self || gone.has(node) ? undefined : this.#place(node, family);
    return nodeChain(node, place ? sendTo(destination(place)) : []);
  }

  /** In the steering table: the frame unchanged but for its hardware addresses and its hop limit. */
  steerTo(node: NodeName): ChainObject {
    const rules = FAMILIES.flatMap((family) => {
      const place = this.#place(node, family);
      return place && node !== this.surroundings.self ? [nft`fwd ${family.ip} to ${destination(place)}`] : [];
    });
    return nodeChain(node, rules);
  }

  #steer(lineage: Lineage, family: FamilyText, byClient: boolean): Selector | undefined {
    const { self } = this.surroundings;
    const owners = new Set(lineage.map(({ owner }) => owner));
    if (owners.size === 1 && owners.has(self)) return undefined;
    const rules = dispatch(
      slotExpression(family, byClient),
      lineage.map(({ owner }) => (owner === self ? undefined : chainOf(owner))),
    );
    const chain = contentNamed(nft`${byClient ? nft`client` : nft`flow`}${family.digit}`, rules);
    owners.delete(self);
    return { chain: chain.name, objects: () => [...Array.from(owners, (node) => this.steerTo(node)), chain] };
  }

  #pass(lineage: Lineage, family: FamilyText, byClient: boolean, steered: boolean): Selector | undefined {
    const made = new Map<Tenure, TenureChains | undefined>();
    for (const tenure of lineage) if (!made.has(tenure)) made.set(tenure, this.#tenure(tenure, family, steered));
    const used = [...made.values()].filter((chains) => chains !== undefined);
    if (used.length === 0) return undefined;
    const rules = dispatch(
      slotExpression(family, byClient),
      lineage.map((tenure) => made.get(tenure)?.chain.name),
    );
    const chain = contentNamed(steered ? nft`pass` : nft`late`, rules);
    const nodes = new Set(used.flatMap((chains) => chains.nodes));
    const objects = () => {
      const before = [...Array.from(nodes, (node) => this.passTo(node, family)), ...used.flatMap(({ rows }) => rows)];
      const distinct = new Map([...before, ...used.map((chains) => chains.chain)].map((each) => [each.name, each]));
      return [...distinct.values(), chain];
    };
    return { chain: chain.name, objects };
  }

  /** Undefined where nobody else has or had the slot. */
  #tenure({ owner, earlier, bySender }: Tenure, family: FamilyText, steered: boolean): TenureChains | undefined {
    const { self } = this.surroundings;
    // Who waits to steer has translated to any endpoint, and so has who sends to it.
    const sent = bySender || !steered;
    if (owner === self && earlier.length === 0 && !sent) return undefined;
    const nodes = [...new Set([owner, ...earlier])].sort();
    const first = rowOf(askingOrder(owner === self ? earlier : [owner, ...earlier]));
    const next = rowOf(after(self, nodes));
    const way: Way = { first: first.name, next: next.name, passes: nodes.length };
    const rules = owner === self ? ownRules(family, way, sent) : foreignRules(family, way, steered, chainOf(owner));
    return { chain: contentNamed(owner === self ? OWN : FOREIGN, rules), rows: [first, next], nodes };
  }

  #place(node: NodeName, family: FamilyText): Bounce | undefined {
    return this.surroundings.nodes.get(node)?.[familyName(family)];
  }
}

interface TenureChains {
  readonly chain: ChainObject;
  readonly rows: readonly ChainObject[];
  readonly nodes: readonly NodeName[];
}

const OWN = nft`own`;
const FOREIGN = nft`foreign`;

/** The likeliest first, the others in an order that does not depend on how often a slot has moved. */
function askingOrder([first, ...rest]: readonly NodeName[]): NodeName[] {
  return first === undefined ? [] : [first, ...rest.sort()];
}

/**
 * In a circle by name, from this node on: whatever the order in which nodes saw tables change, a segment that goes
 * round comes to each node that they all remember.
 */
function after(self: NodeName, sorted: readonly NodeName[]): NodeName[] {
  return [...sorted.filter((node) => node > self), ...sorted.filter((node) => node < self)];
}

/** Asks nodes one after the other; the first that can be reached ends the packet's way here. */
function rowOf(nodes: readonly NodeName[]): ChainObject {
  return contentNamed(
    nft`row`,
    nodes.map((node) => nft`jump ${chainOf(node)}`),
  );
}

/** Sends each slot to its chain, if it has one; the chain that most of them have is not listed slot by slot. */
function dispatch(slot: NftText, chains: readonly (NftText | undefined)[]): NftText[] {
  const counts = new Map<NftText | undefined, number>();
  for (const chain of chains) counts.set(chain, (counts.get(chain) ?? 0) + 1);
  const [[most] = [undefined]] = [...counts].sort(([, a], [, b]) => b - a);
  const listed = chains.flatMap((chain, i) =>
    chain === most ? [] : [chain === undefined ? nft`${i} : return` : nft`${i} : goto ${chain}`],
  );
  return [
    ...(listed.length === 0 ? [] : [nft`${slot} vmap { ${join(listed, ', ')} }`]),
    ...(most === undefined ? [] : [nft`goto ${most}`]),
  ];
}

function destination({ to, device }: Bounce): NftText {
  return nft`${to} device "${device}"`;
}

/** The chain that leads to a node. The kernel bounds the length of names. */
function chainOf(node: NodeName): NftText {
  return nft`to-${node.length > 200 ? hash32(node) : node}`;
}

function nodeChain(node: NodeName, rules: readonly NftText[]): ChainObject {
  return { kind: 'chain', name: chainOf(node), rules };
}

/** The node that a chain leads to. */
export function nodeOfChain(chain: string): NodeName {
  return chain.replace(/^to-/, '') as NodeName;
}

function contentNamed(prefix: NftText, rules: readonly NftText[]): ChainObject {
  const text = rules.join(';');
  return { kind: 'chain', name: nft`${prefix}-${hash32(text, 1)}-${hash32(text, 2)}`, rules };
}

/** The name says what the rules are. */
export function namedByContent(chain: string): boolean {
  return /^(?:client|everywhere|flow|foreign|late|own|pass|row)\d*-\d+-\d+$/.test(chain);
}
