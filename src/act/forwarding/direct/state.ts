import type { DirectSurroundings, ForwardingEntry, ForwardingKey, ForwardingPlan } from '../../../decide/types.ts';
import { PROTOCOL } from '../entry.ts';
import { FAMILIES, type FamilyText, familyTextOf } from '../family.ts';
import type { ListedTable } from '../listing.ts';
import type { Selector } from '../selector.ts';
import type { ChainObject, Element } from '../table.ts';
import { join, type NftText, nft } from '../text.ts';
import { Chains } from './chains.ts';
import { ingressChain, passingSkeleton, passingTable, STEERING, STEERING_SKELETON, steerMap } from './layout.ts';
import { type Beginning, type Lineage, Lineages } from './lineage.ts';
import { Part, type Use } from './part.ts';

/** Tables that the kernel has, as `nft list` tells them. */
export interface ListedTables {
  readonly steering: ListedTable | undefined;
  /** In the order of `FAMILIES`. */
  readonly passing: readonly (ListedTable | undefined)[];
  /** This run has written them. */
  readonly ours: boolean;
}

/** What is known of the past of an entry. */
export interface Past {
  readonly lineage: Lineage;
  /** Its packets went to their nodes; else only segments of connections that are not known here. */
  readonly steered: boolean;
}

export type Pasts = ReadonlyMap<ForwardingKey, Past>;

/** What one entry has in the tables. */
interface Placed extends Past {
  readonly uses: readonly Use[];
}

/**
 * The tables of Direct forwarding as this process has put them into the kernel. A transaction counts as done when it
 * is returned: after one that failed the state is void, and must be adopted anew.
 */
export class DirectState {
  readonly #steering: Part;
  readonly #passing: readonly Part[];
  readonly #lineages: Lineages;
  readonly #placed = new Map<ForwardingKey, Placed>();
  readonly #chains: Chains;
  #ambient: readonly Use[] = [];
  /** Entries that are not steered yet: since the last `settle`, and since before it. */
  #waiting = new Set<ForwardingKey>();
  #ready = new Set<ForwardingKey>();

  private constructor({ steering, passing, ours }: ListedTables, surroundings: DirectSurroundings) {
    this.#steering = new Part(STEERING, STEERING_SKELETON, steering, ours);
    this.#passing = FAMILIES.map((f, i) => new Part(passingTable(f), passingSkeleton(f), passing[i], ours));
    this.#chains = new Chains(surroundings);
    this.#lineages = new Lineages(surroundings.self);
  }

  /** Starts from the tables that the kernel has; `beginning` is of entries without a past. */
  static adopt(
    listed: ListedTables,
    plan: ForwardingPlan,
    surroundings: DirectSurroundings,
    pasts: Pasts,
    beginning: Beginning,
  ): [DirectState, NftText] {
    const state = new DirectState(listed, surroundings);
    for (const [key, entry] of plan.entries) {
      const past = pasts.get(key);
      state.#place(key, entry, past && { ...past, lineage: state.#lineages.intern(past.lineage) }, beginning);
    }
    state.#setAmbient();
    const uses = [...state.#ambient, ...[...state.#placed.values()].flatMap((placed) => placed.uses)];
    for (const part of state.#parts) part.replaceFound(uses.filter((use) => use.part === part));
    return [state, state.#finish()];
  }

  /** From the plan that it holds, in proportion to what differs. */
  advance(from: ForwardingPlan, to: ForwardingPlan, surroundings: DirectSurroundings): NftText {
    const around = this.#chains.surroundings;
    this.#chains.surroundings = surroundings;
    if (surroundings.nodes !== around.nodes || surroundings.gone !== around.gone) this.#reviseNodes(around);
    const dirty = new Map<ForwardingKey, ForwardingEntry | undefined>();
    for (const { key, after } of to.entries.changes(from.entries)) dirty.set(key, after);
    for (const [key, entry] of dirty) {
      const before = this.#placed.get(key);
      this.#place(key, entry, before, from.entries.has(key) ? 'endpoints' : 'nothing');
      replaceUses(before?.uses ?? [], this.#placed.get(key)?.uses ?? []);
    }
    if (surroundings !== around) {
      const before = this.#ambient;
      this.#setAmbient();
      replaceUses(before, this.#ambient);
    }
    return this.#finish();
  }

  /**
   * Steers the entries that have waited from one call to the next. Connections may be open that live at the leader:
   * each node must know how to send their segments back before the leader sends them away.
   */
  settle({ entries }: ForwardingPlan): NftText {
    for (const key of this.#ready) {
      const before = this.#placed.get(key);
      if (before === undefined) continue;
      this.#place(key, entries.get(key), before, 'nothing', true);
      replaceUses(before.uses, this.#placed.get(key)?.uses ?? []);
    }
    this.#ready = this.#waiting;
    this.#waiting = new Set();
    return this.#finish();
  }

  get settled(): boolean {
    return this.#waiting.size + this.#ready.size === 0;
  }

  /** Nothing is steered and no connection is owed anything: the tables can go. */
  get idle(): boolean {
    return this.#placed.size === 0;
  }

  get pasts(): Pasts {
    return this.#placed;
  }

  get #parts(): readonly Part[] {
    return [this.#steering, ...this.#passing];
  }

  /** Chains of nodes that are not where they were. */
  #reviseNodes(before: DirectSurroundings): void {
    const { nodes, gone } = this.#chains.surroundings;
    for (const node of new Set([...before.nodes.keys(), ...nodes.keys()])) {
      if (before.nodes.get(node) === nodes.get(node) && before.gone.has(node) === gone.has(node)) continue;
      this.#steering.revise(this.#chains.steerTo(node));
      for (const [i, family] of FAMILIES.entries()) this.#passing[i]?.revise(this.#chains.passTo(node, family));
    }
  }

  #finish(): NftText {
    return join(
      this.#parts.map((part) => part.finish()).filter((line) => line !== ''),
      '; ',
    );
  }

  /** An entry that is no longer forwarded directly goes on to pass on segments of connections that began as such. */
  #place(
    key: ForwardingKey,
    entry: ForwardingEntry | undefined,
    past: Past | undefined,
    beginning: Beginning,
    now = false,
  ): void {
    const lineage = entry && this.#lineageOf(key, entry, past, beginning);
    if (entry === undefined || lineage === undefined) {
      this.#placed.delete(key);
      return;
    }
    const free = now || (past?.steered ?? beginning !== 'endpoints');
    const steered = entry.direct !== undefined && free;
    if (entry.direct !== undefined && !free) this.#waiting.add(key);
    else this.#waiting.delete(key);
    if (entry.direct === undefined) this.#ready.delete(key);
    const family = familyTextOf(entry.vip);
    const { steer, pass } = this.#chains.of(lineage, family, entry.affinity.type !== 'None', steered);
    const packet = nft`${entry.vip} . ${PROTOCOL[entry.protocol]} . ${entry.port}`;
    const passing = this.#passing[FAMILIES.indexOf(family)] as Part;
    const uses = [
      { part: this.#steering, ...gotoBy(steerMap(family), packet, steer) },
      { part: passing, ...gotoBy(nft`service`, packet, pass), shared: [{ set: nft`vips`, key: nft`${entry.vip}` }] },
    ];
    this.#placed.set(key, { lineage, steered, uses });
  }

  #lineageOf(
    key: ForwardingKey,
    { direct }: ForwardingEntry,
    past: Past | undefined,
    beginning: Beginning,
  ): Lineage | undefined {
    if (direct === undefined) return past?.lineage;
    if (past === undefined) return this.#lineages.begin(direct.shares, beginning);
    // What waits has begun a lineage already.
    const begun = past.steered || this.#waiting.has(key) || this.#ready.has(key);
    return begun
      ? this.#lineages.advance(past.lineage, direct.shares)
      : this.#lineages.resume(past.lineage, direct.shares);
  }

  /** What does not depend on entries. */
  #setAmbient(): void {
    const { interfaces } = this.#chains.surroundings;
    const names = interfaces.map(({ name }) => nft`"${name}"`);
    const members = interfaces.flatMap(({ name, members: behind }) =>
      behind.map(({ mac }) => ({ set: nft`members`, key: nft`"${name}" . ${mac}` })),
    );
    const ingress = interfaces.map(({ name }) => ingressChain(name));
    this.#ambient = [
      { part: this.#steering, selectors: ingress.map(alone), elements: members },
      ...FAMILIES.map((family, i): Use => {
        const everywhere = this.#chains.everywhere(family);
        const senders = this.#senders(family);
        return {
          part: this.#passing[i] as Part,
          selectors: [...(everywhere ? [everywhere] : []), ...senders.chains.map(alone)],
          elements: [
            ...members,
            ...names.map((key) => ({ set: nft`interfaces`, key })),
            ...(everywhere ? names.map((key) => ({ set: nft`errors`, key, data: nft`goto ${everywhere.chain}` })) : []),
            ...senders.elements,
          ],
        };
      }),
    ];
  }

  #senders(family: FamilyText) {
    const byMac = new Map<string, { readonly chain: ChainObject; readonly element: Element }>();
    for (const { members } of this.#chains.surroundings.interfaces) {
      for (const { node, mac } of members) {
        const chain = this.#chains.passTo(node, family);
        const element = { set: nft`senders`, key: nft`${mac}`, data: nft`goto ${chain.name}` };
        byMac.set(mac, { chain, element });
      }
    }
    const found = [...byMac.values()];
    return { chains: found.map(({ chain }) => chain), elements: found.map(({ element }) => element) };
  }
}

function replaceUses(before: readonly Use[], after: readonly Use[]): void {
  for (const part of new Set([...before, ...after].map((use) => use.part))) {
    part.replace(
      before.filter((use) => use.part === part),
      after.filter((use) => use.part === part),
    );
  }
}

function gotoBy(set: NftText, key: NftText, selector: Selector | undefined): Omit<Use, 'part'> {
  if (selector === undefined) return { selectors: [], elements: [] };
  return { selectors: [selector], elements: [{ set, key, data: nft`goto ${selector.chain}` }] };
}

function alone(chain: ChainObject): Selector {
  return { chain: chain.name, objects: () => [chain] };
}
