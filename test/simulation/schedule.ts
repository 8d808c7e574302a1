import { ms } from '../../net/clock.ts';
import type { Rules } from '../../src/membership/rules.ts';
import { Audit } from './audit.ts';
import { Cluster, type ClusterOptions, GATEWAY, type Violation } from './cluster.ts';
import type { Random } from './random.ts';

/** Something that goes wrong at `at` and, where it lasts, ends `for` later. Milliseconds. */
export type Fault =
  | { readonly kind: 'crash'; readonly at: number; readonly for: number; readonly node: string }
  | { readonly kind: 'leave'; readonly at: number; readonly for: number; readonly node: string }
  | { readonly kind: 'pause'; readonly at: number; readonly for: number; readonly node: string }
  | {
      readonly kind: 'sendStall';
      readonly at: number;
      readonly for: number;
      readonly node: string;
      readonly by: number;
    }
  | {
      readonly kind: 'isolate';
      readonly at: number;
      readonly for: number;
      readonly node: string;
      readonly direction: 'in' | 'out' | 'both';
    }
  | { readonly kind: 'cutPair'; readonly at: number; readonly for: number; readonly from: string; readonly to: string }
  | {
      readonly kind: 'split';
      readonly at: number;
      readonly for: number;
      readonly groups: readonly (readonly string[])[];
      readonly gatewayGroup?: number;
    }
  | { readonly kind: 'loss'; readonly at: number; readonly for: number; readonly share: number }
  | {
      readonly kind: 'disorder';
      readonly at: number;
      readonly for: number;
      readonly byMs: number;
      readonly duplicates: number;
    }
  | { readonly kind: 'carrier'; readonly at: number; readonly for: number; readonly node: string }
  | { readonly kind: 'drain'; readonly at: number; readonly for: number; readonly node: string }
  | { readonly kind: 'ineligible'; readonly at: number; readonly for: number; readonly node: string }
  | {
      readonly kind: 'remove';
      readonly at: number;
      readonly for: number;
      readonly node: string;
      readonly skewMs: number;
    }
  /** The VIPs are deleted and come back. */
  | { readonly kind: 'deleteVips'; readonly at: number; readonly for: number; readonly skewMs: number }
  | { readonly kind: 'rebalance'; readonly at: number; readonly for: number; readonly node: string };

export interface Schedule {
  readonly options: ClusterOptions;
  readonly faults: readonly Fault[];
  /** All faults have ended by then, ms. */
  readonly endsAt: number;
  /** One fault at a time: two answerers are never right. */
  readonly single: boolean;
}

export interface Outcome {
  readonly violations: readonly Violation[];
  readonly timeline: readonly string[];
  readonly clusterSeconds: number;
}

const SETTLE = 3000;
const WHOLE = 1000;

export function run(schedule: Schedule, trace = false): Outcome {
  const cluster = new Cluster({ ...schedule.options, trace });
  new Audit(cluster);
  cluster.exclusive = schedule.single;
  cluster.startAll();
  for (const fault of schedule.faults) {
    cluster.at(ms(fault.at), () => {
      if (schedule.single) expectOfOne(cluster, fault);
      begin(cluster, fault);
    });
  }
  cluster.run(ms(schedule.endsAt));
  cluster.run(ms(schedule.endsAt + WHOLE));
  cluster.exclusive = true;
  recheck(cluster);
  cluster.run(ms(schedule.endsAt + SETTLE));
  exactlyOne(cluster);
  cluster.run(ms(schedule.endsAt + SETTLE + 1000));
  exactlyOne(cluster);
  return { violations: cluster.violations, timeline: cluster.timeline, clusterSeconds: cluster.now / 1e9 };
}

function recheck(cluster: Cluster): void {
  for (const vip of cluster.vips) {
    const holders = cluster.holders(vip);
    if (holders.length > 1) cluster.violate(`${holders.join(' and ')} still answer ${vip} 1 s after the LAN is whole`);
  }
}

function exactlyOne(cluster: Cluster): void {
  for (const vip of cluster.vips) {
    const holders = cluster.holders(vip);
    if (holders.length === 0) cluster.violate(`nobody answers ${vip} 3 s after the LAN is whole`);
    if (holders.length > 1) cluster.violate(`${holders.join(' and ')} answer ${vip}`);
  }
}

/** What must be so during and after one fault alone, beside one answerer at most. */
function expectOfOne(cluster: Cluster, fault: Fault): void {
  exactlyOne(cluster);
  const before = new Map(cluster.vips.map((vip) => [vip, cluster.holders(vip)[0]]));
  const { nodes } = cluster.options;
  const { heartbeat, vote } = cluster.timings;
  const faulty = 'node' in fault ? fault.node : undefined;
  const down = fault.kind === 'crash' || fault.kind === 'isolate' || fault.kind === 'carrier';
  const takenBy = ms(fault.at) + vote + heartbeat + ms(200);
  if (nodes > 2 && down && ms(fault.at + fault.for) > takenBy) {
    cluster.at(takenBy, () => {
      for (const vip of cluster.vips) {
        if (cluster.holders(vip).length === 0) cluster.violate(`${vip} is not taken in time after ${fault.kind}`);
      }
    });
  }
  cluster.at(ms(fault.at + fault.for + SETTLE), () => {
    exactlyOne(cluster);
    for (const [vip, holder] of before) {
      const now = cluster.holders(vip)[0];
      // Of two nodes with Require both are dark while one is away.
      if (nodes === 2 && cluster.options.fencing === 'Require') continue;
      if (now !== holder && holder !== faulty)
        cluster.violate(`${vip} moves from ${holder} to ${now} by ${fault.kind}`);
    }
  });
}

function begin(cluster: Cluster, fault: Fault): void {
  const end = (run: () => void) => cluster.at(cluster.now + ms(fault.for), run);
  switch (fault.kind) {
    case 'crash':
      cluster.crash(fault.node);
      end(() => cluster.start(fault.node));
      break;
    case 'leave':
      cluster.handle(cluster.node(fault.node), { type: 'leave' });
      end(() => {
        cluster.crash(fault.node);
        cluster.start(fault.node);
      });
      break;
    case 'pause':
      cluster.pause(fault.node, ms(fault.for));
      break;
    case 'sendStall':
      cluster.log(fault.node, `sends ${fault.by} ms late`);
      cluster.node(fault.node).sendStall = ms(fault.by);
      end(() => {
        cluster.node(fault.node).sendStall = 0;
      });
      break;
    case 'isolate':
      cluster.isolate(fault.node, fault.direction);
      end(() => cluster.heal());
      break;
    case 'cutPair':
      cluster.log(fault.from, `does not reach ${fault.to}`);
      cluster.cut(fault.from, fault.to);
      end(() => cluster.heal());
      break;
    case 'split':
      cluster.split(fault.groups, fault.gatewayGroup);
      end(() => cluster.heal());
      break;
    case 'loss':
      cluster.log('LAN', `loses ${fault.share}`);
      cluster.loss = fault.share;
      end(() => {
        cluster.loss = 0;
        cluster.log('LAN', 'loses nothing');
      });
      break;
    case 'disorder':
      cluster.jitter = ms(fault.byMs);
      cluster.duplication = fault.duplicates;
      end(() => {
        cluster.jitter = 0;
        cluster.duplication = 0;
      });
      break;
    case 'carrier':
      setCarrier(cluster, fault.node, false);
      end(() => setCarrier(cluster, fault.node, true));
      break;
    case 'drain':
      cluster.log(fault.node, 'is drained');
      cluster.handle(cluster.node(fault.node), { type: 'drain' });
      end(() => cluster.handle(cluster.node(fault.node), { type: 'undrain' }));
      break;
    case 'ineligible':
      setEligible(cluster, fault.node, false);
      end(() => setEligible(cluster, fault.node, true));
      break;
    case 'remove': {
      cluster.setMember(fault.node, false, ms(fault.skewMs));
      end(() => cluster.setMember(fault.node, true, ms(fault.skewMs)));
      break;
    }
    case 'deleteVips':
      cluster.setVips(false, ms(fault.skewMs));
      end(() => cluster.setVips(true, ms(fault.skewMs)));
      break;
    case 'rebalance':
      cluster.handle(cluster.node(fault.node), { type: 'rebalance' });
      break;
    default:
      fault satisfies never;
  }
}

function setCarrier(cluster: Cluster, name: string, up: boolean): void {
  const node = cluster.node(name);
  cluster.log(name, up ? 'has carrier' : 'loses carrier');
  node.carrier = up;
  cluster.handle(node, { type: 'carrier', up });
}

function setEligible(cluster: Cluster, name: string, eligible: boolean): void {
  const node = cluster.node(name);
  cluster.log(name, eligible ? 'is eligible' : 'is not eligible');
  for (const vip of cluster.vips) {
    node.eligibility.set(vip, eligible ? { kind: 'eligible' } : { kind: 'ineligible', reason: 'no ready endpoint' });
  }
  cluster.handle(node, { type: 'vips', upserts: cluster.entriesFor(node), deletes: [] });
}

// --- Random schedules ------------------------------------------------------------------------------------------------

const START = 2500;

export function randomSchedule(random: Random, seed: number, rules?: Partial<Rules>): Schedule {
  const single = random.chance(0.4);
  const nodes = random.pick([2, 3, 3, 3, 4, 5, 5, 7]);
  const witnesses = nodes === 3 && random.chance(0.15) ? 1 : 0;
  const options: ClusterOptions = {
    seed,
    nodes,
    vips: random.pick([1, 2, 4]),
    fencing: random.chance(0.25) && !single ? 'Prefer' : random.pick(['Prefer', 'Require']),
    firstClaim: random.pick(['written', 'peers']),
    drift: random.pick([0, 0.005, 0.0099]),
    witnesses,
    ...(random.chance(0.06) ? { forgery: random.pick([0, 0.02]) } : {}),
    ...(rules === undefined ? {} : { rules }),
  };
  const names = Array.from({ length: nodes }, (_, i) => `n${i + 1}`);
  const faults: Fault[] = [];
  let at = START;
  const count = 1 + random.below(single ? 4 : 8);
  for (let i = 0; i < count; i++) {
    const fault = single ? singleFault(random, names, at) : anyFault(random, names, at);
    faults.push(fault);
    at = single ? fault.at + fault.for + 5000 : at + random.between(0, random.pick([20, 300, 1500]));
  }
  const endsAt = Math.max(...faults.map((fault) => fault.at + fault.for)) + 200;
  return { options, faults, endsAt: Math.ceil(endsAt), single };
}

function lasting(random: Random): number {
  return Math.round(random.pick([random.between(1, 120), random.between(100, 800), random.between(500, 4000)]));
}

/** What DESIGN calls one fault: at most one answerer at every instant. */
function singleFault(random: Random, names: readonly string[], at: number): Fault {
  const base = { at: Math.round(at), for: lasting(random), node: random.pick(names) };
  switch (random.below(9)) {
    case 0:
      return { ...base, kind: 'crash' };
    case 1:
      return { ...base, kind: 'pause' };
    case 2:
      return { ...base, kind: 'isolate', direction: random.pick(['in', 'out', 'both'] as const) };
    case 3:
      return { at: base.at, for: base.for, kind: 'loss', share: 0.1 };
    case 4:
      return { ...base, kind: 'leave', for: Math.max(base.for, 2000) };
    case 5:
      return { ...base, kind: 'drain' };
    case 6:
      return { at: base.at, for: base.for, kind: 'disorder', byMs: random.between(1, 60), duplicates: 0.1 };
    case 7:
      return { ...base, kind: 'carrier' };
    default:
      return { ...base, kind: 'ineligible' };
  }
}

function anyFault(random: Random, names: readonly string[], at: number): Fault {
  const base = { at: Math.round(at), for: lasting(random), node: random.pick(names) };
  switch (random.below(9)) {
    case 0:
      return { ...base, kind: 'loss', share: random.between(0, 0.5) };
    case 1: {
      const from = random.pick(names);
      return { ...base, kind: 'cutPair', from, to: random.pick([...names.filter((name) => name !== from), GATEWAY]) };
    }
    case 2: {
      const groups: string[][] = [[], []];
      for (const name of names) groups[random.below(2)]?.push(name);
      return { ...base, kind: 'split', groups, ...(random.chance(0.5) ? { gatewayGroup: random.below(2) } : {}) };
    }
    case 3:
      return { ...base, kind: 'remove', skewMs: random.between(0, 500) };
    case 4:
      return { ...base, kind: 'sendStall', by: Math.round(random.between(1, 600)) };
    case 5:
      return { at: base.at, for: base.for, kind: 'deleteVips', skewMs: random.between(0, 500) };
    default:
      return singleFault(random, names, at);
  }
}

/** The fewest faults that still break the same way. */
export function shrink(schedule: Schedule): Schedule {
  let best = schedule;
  for (let improved = true; improved; ) {
    improved = false;
    for (const smaller of smallerSchedules(best)) {
      if (run(smaller).violations.length === 0) continue;
      best = smaller;
      improved = true;
      break;
    }
  }
  return best;
}

function* smallerSchedules(schedule: Schedule): Generator<Schedule> {
  const { faults, options } = schedule;
  for (let i = 0; i < faults.length; i++) {
    const kept = faults.filter((_, j) => j !== i);
    if (kept.length === 0) continue;
    const endsAt = Math.max(...kept.map((fault) => fault.at + fault.for)) + 200;
    yield { ...schedule, faults: kept, endsAt };
    yield { ...schedule, faults: kept };
  }
  for (const vips of [1, 2]) if (vips < options.vips) yield { ...schedule, options: { ...options, vips } };
  if ((options.drift ?? 0) > 0) yield { ...schedule, options: { ...options, drift: 0 } };
}
