import type { NodeName } from '../../../../net/names.ts';
import { hash32 } from '../../../../net/rendezvous.ts';
import type { Bounce, DirectSurroundings } from '../../../decide/types.ts';
import { FAMILIES, type FamilyText, familyName } from '../family.ts';
import type { Selector } from '../selector.ts';
import type { ChainObject } from '../table.ts';
import { join, type NftText, nft } from '../text.ts';
import { passOn, SENDER_CHAIN, slotExpression, steerOn, UNKNOWN_SEGMENT } from './layout.ts';
import { type Lineage, SENDER } from './lineage.ts';

/** What an entry's packets go through. */
export interface EntryChains {
  /** In the steering table; absent where this node has every slot, or steers nothing. */
  readonly steer: Selector | undefined;
  /** In the passing table of the family. */
  readonly pass: Selector | undefined;
}

/**
 * The chains of lineages, for one set of nodes around. Their names say what is in them, so that a run finds those of
 * the last as they were, and entries with the same lineage share them.
 */
export class Chains {
  readonly #surroundings: DirectSurroundings;
  readonly #made = new WeakMap<Lineage, Map<string, EntryChains>>();

  constructor(surroundings: DirectSurroundings) {
    this.#surroundings = surroundings;
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
    const others = [...this.#surroundings.nodes.keys()].filter((node) => node !== this.#surroundings.self).sort();
    const places = others.map((node) => this.#place(node, family)).filter((place) => place !== undefined);
    if (places.length === 0) return undefined;
    return contentNamed(nft`everywhere`, [...places.map((place) => nft`dup to ${destination(place)}`), nft`drop`], []);
  }

  /** The chain that passes a packet on to a node. */
  passTo(node: NodeName, family: FamilyText): ChainObject | undefined {
    const place = this.#place(node, family);
    return place && nodeChain(node, passOn(family, destination(place)));
  }

  /** For what could not be steered at the ingress: fragments. */
  #steerAgain(node: NodeName, family: FamilyText): ChainObject | undefined {
    const place = this.#place(node, family);
    return place && nodeChain(node, steerOn(family, destination(place)));
  }

  #steer({ owners }: Lineage, family: FamilyText, byClient: boolean): Selector | undefined {
    const used = new Map<string, ChainObject>();
    const verdicts = this.#verdicts(owners, used, (node) => this.#steerTo(node));
    if (verdicts === undefined) return undefined;
    const prefix = nft`${byClient ? nft`client` : nft`flow`}${family.digit}`;
    return contentNamed(prefix, [nft`${slotExpression(family, byClient)} vmap ${verdicts}`], [...used.values()]);
  }

  /** What is not this node's goes to its node; what is and is not known here, to who had the slot before. */
  #pass({ owners, earlier }: Lineage, family: FamilyText, byClient: boolean, steered: boolean): Selector | undefined {
    const { self } = this.#surroundings;
    const used = new Map<string, ChainObject>();
    const passTo = (node: NodeName) => this.passTo(node, family);
    const slot = slotExpression(family, byClient);
    const foreign = this.#verdicts(owners, used, steered ? (node) => this.#steerAgain(node, family) : passTo);
    const inherited = earlier.map((before, i) => {
      if (owners[i] !== self) return undefined;
      return steered ? before : (before ?? SENDER);
    });
    const rules: NftText[] = [];
    if (foreign !== undefined) {
      rules.push(steered ? nft`${slot} vmap ${foreign}` : nft`${UNKNOWN_SEGMENT} ${slot} vmap ${foreign}`);
    }
    const second = this.#verdicts(inherited, used, passTo);
    if (second !== undefined) rules.push(nft`${UNKNOWN_SEGMENT} ${slot} vmap ${second}`);
    if (rules.length === 0) return undefined;
    return contentNamed(steered ? nft`pass` : nft`late`, rules, [...used.values()]);
  }

  /** `{ 0 : goto to-n2-1234, ... }` without the slots of this node and of those that cannot be reached. */
  #verdicts(
    nodes: Lineage['earlier'],
    used: Map<string, ChainObject>,
    chainOf: (node: NodeName) => ChainObject | undefined,
  ): NftText | undefined {
    const chains = new Map<string, NftText | undefined>([[SENDER, SENDER_CHAIN]]);
    const elements = nodes.flatMap((node, slot) => {
      if (node === undefined || node === this.#surroundings.self) return [];
      if (node !== SENDER && !chains.has(node)) {
        const chain = chainOf(node);
        chains.set(node, chain?.name);
        if (chain !== undefined) used.set(chain.name, chain);
      }
      const name = chains.get(node);
      return name === undefined ? [] : [nft`${slot} : goto ${name}`];
    });
    return elements.length === 0 ? undefined : nft`{ ${join(elements, ', ')} }`;
  }

  /** Frame unchanged but for its hardware addresses and its hop limit. */
  #steerTo(node: NodeName): ChainObject | undefined {
    const rules = FAMILIES.flatMap((family) => {
      const place = this.#place(node, family);
      return place ? [nft`fwd ${family.ip} to ${destination(place)}`] : [];
    });
    return rules.length === 0 ? undefined : nodeChain(node, rules);
  }

  #place(node: NodeName, family: FamilyText): Bounce | undefined {
    return this.#surroundings.nodes.get(node)?.[familyName(family)];
  }
}

function destination({ to, device }: Bounce): NftText {
  return nft`${to} device "${device}"`;
}

function nodeChain(node: NodeName, rules: readonly NftText[]): ChainObject {
  // The kernel bounds the length of names.
  const name = node.length > 200 ? hash32(node) : node;
  return { kind: 'chain', name: nft`to-${name}-${hash32(rules.join(';'))}`, rules };
}

/** The node that a `to-` chain leads to. */
export function nodeOfChain(chain: string): NodeName | undefined {
  return /^to-(.+)-\d+$/.exec(chain)?.[1] as NodeName | undefined;
}

function contentNamed(prefix: NftText, rules: readonly NftText[], used: readonly ChainObject[]): Selector {
  const text = rules.join(';');
  const chain = nft`${prefix}-${hash32(text, 1)}-${hash32(text, 2)}`;
  return { chain, objects: () => [...used, { kind: 'chain', name: chain, rules }] };
}
