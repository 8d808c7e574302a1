import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { LeaderLab, VIP } from '../harness/leader-lab.ts';
import type { NodeLan } from '../harness/nodes.ts';
import { makeKeyFile, Speaker } from '../harness/speaker.ts';

/** The client is the gateway: without a neighbour that answers nobody claims without a majority. */
const prepare = async ({ nodes, client }: NodeLan) => {
  for (const node of nodes) await node.namespace.ip(`route add default via ${client.v4}`);
};

const fencedBy = async (speaker: Speaker) => (await speaker.vip(VIP))?.fenced;

test('two nodes that prefer fencing: the loss of either leaves the VIP served, and says that it is not fenced', async () => {
  await using lab = await LeaderLab.open({ nodes: 2, vips: [VIP], prepare });
  await lab.settled();
  const leader = await lab.leader();
  const [follower] = lab.others(leader) as [Speaker];
  const followerLost = await lab.watch(async () => {
    await lab.net.lan.block(follower.node.namespace);
    await eventually(
      'the leader goes on without a majority',
      () => fencedBy(leader),
      (fenced) => fenced === false,
    );
    await sleep(1000);
    await lab.net.lan.unblock(follower.node.namespace);
    await eventually('it is fenced again', () => fencedBy(leader));
    await lab.settled();
  });
  expect(followerLost.lost).toBe(0);
  expect(followerLost.turns.map(({ node }) => node)).toEqual([leader.name]);
  expect(followerLost.unanswered).toBeLessThan(100 + followerLost.stall);

  const leaderLost = await lab.watch(async () => {
    await lab.net.lan.block(leader.node.namespace);
    await lab.successor(leader, [follower]);
    expect(await fencedBy(follower)).toBe(false);
    await sleep(300);
    await lab.net.lan.unblock(leader.node.namespace);
    await lab.settled();
    await eventually('it is fenced again', () => fencedBy(follower));
  });
  expect(leaderLost.silence).toBeLessThan(3000);
  expect(await lab.leader()).toBe(follower);
});

test('two nodes that require fencing: without the other the VIP is dark, and the reason is said', async () => {
  await using lab = await LeaderLab.open({ nodes: 2, vips: [VIP], pool: { l2: { fencing: 'Require' } }, prepare });
  await lab.settled();
  const leader = await lab.leader();
  const [other] = lab.others(leader) as [Speaker];
  const seen = await lab.watch(async () => {
    await lab.net.lan.block(leader.node.namespace);
    const why = await eventually(
      'the reason is said',
      async () => (await other.vip(VIP))?.why ?? '',
      (text) => text.includes('no majority'),
    );
    expect(why).toContain(leader.name);
    await sleep(1500);
    expect((await other.vip(VIP))?.holder).not.toBe(other.name);
    await lab.net.lan.unblock(leader.node.namespace);
    await lab.settled();
    await lab.leader();
    await sleep(500);
  });
  expect(seen.unanswered).toBeGreaterThan(1500);
  expect(await fencedBy(other)).toBe(true);
});

test('two nodes and a witness: a lost leader is followed with a majority, within 500 ms, and the witness never leads', async () => {
  await using lab = await LeaderLab.open({
    nodes: 3,
    vips: [VIP],
    pool: { l2: { fencing: 'Require' } },
    flagsOf: { n3: ['--witness'] },
  });
  await lab.settled();
  const leader = await lab.leader();
  expect(leader.name).not.toBe('n3');
  const seen = await lab.watch(async () => {
    await lab.net.lan.block(leader.node.namespace);
    await lab.successor(leader, lab.others(leader));
    await sleep(300);
  });
  const next = await lab.leader(VIP, lab.others(leader));
  expect(next.name).not.toBe('n3');
  expect(await fencedBy(next)).toBe(true);
  expect(seen.turns.map(({ node }) => node)).toEqual([leader.name, next.name]);
  expect(seen.silence).toBeLessThan(500 + seen.stall);
});

test('two LANs and one cut port: the VIPs of that LAN move, and no other', async () => {
  const far = '192.168.60.100';
  await using lab = await LeaderLab.open({
    vips: [VIP, far],
    ranges: ['192.168.50.100-192.168.50.199', '192.168.60.100-192.168.60.199'],
    addressesOf: { n1: ['192.168.60.11'], n2: ['192.168.60.12'], n3: ['192.168.60.13'] },
    async prepare({ nodes, lan }) {
      for (const [i, { namespace }] of nodes.entries()) {
        await lan.attach(namespace, [`192.168.60.${11 + i}/24`], 'eth1');
      }
    },
  });
  await lab.settled();
  const before = await lab.leader();
  // Both VIPs are brought to one node.
  const farLeader = await lab.leader(far);
  if (farLeader !== before) {
    await farLeader.command('drain', { to: before.name });
    await eventually(
      'one node leads both',
      () => lab.leader(far),
      (leader) => leader === before,
    );
    await farLeader.command('undrain');
  }
  const seen = await lab.watch(async () => {
    await lab.net.lan.block(before.node.namespace, undefined, 'eth1');
    await lab.successor(before, lab.others(before), far);
    await sleep(1000);
  });
  expect(seen.lost).toBe(0);
  expect(seen.turns.map(({ node }) => node)).toEqual([before.name]);
  expect(await lab.leader()).toBe(before);
});

test('keys that differ: the node with the other key leads nothing, and is told who refuses it', async () => {
  await using lab = await LeaderLab.open();
  await lab.settled();
  const leader = await lab.leader();
  const [stranger] = lab.others(leader) as [Speaker];
  await stranger.stop();
  const keyFile = await makeKeyFile(lab.lab);
  const seen = await lab.watch(async () => {
    const other = await Speaker.start(lab.lab, stranger.node, {
      manifests: lab.manifests,
      peers: lab.net.nodes,
      keyFile,
    });
    const refused = await eventually(
      'it is told',
      async () => (await other.status()).conditions.find(({ message }) => message.includes('not accept our key')),
      undefined,
      { within: 10_000 },
    );
    for (const { name } of lab.others(stranger)) expect(refused?.message).toContain(name);
    await sleep(2000);
    await other.stop();
  });
  expect(seen.lost).toBe(0);
  expect(seen.turns.map(({ node }) => node)).toEqual([leader.name]);
});
