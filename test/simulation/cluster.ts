import { type MonotonicNs, ms } from '../../net/clock.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import { makeKey } from '../../src/membership/datagram.ts';
import { create, type MembershipState, mayAnswer, peers, step } from '../../src/membership/machine.ts';
import type { Message } from '../../src/membership/messages.ts';
import { ALL_RULES, type Rules } from '../../src/membership/rules.ts';
import { Sessions } from '../../src/membership/session.ts';
import { PROFILES, type Timings } from '../../src/membership/timings.ts';
import type {
  Effect,
  Eligibility,
  FirstClaim,
  Member,
  MembershipEvent,
  SessionId,
  VipEntry,
} from '../../src/membership/types.ts';
import { EventQueue } from './queue.ts';
import { Random } from './random.ts';

export interface ClusterOptions {
  readonly seed: number;
  readonly nodes: number;
  readonly vips: number;
  readonly fencing: 'Prefer' | 'Require';
  readonly firstClaim: 'written' | 'peers';
  readonly rules?: Partial<Rules>;
  readonly timings?: Timings;
  /** How many of the nodes only vote. */
  readonly witnesses?: number;
  /** Clock rates differ by up to this share, e.g. 0.01. */
  readonly drift?: number;
  /** Messages cross the LAN as authenticated datagrams; this share arrives changed, cut or again. */
  readonly forgery?: number;
  /** Keeps the timeline. */
  readonly trace?: boolean;
}

const KEY = makeKey(new TextEncoder().encode('a key of the simulation'));

export const GATEWAY = 'gateway';

interface SimNode {
  readonly name: NodeName;
  readonly witness: boolean;
  readonly rate: number;
  readonly offset: number;
  state: MembershipState | undefined;
  sessions: Sessions | undefined;
  life: number;
  timer: number;
  pausedUntil: number;
  /** What arrived while the process stood still. */
  readonly waiting: (() => void)[];
  /** Sends leave this much later than they were decided. */
  sendStall: number;
  carrier: boolean;
  seesMembersAt: number;
  seesVipsAt: number;
  left: boolean;
  readonly eligibility: Map<Vip, Eligibility>;
  readonly hidden: Set<Vip>;
  readonly answering: Set<Vip>;
}

export interface Violation {
  readonly at: number;
  readonly what: string;
}

/** N copies of the machine in virtual time over a simulated LAN. Times are nanoseconds of true time. */
export class Cluster {
  readonly options: ClusterOptions;
  readonly rules: Rules;
  readonly random: Random;
  readonly queue = new EventQueue();
  readonly nodes = new Map<NodeName, SimNode>();
  readonly vips: Vip[] = [];
  readonly entries = new Map<Vip, VipEntry>();
  readonly violations: Violation[] = [];
  readonly timeline: string[] = [];
  readonly cuts = new Set<string>();
  readonly removed = new Set<string>();
  private readonly recorded: Uint8Array[] = [];
  readonly answerers = new Map<Vip, Set<NodeName>>();
  members: Member[];
  now = 0;
  membersChangedAt = Number.NEGATIVE_INFINITY;
  loss = 0;
  duplication = 0;
  /** Extra delay up to this, for one packet in ten: reorders. */
  jitter = 0;
  packets = 0;
  /** Two answerers are a violation only while this holds. */
  exclusive = true;
  /** Packets that are lost beside those lost by chance. */
  drops: ((from: NodeName, to: NodeName, message: Message) => boolean) | undefined;
  onStep: ((node: NodeName) => void) | undefined;
  onMessage: ((from: NodeName, to: NodeName, message: Message) => void) | undefined;
  onEffect: ((node: NodeName, effect: Effect) => void) | undefined;

  constructor(options: ClusterOptions) {
    this.options = options;
    this.rules = { ...ALL_RULES, ...options.rules };
    this.random = new Random(options.seed);
    const drift = options.drift ?? 0;
    for (let i = 1; i <= options.nodes; i++) {
      const name = `n${i}` as NodeName;
      this.nodes.set(name, {
        name,
        witness: i > options.nodes - (options.witnesses ?? 0),
        rate: 1 + this.random.between(-drift, drift),
        offset: Math.floor(this.random.between(0, ms(1_000_000))),
        state: undefined,
        sessions: undefined,
        life: 0,
        timer: Number.POSITIVE_INFINITY,
        pausedUntil: 0,
        waiting: [],
        sendStall: 0,
        carrier: true,
        seesMembersAt: 0,
        seesVipsAt: 0,
        left: false,
        eligibility: new Map(),
        hidden: new Set(),
        answering: new Set(),
      });
    }
    this.members = [...this.nodes.values()].map(({ name, witness }) => ({ name, witness }));
    const leaders = [...this.nodes.values()].filter(({ witness }) => !witness).map(({ name }) => name);
    for (let i = 0; i < options.vips; i++) this.addVip(leaders, i);
  }

  private addVip(leaders: readonly NodeName[], i: number): void {
    const vip = `203.0.113.${i + 1}` as Vip;
    const holder = leaders[i % leaders.length];
    const firstClaim: FirstClaim =
      this.options.firstClaim === 'written' && holder !== undefined
        ? { kind: 'written', holder, epoch: 1 }
        : { kind: 'peers' };
    this.vips.push(vip);
    this.answerers.set(vip, new Set());
    this.entries.set(vip, {
      vip,
      fencing: this.options.fencing,
      firstClaim,
      eligibility: { kind: 'eligible' },
      ready: true,
      preferredNodes: [],
      routeKey: `default/route-${i}`,
    });
  }

  get timings(): Timings {
    return this.options.timings ?? PROFILES.default;
  }

  // --- Time ----------------------------------------------------------------------------------------------------------

  local(node: SimNode): MonotonicNs {
    return Math.floor(node.offset + node.rate * this.now) as MonotonicNs;
  }

  at(time: number, run: () => void): void {
    this.queue.add(Math.max(time, this.now), run);
  }

  run(until: number): void {
    while (this.queue.nextAt <= until) {
      const entry = this.queue.take();
      if (entry === undefined) break;
      this.now = entry.at;
      entry.run();
    }
    this.now = until;
  }

  runFor(nanoseconds: number): void {
    this.run(this.now + nanoseconds);
  }

  // --- Nodes ---------------------------------------------------------------------------------------------------------

  node(name: string): SimNode {
    const node = this.nodes.get(name as NodeName);
    if (node === undefined) throw new Error(`no node ${name}`);
    return node;
  }

  get names(): NodeName[] {
    return [...this.nodes.keys()];
  }

  startAll(): void {
    for (const name of this.names) this.start(name);
  }

  start(name: string): void {
    const node = this.node(name);
    if (node.state !== undefined) return;
    node.life++;
    node.left = false;
    node.pausedUntil = 0;
    node.waiting.length = 0;
    const session = (1 + Math.floor(this.random.next() * 0xffff_fffe)) as SessionId;
    this.log(name, `starts, session ${session.toString(16)}`);
    node.state = create(
      {
        self: node.name,
        session,
        timings: this.options.timings ?? PROFILES.default,
        witness: node.witness,
        rules: this.rules,
      },
      this.local(node),
    );
    if (this.options.forgery !== undefined) {
      const random = () => this.random.next();
      node.sessions = new Sessions({ self: node.name, session, cluster: 'simulated', keys: [KEY], random });
    }
    this.handle(node, { type: 'members', members: this.members });
    this.handle(node, { type: 'vips', upserts: this.entriesFor(node), deletes: [] });
    this.handle(node, { type: 'start' });
  }

  entriesFor(node: SimNode): VipEntry[] {
    return [...this.entries.values()]
      .filter(({ vip }) => !node.hidden.has(vip))
      .map((entry) => ({ ...entry, eligibility: node.eligibility.get(entry.vip) ?? entry.eligibility }));
  }

  /** The process dies; its memory is lost. */
  crash(name: string): void {
    const node = this.node(name);
    if (node.state === undefined) return;
    this.log(name, 'crashes');
    this.stop(node);
  }

  private stop(node: SimNode): void {
    node.state = undefined;
    node.sessions = undefined;
    node.life++;
    node.timer = Number.POSITIVE_INFINITY;
    for (const vip of node.answering) this.answerers.get(vip)?.delete(node.name);
    node.answering.clear();
    node.waiting.length = 0;
  }

  pause(name: string, nanoseconds: number): void {
    const node = this.node(name);
    const { life } = node;
    this.log(name, `pauses for ${Math.round(nanoseconds / 1e6)} ms`);
    node.pausedUntil = Math.max(node.pausedUntil, this.now + nanoseconds);
    this.at(node.pausedUntil, () => this.resume(node, life));
  }

  private resume(node: SimNode, life: number): void {
    if (node.life !== life || this.now < node.pausedUntil) return;
    // As an event loop does: timers first, then what the sockets hold.
    if (node.timer <= this.now) this.fire(node);
    for (const run of node.waiting.splice(0)) run();
  }

  cut(from: string, to: string): void {
    this.cuts.add(`${from}>${to}`);
  }

  /** Cuts a node's sending, receiving or both from everything, the gateway too. */
  isolate(name: string, direction: 'in' | 'out' | 'both'): void {
    this.log(name, `is cut (${direction})`);
    for (const other of [...this.names, GATEWAY]) {
      if (other === name) continue;
      if (direction !== 'in') this.cut(name, other);
      if (direction !== 'out') this.cut(other, name);
    }
  }

  /** Nodes of different groups do not hear each other; the gateway is with `gatewayGroup`, or with all. */
  split(groups: readonly (readonly string[])[], gatewayGroup?: number): void {
    this.log('LAN', `splits: ${groups.map((group) => group.join('+')).join(' | ')}`);
    groups.forEach((group, i) => {
      for (const a of group) {
        for (const b of groups.flatMap((other, j) => (i === j ? [] : other))) this.cut(a, b);
        if (gatewayGroup === undefined || gatewayGroup === i) continue;
        this.cut(a, GATEWAY);
        this.cut(GATEWAY, a);
      }
    });
  }

  heal(): void {
    if (this.cuts.size > 0) this.log('LAN', 'is whole');
    this.cuts.clear();
  }

  /** Each node sees the change within `skew`. */
  setMember(name: string, listed: boolean, skew = 0): void {
    this.log(name, listed ? 'is a member' : 'is no member');
    this.membersChangedAt = this.now;
    if (listed) this.removed.delete(name);
    else this.removed.add(name);
    const members = [...this.nodes.values()].filter((node) => !this.removed.has(node.name));
    this.members = members.map(({ name: node, witness }) => ({ name: node, witness }));
    const seen = this.members;
    for (const node of this.nodes.values()) {
      // A watch may lag, but does not go back in time.
      node.seesMembersAt = Math.max(node.seesMembersAt, this.now + this.random.next() * skew);
      this.at(node.seesMembersAt, () => this.handle(node, { type: 'members', members: seen }));
    }
  }

  /** All VIPs come into or leave each node's table within `skew`. */
  setVips(listed: boolean, skew = 0): void {
    this.log('API', listed ? 'lists the VIPs' : 'deletes the VIPs');
    for (const node of this.nodes.values()) {
      node.seesVipsAt = Math.max(node.seesVipsAt, this.now + this.random.next() * skew);
      this.at(node.seesVipsAt, () => {
        for (const vip of this.vips) {
          if (listed) node.hidden.delete(vip);
          else node.hidden.add(vip);
        }
        this.handle(node, { type: 'vips', upserts: this.entriesFor(node), deletes: [...node.hidden] });
      });
    }
  }

  // --- The machine's inputs and outputs ------------------------------------------------------------------------------

  handle(node: SimNode, event: MembershipEvent): void {
    if (node.state === undefined) return;
    if (this.now < node.pausedUntil) {
      const { life } = node;
      if (node.waiting.length < 5000) node.waiting.push(() => node.life === life && this.handle(node, event));
      return;
    }
    const { effects } = step(node.state, event, this.local(node));
    if (event.type === 'members') node.sessions?.setMembers(peers(node.state));
    for (const effect of effects) this.apply(node, effect);
    this.check(node);
    this.onStep?.(node.name);
  }

  private fire(node: SimNode): void {
    node.timer = Number.POSITIVE_INFINITY;
    this.handle(node, { type: 'timer' });
  }

  private apply(node: SimNode, effect: Effect): void {
    this.onEffect?.(node.name, effect);
    switch (effect.type) {
      case 'send':
        this.transmit(node, effect.to, effect.message);
        break;
      case 'answer':
        this.log(
          node.name,
          `answers ${effect.vip} epoch ${effect.epoch}${effect.fenced ? '' : ' unfenced'} (${effect.cause})`,
        );
        node.answering.add(effect.vip);
        this.answerers.get(effect.vip)?.add(node.name);
        break;
      case 'stopAnswering':
        this.log(node.name, `stops ${effect.vip} (${effect.cause})`);
        node.answering.delete(effect.vip);
        this.answerers.get(effect.vip)?.delete(node.name);
        break;
      case 'probe':
        this.probe(node, effect.vip, effect.count, effect.intervalNs);
        break;
      case 'probeNeighbours':
        for (const other of [GATEWAY, ...effect.members]) this.probeNeighbour(node, other);
        break;
      case 'timer':
        this.setTimer(node, effect.at);
        break;
      case 'drainSockets': {
        const { life } = node;
        this.at(this.now, () => node.life === life && this.handle(node, { type: 'socketsDrained' }));
        break;
      }
      case 'report':
        if (this.options.trace === true) this.logReport(node, effect.report);
        break;
      case 'left':
        this.log(node.name, 'left');
        this.stop(node);
        node.left = true;
        break;
      default:
        effect satisfies never;
    }
  }

  private setTimer(node: SimNode, at: MonotonicNs): void {
    const time = Math.max(this.now, Math.ceil((at - node.offset) / node.rate));
    const { life } = node;
    node.timer = time;
    this.at(time, () => {
      if (node.life === life && node.timer === time && this.now >= node.pausedUntil) this.fire(node);
    });
  }

  private reaches(from: string, to: string): boolean {
    if (this.cuts.has(`${from}>${to}`)) return false;
    const down = (name: string) => name !== GATEWAY && !this.node(name).carrier;
    return !down(from) && !down(to);
  }

  private delay(): number {
    const base = ms(this.random.between(0.1, 0.3));
    const tail = this.random.chance(0.02) ? ms(this.random.between(0, 3)) : 0;
    const late = this.jitter > 0 && this.random.chance(0.1) ? this.random.between(0, this.jitter) : 0;
    return base + tail + late;
  }

  private transmit(from: SimNode, to: NodeName, message: Message): void {
    this.packets++;
    this.onMessage?.(from.name, to, message);
    const session = from.state?.config.session;
    const target = this.nodes.get(to);
    if (target === undefined || session === undefined) return;
    const copies = this.random.chance(this.duplication) ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      if (!this.reaches(from.name, to) || this.random.chance(this.loss)) continue;
      if (this.drops?.(from.name, to, message) === true) continue;
      const bytes = from.sessions?.seal(to, message);
      if (from.sessions !== undefined && bytes === undefined) this.violate(`${message.type} does not fit a datagram`);
      this.at(this.now + from.sendStall + this.delay(), () => {
        if (bytes !== undefined) this.deliver(target, from.name, bytes);
        else if (from.state?.config.session === session || !this.knowsNewer(target, from)) {
          this.handle(target, { type: 'message', from: from.name, session, message });
        }
      });
    }
  }

  private deliver(target: SimNode, from: NodeName, sent: Uint8Array): void {
    if (target.sessions === undefined || target.state === undefined) return;
    const bytes = this.random.chance(this.options.forgery ?? 0) ? this.forge(sent) : sent;
    this.recorded[this.random.below(500)] = sent;
    const { message, reply } = target.sessions.open(bytes, this.local(target));
    if (message !== undefined) this.handle(target, { type: 'message', ...message });
    if (reply === undefined || !this.reaches(target.name, reply.to) || this.random.chance(this.loss)) return;
    const back = this.node(reply.to);
    this.at(this.now + this.delay(), () => this.deliver(back, from, reply.bytes));
  }

  /** Something that an attacker on the LAN may send instead. */
  private forge(sent: Uint8Array): Uint8Array {
    const replayed = this.recorded[this.random.below(500)];
    if (replayed !== undefined && this.random.chance(0.5)) return replayed;
    if (this.random.chance(0.3)) return sent.subarray(0, this.random.below(sent.length));
    const changed = sent.slice();
    const at = this.random.below(changed.length);
    changed[at] = (changed[at] ?? 0) ^ (1 + this.random.below(255));
    return changed;
  }

  /** A replaced session's datagrams are dropped by the transport. */
  private knowsNewer(target: SimNode, from: SimNode): boolean {
    return from.state !== undefined && target.state?.members.get(from.name)?.session === from.state.config.session;
  }

  private probe(node: SimNode, vip: Vip, count: number, interval: number): void {
    const { life } = node;
    let answered: NodeName | undefined;
    for (let i = 0; i < count; i++) {
      this.at(this.now + i * interval, () => {
        for (const other of this.answerers.get(vip) ?? []) {
          if (other !== node.name && this.mayAnswer(other, vip) && this.crosses(node.name, other)) answered = other;
        }
      });
    }
    this.at(this.now + count * interval, () => {
      if (node.life !== life) return;
      const answer =
        answered === undefined ? ({ kind: 'silence' } as const) : ({ kind: 'member', node: answered } as const);
      this.handle(node, { type: 'probed', vip, answer });
    });
  }

  private crosses(a: string, b: string): boolean {
    return this.reaches(a, b) && this.reaches(b, a) && !this.random.chance(this.loss) && !this.random.chance(this.loss);
  }

  private probeNeighbour(node: SimNode, other: string): void {
    const { life } = node;
    if (other !== GATEWAY && this.node(other).left) return;
    if (!this.crosses(node.name, other)) return;
    this.at(this.now + ms(0.4), () => {
      if (node.life !== life) return;
      this.handle(node, { type: 'neighbourAnswered', ...(other === GATEWAY ? {} : { node: other as NodeName }) });
    });
  }

  // --- What is seen --------------------------------------------------------------------------------------------------

  mayAnswer(name: string, vip: Vip): boolean {
    const node = this.node(name);
    return node.state !== undefined && mayAnswer(node.state, vip, this.local(node));
  }

  /** Who would answer an ARP request for the VIP now (a process that stands still answers nothing but may later). */
  holders(vip: Vip): NodeName[] {
    return [...(this.answerers.get(vip) ?? [])].filter((name) => this.mayAnswer(name, vip));
  }

  private check(node: SimNode): void {
    if (!this.exclusive) return;
    for (const vip of node.answering) {
      if ((this.answerers.get(vip)?.size ?? 0) < 2) continue;
      const holders = this.holders(vip);
      if (holders.length > 1) this.violate(`${holders.join(' and ')} answer ${vip} at once`);
    }
  }

  /** Each once. */
  violate(what: string): void {
    if (this.violations.some((violation) => violation.what === what)) return;
    this.log('!!', what);
    this.violations.push({ at: this.now, what });
  }

  log(who: string, what: string): void {
    if (this.options.trace !== true) return;
    this.timeline.push(`${(this.now / 1e6).toFixed(2).padStart(10)} ms  ${who.padEnd(4)} ${what}`);
  }

  private logReport(node: SimNode, report: Extract<Effect, { type: 'report' }>['report']): void {
    switch (report.kind) {
      case 'lease':
        this.log(
          node.name,
          `${report.held ? 'has' : 'has no'} lease, v${report.version} of ${report.voters.join(',')}`,
        );
        break;
      case 'suspected':
      case 'certified':
        this.log(node.name, `${report.kind} ${report.node}`);
        break;
      default:
        break;
    }
  }
}
