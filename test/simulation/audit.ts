import { ms } from '../../net/clock.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import type { Message } from '../../src/membership/messages.ts';
import { majority } from '../../src/membership/state.ts';
import type { Effect } from '../../src/membership/types.ts';
import type { Cluster } from './cluster.ts';

/** Properties that hold at every instant, whatever goes wrong; each is checked where it could break. */
export class Audit {
  readonly #cluster: Cluster;
  /** True sending times of heartbeats, by sender and life, and number. */
  readonly #beats = new Map<string, Map<number, number>>();
  /** True sending time of the newest heartbeat that a voter acknowledged, by life and voter. */
  readonly #acked = new Map<string, Map<NodeName, number>>();
  readonly #voted = new Set<string>();
  /** What a voter said that it lists: voter, VIP and life. */
  readonly #listed = new Set<string>();
  /** Who answered an epoch with a majority, by VIP. */
  readonly #chain = new Map<Vip, Map<number, { readonly life: string; readonly witnesses: readonly number[] }>>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    cluster.onMessage = (from, to, message) => this.#onMessage(from, to, message);
    cluster.onEffect = (node, effect) => this.#onEffect(node, effect);
    cluster.onStep = (node) => this.#checkLease(node);
  }

  #onMessage(from: NodeName, to: NodeName, message: Message): void {
    switch (message.type) {
      case 'heartbeat': {
        const life = `${from}/${message.incarnation}`;
        const beats = this.#beats.get(life) ?? new Map<number, number>();
        this.#beats.set(life, beats);
        beats.set(message.number, this.#cluster.now);
        beats.delete(message.number - 64);
        break;
      }
      case 'acknowledge':
        this.#onAcknowledge(from, to, message.incarnation, message.number);
        break;
      case 'holdingsKnown':
        for (const vip of message.vips) this.#listed.add(`${from} ${vip} ${message.incarnation}`);
        break;
      case 'suspicion':
        if (message.verdict === 'void') this.#voted.add(this.#vote(from, message.life.node, message.life.incarnation));
        break;
      default:
        break;
    }
  }

  /** What a session said of a life. */
  #vote(voter: NodeName, node: NodeName, incarnation: number): string {
    return `${voter}/${this.#cluster.node(voter).state?.config.session ?? 0} ${node}/${incarnation}`;
  }

  #onAcknowledge(voter: NodeName, node: NodeName, incarnation: number, number: number): void {
    if (this.#voted.has(this.#vote(voter, node, incarnation))) {
      this.#cluster.violate(`${voter} acknowledges a life of ${node} that it voted void`);
    }
    const life = `${node}/${incarnation}`;
    const sent = this.#beats.get(life)?.get(number);
    if (sent === undefined) return;
    const acked = this.#acked.get(life) ?? new Map<NodeName, number>();
    this.#acked.set(life, acked);
    acked.set(voter, Math.max(acked.get(voter) ?? 0, sent));
  }

  #onEffect(name: NodeName, effect: Effect): void {
    if (effect.type !== 'answer' || !effect.fenced) return;
    const { state } = this.#cluster.node(name);
    if (state === undefined) return;
    const epochs = this.#chain.get(effect.vip) ?? new Map<number, { life: string; witnesses: readonly number[] }>();
    this.#chain.set(effect.vip, epochs);
    const life = `${name}/${state.incarnation}`;
    const running = this.#sessions();
    if (this.#cluster.now - this.#cluster.membersChangedAt < ms(1000)) return;
    for (const [epoch, link] of epochs) {
      // Where a majority has lost its memory a chain may begin anew.
      const remembered = link.witnesses.filter((session) => running.includes(session)).length;
      if (epoch < effect.epoch || link.life === life || remembered < majority(link.witnesses.length)) continue;
      this.#cluster.violate(`${life} answers epoch ${effect.epoch} of ${effect.vip}, ${link.life} answered ${epoch}`);
    }
    epochs.set(effect.epoch, { life, witnesses: running });
    if (effect.cause !== 'refenced') this.#checkListed(name, effect.vip);
  }

  /** Who begins to answer was listed as the holder by a majority of its voters. */
  #checkListed(name: NodeName, vip: Vip): void {
    const { state } = this.#cluster.node(name);
    if (state === undefined) return;
    const { voters } = state.lease.list;
    const lists = (node: NodeName) => node === name || this.#listed.has(`${node} ${vip} ${state.incarnation}`);
    const listed = voters.filter(({ node }) => lists(node)).length;
    if (listed < majority(voters.length)) this.#cluster.violate(`${name} answers ${vip} before its voters list it`);
  }

  /** Sessions of members: what a removed one remembers does not count. */
  #sessions(): number[] {
    const members = [...this.#cluster.nodes.values()].filter(({ name }) => !this.#cluster.removed.has(name));
    return members.flatMap(({ state }) => (state === undefined ? [] : [state.config.session]));
  }

  /** An answer with a majority implies acknowledgements of heartbeats sent within the lease, in true time. */
  #checkLease(name: NodeName): void {
    const cluster = this.#cluster;
    const node = cluster.node(name);
    const { state } = node;
    if (state === undefined || node.answering.size === 0) return;
    for (const vip of node.answering) {
      if (!cluster.mayAnswer(name, vip) || state.unfenced.own.get(vip)?.phase === 'answering') continue;
      const { voters } = state.lease.list;
      const acked = this.#acked.get(`${name}/${state.incarnation}`);
      const since = cluster.now - state.config.timings.lease / node.rate - 1000;
      const fresh = voters.filter(({ node: voter }) => voter === name || (acked?.get(voter) ?? 0) >= since).length;
      if (fresh < majority(voters.length)) cluster.violate(`${name} answers ${vip} without a majority`);
      return;
    }
  }
}
