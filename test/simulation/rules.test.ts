import { describe, expect, it } from 'vitest';
import { ms } from '../../net/clock.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import type { Rules } from '../../src/membership/rules.ts';
import type { Incarnation, MembershipEvent, SessionId } from '../../src/membership/types.ts';
import { Audit } from './audit.ts';
import { Cluster, type ClusterOptions } from './cluster.ts';

/** A schedule that breaks a property where one rule of the protocol is taken out, and none with all rules. */
interface Counterexample {
  readonly rule: keyof Rules;
  readonly shows: string;
  readonly options?: Partial<ClusterOptions>;
  /** Goes on from a cluster whose VIPs are all held, at 2.5 s. */
  readonly play: (cluster: Cluster) => void;
  /** Begins with nothing started. */
  readonly cold?: boolean;
}

const VIP = '203.0.113.1' as Vip;
const name = (node: string) => node as NodeName;

function holder(cluster: Cluster): NodeName {
  const [node] = cluster.holders(VIP);
  if (node === undefined) throw new Error(`nobody answers ${VIP} at ${cluster.now / 1e6} ms`);
  return node;
}

function without(cluster: Cluster, ...nodes: readonly string[]): NodeName[] {
  return cluster.names.filter((node) => !nodes.includes(node));
}

/** A violation unless the VIP is answered at every millisecond of the time. */
function answeredFor(cluster: Cluster, milliseconds: number): void {
  for (let i = 0; i < milliseconds; i++) {
    cluster.runFor(ms(1));
    if (cluster.holders(VIP).length === 0) cluster.violate(`${VIP} is dark`);
  }
}

function answeredWithin(cluster: Cluster, milliseconds: number): void {
  cluster.runFor(ms(milliseconds));
  if (cluster.holders(VIP).length === 0) cluster.violate(`nobody answers ${VIP} after ${milliseconds} ms`);
}

function cutPair(cluster: Cluster, a: string, b: string): void {
  cluster.cut(a, b);
  cluster.cut(b, a);
}

/** From its first claim on the next holder is heard only by voters of its own that do not vote for `x`. */
function hideSuccessor(cluster: Cluster, x: NodeName): void {
  const voters = cluster.node(x).state?.lease.list.voters.map(({ node }) => node) ?? [];
  let successor: NodeName | undefined;
  cluster.drops = (from, to, message) => {
    if (message.type === 'claims' && from !== x) successor ??= from;
    if (message.type === 'digest') return true;
    if (from !== successor) return false;
    return voters.includes(to) || message.type === 'refused' || (message.type === 'claims' && !('holdings' in message));
  };
}

function session(cluster: Cluster, node: string): SessionId {
  return cluster.node(node).state?.config.session ?? (0 as SessionId);
}

function incarnation(life: number): Incarnation {
  return life as Incarnation;
}

/** The kinds of messages with which the node answers the event. */
function answers(cluster: Cluster, node: NodeName, event: MembershipEvent): string[] {
  const kinds: string[] = [];
  const before = cluster.onMessage;
  cluster.onMessage = (from, _to, { type }) => from === node && kinds.push(type);
  cluster.handle(cluster.node(node), event);
  cluster.onMessage = before;
  return kinds;
}

const COUNTEREXAMPLES: readonly Counterexample[] = [
  {
    rule: 'leaseFromSending',
    shows: 'acknowledgements that were long on the way renew a lease that the voters have given up',
    play(cluster) {
      const x = holder(cluster);
      for (const node of without(cluster, x)) cluster.node(node).sendStall = ms(300);
      cluster.runFor(ms(350));
      cluster.isolate(x, 'out');
      cluster.runFor(ms(2000));
    },
  },
  {
    rule: 'voteAfterLease',
    shows: 'voters that vote before the lease has run out make a second holder',
    play(cluster) {
      cluster.isolate(holder(cluster), 'both');
      cluster.runFor(ms(1000));
    },
  },
  {
    rule: 'yieldWithoutLease',
    shows: 'a holder that can send but not receive keeps its VIPs dark, since its voters hear it',
    play(cluster) {
      cluster.isolate(holder(cluster), 'in');
      answeredWithin(cluster, 3000);
    },
  },
  {
    rule: 'repeatVotes',
    shows: 'one lost suspicion stalls the take-over for ever',
    play(cluster) {
      let lost = 0;
      cluster.drops = (_from, _to, { type }) => type === 'suspicion' && lost++ < 2;
      cluster.crash(holder(cluster));
      answeredWithin(cluster, 3000);
    },
  },
  {
    rule: 'claimWithLease',
    shows: 'a claimant without a lease of its own takes the VIP again and again and never answers',
    play(cluster) {
      const x = holder(cluster);
      const heir = without(cluster, x).find((node) => {
        const probe = replay(cluster, x);
        return probe === node;
      });
      cluster.drops = (from, _to, { type }) => from === heir && type === 'heartbeat';
      cluster.runFor(ms(600));
      cluster.crash(x);
      answeredWithin(cluster, 2000);
    },
    options: { nodes: 5 },
  },
  {
    rule: 'adoptGrants',
    shows: 'a later ballot that ignores the grant of a majority makes a second holder of the epoch',
    options: { nodes: 16 },
    play(cluster) {
      const x = holder(cluster);
      hideSuccessor(cluster, x);
      cluster.crash(x);
      cluster.runFor(ms(2000));
    },
  },
  {
    rule: 'answerInForce',
    shows: 'who answers before its voters list the VIP is unknown to those that would succeed it',
    play(cluster) {
      cluster.crash(holder(cluster));
      cluster.runFor(ms(1000));
    },
  },
  {
    rule: 'firstClaimGranted',
    shows: 'two nodes that see different members both compute that they are first',
    cold: true,
    options: { firstClaim: 'peers', nodes: 3, witnesses: 1 },
    play(cluster) {
      const seen = (nodes: readonly string[]) => cluster.members.filter((member) => nodes.includes(member.name));
      cluster.startAll();
      cluster.handle(cluster.node('n1'), { type: 'members', members: seen(['n1', 'n3']) });
      cluster.handle(cluster.node('n2'), { type: 'members', members: seen(['n2', 'n3']) });
      cluster.runFor(ms(1500));
    },
  },
  {
    rule: 'listenFirst',
    shows: 'two restarted speakers take the VIP of a third that still has its lease',
    options: { firstClaim: 'peers' },
    play(cluster) {
      const x = holder(cluster);
      const others = without(cluster, x);
      cluster.isolate(x, 'both');
      for (const node of others) cluster.crash(node);
      cluster.runFor(ms(5));
      for (const node of others) cluster.start(node);
      cluster.runFor(ms(1000));
    },
  },
  {
    rule: 'votersBySession',
    shows: 'restarted voters that forgot their votes renew the lease that they had voted void',
    options: { nodes: 5 },
    play(cluster) {
      const x = holder(cluster);
      cluster.drops = (_from, to, { type }) => to === x && type !== 'acknowledge';
      cluster.pause(x, ms(700));
      cluster.runFor(ms(690));
      const successor = holder(cluster);
      cutPair(cluster, x, successor);
      const forgetful = without(cluster, x, successor).slice(0, 2);
      for (const node of forgetful) {
        cluster.crash(node);
        cluster.start(node);
      }
      cluster.runFor(ms(800));
    },
  },
  {
    rule: 'ballotNamesIncarnation',
    shows: 'a claimant that restarts and uses its ballot again undoes what was promised to its later life',
    options: { nodes: 5 },
    play(cluster) {
      const x = holder(cluster);
      const [voter = name('')] = without(cluster, x);
      const [claimant = name('')] = without(cluster, x, voter);
      cluster.crash(x);
      cluster.runFor(ms(1000));
      const list = { version: 1, voters: [{ node: voter, session: session(cluster, voter) }] };
      const seat = { vip: VIP, epoch: 9, life: { node: x, incarnation: incarnation(1) }, open: true };
      const ask = (life: number) =>
        answers(cluster, voter, {
          type: 'message',
          from: claimant,
          session: session(cluster, claimant),
          message: {
            type: 'prepare',
            seat,
            list,
            ballot: { round: 1, life: { node: claimant, incarnation: incarnation(life) } },
            claimant: { node: claimant, incarnation: incarnation(life) },
            reform: false,
          },
        });
      ask(3);
      if (ask(2).includes('promise')) cluster.violate('an older life is promised what a later one was');
    },
  },
  {
    rule: 'reform',
    shows: 'a VIP whose voters have all restarted stays dark',
    play(cluster) {
      const x = holder(cluster);
      for (const node of without(cluster, x)) cluster.crash(node);
      cluster.runFor(ms(200));
      for (const node of without(cluster, x)) cluster.start(node);
      answeredWithin(cluster, 3000);
    },
  },
  {
    rule: 'jointMajorities',
    shows: 'a holder that changes all its voters at once is succeeded by those that it left',
    cold: true,
    options: { nodes: 7 },
    play(cluster) {
      const show = (node: string, ...nodes: readonly string[]) => {
        const members = cluster.members.filter((member) => nodes.includes(member.name));
        cluster.handle(cluster.node(node), { type: 'members', members });
      };
      cluster.startAll();
      for (const node of ['n1', 'n2', 'n3', 'n4']) show(node, 'n1', 'n2', 'n3', 'n4');
      for (const node of ['n5', 'n6', 'n7']) show(node, 'n1', 'n5', 'n6', 'n7');
      cluster.runFor(ms(2500));
      for (const node of ['n2', 'n3', 'n4']) cutPair(cluster, 'n1', node);
      show('n1', 'n1', 'n5', 'n6', 'n7');
      cluster.runFor(ms(2000));
    },
  },
  {
    rule: 'releaseRecorded',
    shows: 'a holder that dies after its release is succeeded twice',
    options: { nodes: 16 },
    play(cluster) {
      const x = holder(cluster);
      hideSuccessor(cluster, x);
      cluster.handle(cluster.node(x), { type: 'drain' });
      cluster.runFor(ms(4));
      cluster.crash(x);
      cluster.runFor(ms(1500));
    },
  },
  {
    rule: 'openRelease',
    shows: 'a VIP that a living node released to nobody stays dark',
    play(cluster) {
      cluster.setVips(false);
      cluster.runFor(ms(500));
      cluster.setVips(true);
      answeredWithin(cluster, 2000);
    },
  },
  {
    rule: 'drainBeforeJudging',
    shows: 'a voter that stood still votes void a holder whose heartbeats lie in its socket',
    options: { nodes: 2 },
    play(cluster) {
      const x = holder(cluster);
      const [y = ''] = without(cluster, x);
      cluster.run(ms(2601));
      cluster.pause(y, ms(444));
      cluster.runFor(ms(2000));
      const epoch = cluster.node(x).state?.claims.get(VIP)?.claim.epoch;
      if (epoch !== 1) cluster.violate(`${VIP} moved to epoch ${epoch}`);
    },
  },
  {
    rule: 'holderGoesOn',
    shows: 'the reboot of the other of two nodes darkens the VIPs of the holder',
    options: { nodes: 2, fencing: 'Prefer' },
    play(cluster) {
      const x = holder(cluster);
      const [y = ''] = without(cluster, x);
      cluster.crash(y);
      answeredFor(cluster, 1500);
      cluster.start(y);
      answeredFor(cluster, 3000);
      if (holder(cluster) !== x) cluster.violate(`${VIP} moved`);
    },
  },
  {
    rule: 'unfencedNeedsEvidence',
    shows: 'a node that is cut off answers beside the one that took over',
    options: { fencing: 'Prefer' },
    play(cluster) {
      cluster.isolate(holder(cluster), 'both');
      cluster.runFor(ms(4000));
    },
  },
  {
    rule: 'digests',
    shows: 'a node that missed a move never hears of it',
    options: { nodes: 4, vips: 1 },
    play(cluster) {
      const x = holder(cluster);
      const [y = name('')] = without(cluster, x);
      const [deaf = name('')] = without(cluster, x, y);
      cluster.drops = (_from, to, { type }) => to === deaf && type === 'claims';
      cluster.handle(cluster.node(x), { type: 'handOver', vip: VIP, to: y });
      cluster.runFor(ms(600));
      cluster.drops = undefined;
      cluster.runFor(ms(1000));
      const known = cluster.node(deaf).state?.claims.get(VIP)?.claim.holder.node;
      if (known !== y) cluster.violate(`${deaf} still takes ${known} for the holder`);
    },
  },
];

/** Who takes over from `node` in a copy of the cluster. */
function replay(cluster: Cluster, node: NodeName): NodeName {
  const copy = warm(cluster.options);
  copy.crash(node);
  copy.runFor(ms(1000));
  return holder(copy);
}

function warm(options: ClusterOptions): Cluster {
  const cluster = new Cluster(options);
  cluster.startAll();
  cluster.run(ms(2500));
  return cluster;
}

function violations({ options, play, cold }: Counterexample, rules: Partial<Rules>): readonly string[] {
  const cluster = new Cluster({
    seed: 1,
    nodes: 3,
    vips: 1,
    fencing: 'Require',
    firstClaim: 'written',
    ...options,
    rules,
  });
  new Audit(cluster);
  if (cold !== true) {
    cluster.startAll();
    cluster.run(ms(2500));
  }
  play(cluster);
  return cluster.violations.map(({ what }) => what);
}

describe.each(COUNTEREXAMPLES)('$rule: $shows', (example) => {
  it('does not happen with all rules', () => {
    expect(violations(example, {})).toEqual([]);
  });

  it('happens without it', () => {
    expect(violations(example, { [example.rule]: false })).not.toEqual([]);
  });
});

it('the survivor of two takes over though nothing is heard any more that could wake it', () => {
  for (const phase of [0, 20, 40, 60, 80]) {
    const example = { options: { nodes: 2, fencing: 'Prefer' } } as const;
    const play = (cluster: Cluster) => {
      cluster.runFor(ms(phase));
      cluster.isolate(holder(cluster), 'both');
      answeredWithin(cluster, 3000);
    };
    expect(violations({ rule: 'holderGoesOn', shows: '', ...example, play }, {})).toEqual([]);
  }
});
