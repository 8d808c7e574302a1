import {
  Announcer,
  arpRequest,
  decodeArp,
  decodeNdp,
  onArpFrame,
  onNdpFrame,
  Prober,
  probeFrame,
  type Reaction,
  solicitation,
} from '../../arp/index.ts';
import { after, type MonotonicNs, ms } from '../../net/clock.ts';
import { type Ip, ipFromBigInt, isV4, isV6 } from '../../net/ip.ts';
import type { Mac } from '../../net/mac.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import { prefixContains, prefixRange, rangeSize } from '../../net/prefix.ts';
import { rendezvousOrder } from '../../net/rendezvous.ts';
import { makeKey } from '../membership/datagram.ts';
import { create, type MembershipState, mayAnswer, peers, step } from '../membership/machine.ts';
import { ALL_RULES } from '../membership/rules.ts';
import { Sessions } from '../membership/session.ts';
import { PROFILES } from '../membership/timings.ts';
import type { Effect, MembershipEvent, Report, SessionId, VipEntry, WireAnswer } from '../membership/types.ts';
import type { CounterName, FromWire, Segment, SegmentMember, WireCommand, WireInit } from './protocol.ts';

import { Verifier } from './verifier.ts';

/** What a segment sends through; opened and closed by the shell. */
export interface SegmentPort {
  readonly sendArp: (frame: Uint8Array) => void;
  readonly sendNdp: (frame: Uint8Array) => void;
  readonly sendDatagram: (to: Ip, bytes: Uint8Array) => void;
  /** Membership of the solicited-node group: the MLD report and the NIC's filter come with it. */
  readonly join: (ip: Ip) => void;
  readonly leave: (ip: Ip) => void;
  /** Hands in what has arrived; calls back when there is no more. */
  readonly drain: (done: () => void) => void;
}

export interface SegmentContext {
  readonly init: WireInit;
  readonly now: () => MonotonicNs;
  /** 0 to 1, from a cryptographic source. */
  readonly random: () => number;
  readonly post: (message: FromWire) => void;
  readonly count: (counter: CounterName) => void;
}

/** After a hand-over main installs the bounce in some milliseconds. */
const BOUNCE_FIRST = ms(20);
const REFUSAL_CHECK_EVERY = ms(1000);
/** A datagram of our own earlier run may be late; an impostor is heard again and again. */
const IMPOSTOR_HEARD = 3;

/**
 * Everything of one L2 segment: the membership machine, the responder, the announcer and the prober. Bytes and
 * times in, bytes out: the sockets and the clock are the shell's.
 */
export class SegmentLoop {
  readonly #context: SegmentContext;
  readonly #sessions: Sessions;
  readonly #announcer: Announcer;
  readonly #answered = new Set<Ip>();
  readonly #vips = new Set<Ip>();
  readonly #macOwner = new Map<Mac, NodeName>();
  #prober: Prober;
  readonly #verifier: Verifier;
  /** What was told last of each VIP, and whether it is doubted. */
  readonly #proofs = new Map<Vip, { readonly text: string; readonly doubted: boolean }>();
  readonly #dead = new Set<NodeName>();
  #segment: Segment;
  #port: SegmentPort | undefined;
  #state: MembershipState;
  #machineAt: MonotonicNs | undefined;
  #addressOf = new Map<NodeName, Ip>();
  #nodeAt = new Map<Ip, NodeName>();
  #left = false;
  #keyRefusedBy = '';
  #ownNameHeard = 0;
  #nameTaken = false;
  #refusalCheckAt: MonotonicNs;

  constructor(segment: Segment, context: SegmentContext) {
    const { init, now, random } = context;
    this.#context = context;
    this.#segment = segment;
    // A session of its own for each segment: what was said on one cannot be played into another.
    const session = (1 + Math.floor(random() * 0xffff_fffe)) as SessionId;
    const { self, cluster, witness } = init;
    this.#sessions = new Sessions({ self, session, cluster, keys: init.keys.map(makeKey), random });
    this.#announcer = new Announcer(segment.mac, random, now());
    this.#prober = new Prober(segment.mac);
    this.#verifier = new Verifier(
      segment.mac,
      (vip, holder) => this.#verifies(vip, holder),
      (ip) => this.#question(ip),
    );
    this.#state = create({ self, session, timings: PROFILES[init.profile], witness, rules: ALL_RULES }, now());
    this.#refusalCheckAt = now();
    this.#adopt(segment);
    this.#step({ type: 'members', members: this.#memberEvent(segment.members) });
    this.#step({ type: 'start' });
  }

  get left(): boolean {
    return this.#left;
  }

  attach(port: SegmentPort | undefined): void {
    this.#port = port;
    for (const ip of this.#answered) port?.join(ip);
    this.#askNeighbours(this.#segment.members.map(({ node }) => node));
  }

  update(segment: Segment): void {
    const before = this.#segment;
    this.#adopt(segment);
    if (segment.mac !== before.mac) {
      this.#announcer.setMac(segment.mac, this.#context.now());
      this.#prober = new Prober(segment.mac);
      this.#verifier.setMac(segment.mac);
    }
    if (segment.carrier !== before.carrier) this.#step({ type: 'carrier', up: segment.carrier });
    if (JSON.stringify(segment.members) !== JSON.stringify(before.members)) {
      this.#step({ type: 'members', members: this.#memberEvent(segment.members) });
      this.#askNeighbours(segment.members.map(({ node }) => node));
    }
    this.run();
  }

  setVips(upserts: readonly VipEntry[], deletes: readonly Vip[]): void {
    for (const { vip } of upserts) this.#vips.add(vip);
    for (const vip of deletes) this.#vips.delete(vip);
    this.#step({ type: 'vips', upserts, deletes });
  }

  setKeys(keys: readonly Uint8Array[]): void {
    this.#sessions.setKeys(keys.map(makeKey));
  }

  command(command: WireCommand): void {
    this.#step(command);
  }

  setStalled(stalled: boolean): void {
    this.#step({ type: 'stalled', stalled });
  }

  onArp(bytes: Uint8Array): void {
    this.#context.count('arpFrames');
    const frame = decodeArp(bytes);
    if (typeof frame === 'string') {
      this.#context.count('badFrames');
      return;
    }
    this.#learn(frame.senderIp, frame.senderMac, frame.operation === 'reply');
    if (frame.operation === 'reply' && frame.targetMac === this.#segment.mac) {
      this.#verifier.heard(frame.senderIp as Ip as Vip, frame.senderMac);
    }
    this.#react(onArpFrame(frame, this.#answerer()), 'arpAnswers');
  }

  onNdp(bytes: Uint8Array): void {
    this.#context.count('ndpFrames');
    const frame = decodeNdp(bytes);
    if (typeof frame === 'string') {
      this.#context.count('badFrames');
      return;
    }
    if (frame.type === 'advertisement' && (frame.solicited || this.#ownFor(frame.target) === undefined)) {
      this.#verifier.heard(frame.target as Ip as Vip, frame.linkAddress ?? frame.source);
    }
    if (frame.type === 'advertisement') this.#learn(frame.target, frame.linkAddress ?? frame.source, true);
    else if (frame.linkAddress !== undefined) this.#learn(frame.from, frame.linkAddress, false);
    this.#react(onNdpFrame(frame, this.#answerer()), 'ndpAnswers');
  }

  onDatagram(bytes: Uint8Array): void {
    this.#context.count('datagramsReceived');
    const { message, rejected, reply } = this.#sessions.open(bytes, this.#context.now());
    if (rejected !== undefined) this.#context.count('datagramsRejected');
    if (rejected?.reason === 'ownName') this.#ownNameHeard++;
    if (reply !== undefined) this.#sendBytes(reply.to, reply.bytes);
    if (message !== undefined) this.#step({ type: 'message', ...message });
  }

  /** Does what is due. */
  run(): void {
    const now = this.#context.now();
    if (this.#machineAt !== undefined && this.#machineAt <= now) {
      this.#machineAt = undefined;
      this.#step({ type: 'timer' });
    }
    const probing = this.#prober.tick(now);
    for (const frame of probing.frames) this.#sendFrame(frame);
    for (const { ip, outcome } of probing.outcomes) {
      if (outcome.type === 'proxy') {
        this.#log('warn', 'a proxy answers ARP or NDP for every address: its answer for the VIP is ignored', {
          vip: ip,
          mac: outcome.mac,
        });
      }
      const answer = outcome.type === 'answered' ? this.#whoHas(outcome.mac) : ({ kind: 'silence' } as const);
      this.#step({ type: 'probed', vip: ip as Vip, answer });
    }
    this.#announce(now);
    this.#verify(now);
    this.#checkKeys(now);
  }

  nextAt(): MonotonicNs {
    const now = this.#context.now();
    const times = [
      this.#machineAt,
      this.#prober.nextAt(),
      this.#announcer.nextAt(now),
      this.#verifier.nextAt(),
      this.#refusalCheckAt,
    ];
    return times.filter((time) => time !== undefined).reduce((a, b) => (a < b ? a : b));
  }

  #adopt(segment: Segment): void {
    this.#segment = segment;
    this.#addressOf = this.#addresses(segment);
    this.#nodeAt = new Map(segment.members.map(({ node, address }) => [address, node]));
    this.#sessions.setMembers(this.#addressOf.keys());
    this.#announcer.setGateways(
      segment.gateways.filter((gateway) => gateway.mac !== undefined) as { ip: Ip; mac: Mac }[],
    );
  }

  /** A member that was removed is spoken to until it votes for nobody any more. */
  #addresses({ members }: Segment): Map<NodeName, Ip> {
    const listed = new Map(members.map(({ node, address }) => [node, address]));
    for (const node of peers(this.#state)) {
      const address = this.#addressOf.get(node);
      if (address !== undefined && !listed.has(node)) listed.set(node, address);
    }
    return listed;
  }

  #memberEvent(members: readonly SegmentMember[]) {
    const { self, witness } = this.#context.init;
    const others = members.filter(({ node }) => node !== self).map(({ node }) => ({ name: node, witness: false }));
    return [{ name: self, witness }, ...others];
  }

  #answerer() {
    return { mac: this.#segment.mac, answers: (ip: Ip) => this.#answered.has(ip) };
  }

  /** Members' MAC addresses, so that a member is never taken for a stranger; and proof that the LAN is alive. */
  #learn(ip: Ip, mac: Mac, isAnswer: boolean): void {
    const node = this.#nodeAt.get(ip);
    if (node !== undefined) {
      this.#macOwner.set(mac, node);
      if (isAnswer && node !== this.#context.init.self) this.#step({ type: 'neighbourAnswered', node });
    } else if (isAnswer && this.#segment.gateways.some((gateway) => gateway.ip === ip)) {
      this.#step({ type: 'neighbourAnswered' });
    }
  }

  #react(reaction: Reaction, counter: 'arpAnswers' | 'ndpAnswers'): void {
    switch (reaction.type) {
      case 'answer':
      case 'probed':
        if (!mayAnswer(this.#state, reaction.ip as Vip, this.#context.now())) {
          this.#context.count('withheldAnswers');
          return;
        }
        this.#sendFrame(reaction.frame);
        this.#context.count(counter);
        return;
      case 'claimed':
        this.#prober.heard(reaction.ip, reaction.mac);
        if (this.#answered.has(reaction.ip)) {
          this.#step({ type: 'conflict', vip: reaction.ip as Vip, answer: this.#whoHas(reaction.mac) });
        }
        return;
      case 'ignored':
        return;
    }
  }

  #whoHas(mac: Mac): Extract<WireAnswer, { kind: 'member' | 'stranger' }> {
    const node = this.#macOwner.get(mac);
    return node === undefined ? { kind: 'stranger', mac } : { kind: 'member', node };
  }

  #step(event: MembershipEvent): void {
    const { state, effects } = step(this.#state, event, this.#context.now());
    this.#state = state;
    for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: Effect): void {
    const { post } = this.#context;
    const segment = this.#segment.interface;
    switch (effect.type) {
      case 'send': {
        const bytes = this.#sessions.seal(effect.to, effect.message);
        if (bytes !== undefined) this.#sendBytes(effect.to, bytes);
        return;
      }
      case 'answer': {
        const { vip, epoch, fenced, cause, previous, formerHolders } = effect;
        const isNew = !this.#answered.has(vip);
        this.#answered.add(vip);
        if (isNew) {
          this.#port?.join(vip);
          // The last holder still forwards: until clients are told, the bounce of their open connections is in place.
          const wait = cause === 'handOver' ? BOUNCE_FIRST : 0;
          this.#announcer.start(vip, after(this.#context.now(), wait));
          this.#announce(this.#context.now());
        }
        post({ type: 'answering', segment, vip, epoch, fenced, cause, previous, formerHolders });
        return;
      }
      case 'stopAnswering':
        this.#answered.delete(effect.vip);
        this.#announcer.stop(effect.vip);
        this.#port?.leave(effect.vip);
        post({ type: 'stopped', segment, vip: effect.vip, cause: effect.cause, keepForwarding: effect.keepForwarding });
        return;
      case 'probe':
        this.#prober.start(
          effect.vip,
          this.#controlAddress(effect.vip),
          effect.count,
          effect.intervalNs,
          this.#context.now(),
        );
        return;
      case 'probeNeighbours':
        this.#askNeighbours(effect.members);
        return;
      case 'drainSockets':
        if (this.#port === undefined) this.#step({ type: 'socketsDrained' });
        else this.#port.drain(() => this.#step({ type: 'socketsDrained' }));
        return;
      case 'timer':
        this.#machineAt = effect.at;
        return;
      case 'report':
        this.#follow(effect.report);
        post({ type: 'report', segment, report: effect.report });
        return;
      case 'left':
        this.#left = true;
        return;
    }
  }

  #follow(report: Report): void {
    if (report.kind === 'claim') {
      const { holder, vip } = report;
      this.#verifier.setHolder(vip, holder === this.#context.init.self ? undefined : holder, this.#context.now());
      this.#proofs.delete(vip);
    } else if (report.kind === 'member') {
      if (report.alive) this.#dead.delete(report.node);
      else this.#dead.add(report.node);
    }
  }

  /** One member asks for all: the first in an order that each member works out alike. */
  #verifies(vip: Vip, holder: NodeName): boolean {
    const members = this.#segment.members.map(({ node }) => node);
    const able = members.filter((node) => node !== holder && !this.#dead.has(node));
    return rendezvousOrder(vip, able)[0] === this.#context.init.self;
  }

  /** Own address of the family on the segment. */
  #ownFor(ip: Ip): Ip | undefined {
    return this.#segment.networks.find((network) => isV4(network.ip) === isV4(ip))?.ip;
  }

  /** As any host would ask for IPv6, so that the answer shows that it is one; IPv4 answers probes in person. */
  #question(ip: Ip): Uint8Array {
    const { mac } = this.#segment;
    const own = this.#ownFor(ip);
    return own !== undefined && isV6(own) && isV6(ip) ? solicitation(mac, own, ip) : probeFrame(mac, ip);
  }

  #verify(now: MonotonicNs): void {
    const { frames, verdicts } = this.#verifier.tick(now);
    for (const frame of frames) this.#sendFrame(frame);
    for (const verdict of verdicts) {
      const { vip, holder, answeredBy } = verdict;
      const who = answeredBy === undefined ? undefined : this.#whoHas(answeredBy);
      const reachable = who?.kind === 'member' && who.node === holder;
      const before = this.#proofs.get(vip);
      const text = `${holder} ${reachable ? '' : (answeredBy ?? 'nobody')}`;
      if (!reachable && before?.doubted !== true && before?.text !== text) {
        this.#proofs.set(vip, { text: before?.text ?? '', doubted: true });
        this.#verifier.askAgain(verdict, now);
        continue;
      }
      this.#proofs.set(vip, { text, doubted: false });
      if (before?.text === text) continue;
      const segment = this.#segment.interface;
      const other = reachable || answeredBy === undefined ? {} : { answeredBy };
      this.#context.post({ type: 'proof', segment, vip, holder, reachable, ...other });
    }
  }

  #announce(now: MonotonicNs): void {
    for (const { ip, frame } of this.#announcer.due(now)) {
      if (!mayAnswer(this.#state, ip as Vip, now)) continue;
      this.#sendFrame(frame);
      this.#context.count('announcements');
    }
  }

  #checkKeys(now: MonotonicNs): void {
    if (now < this.#refusalCheckAt) return;
    this.#refusalCheckAt = (now + REFUSAL_CHECK_EVERY) as MonotonicNs;
    this.#checkName();
    const by = this.#sessions.refusingOurKey(now);
    const text = by.join();
    if (text === this.#keyRefusedBy) return;
    this.#keyRefusedBy = text;
    this.#context.post({ type: 'keyRefused', segment: this.#segment.interface, by });
  }

  #checkName(): void {
    const taken = this.#ownNameHeard >= IMPOSTOR_HEARD;
    this.#ownNameHeard = 0;
    if (taken === this.#nameTaken) return;
    this.#nameTaken = taken;
    this.#context.post({ type: 'nameTaken', segment: this.#segment.interface, taken });
  }

  /** Gateways and members, asked as any host would. */
  #askNeighbours(nodes: readonly NodeName[]): void {
    const { mac, networks, gateways } = this.#segment;
    const members = nodes.map((node) => this.#addressOf.get(node)).filter((ip) => ip !== undefined);
    for (const ip of [...gateways.map((gateway) => gateway.ip), ...members]) {
      const own = networks.find((network) => prefixContains(network.prefix, ip))?.ip;
      if (own === undefined || own === ip) continue;
      if (isV4(own) && isV4(ip)) this.#sendFrame(arpRequest(mac, own, ip));
      else if (isV6(own) && isV6(ip)) this.#sendFrame(solicitation(mac, own, ip));
    }
  }

  /** A random address beside the VIP that nobody is known to have: who answers for it too is a proxy. */
  #controlAddress(vip: Ip): Ip | undefined {
    const prefix = this.#segment.networks
      .map((network) => network.prefix)
      .find((network) => prefixContains(network, vip));
    if (prefix === undefined) return undefined;
    const range = prefixRange(prefix);
    const size = rangeSize(range);
    if (size < 8n) return undefined;
    const offset = 1n + (BigInt(Math.floor(this.#context.random() * Number.MAX_SAFE_INTEGER)) % (size - 2n));
    const ip = ipFromBigInt(range.first + offset, range.family);
    const known =
      this.#vips.has(ip) || this.#nodeAt.has(ip) || this.#segment.gateways.some((gateway) => gateway.ip === ip);
    return known ? undefined : ip;
  }

  #sendFrame(frame: Uint8Array): void {
    if (frame[12] === 0x08) this.#port?.sendArp(frame);
    else this.#port?.sendNdp(frame);
  }

  #sendBytes(to: NodeName, bytes: Uint8Array): void {
    const address = this.#addressOf.get(to);
    if (address === undefined) return;
    this.#port?.sendDatagram(address, bytes);
    this.#context.count('datagramsSent');
  }

  #log(level: 'debug' | 'info' | 'warn', message: string, fields: object): void {
    this.#context.post({ type: 'log', level, message, fields: { segment: this.#segment.interface, ...fields } });
  }
}
