import { expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { conditionOf, leaderOf } from '../harness/speaker.ts';
import { daemonLab, VIP, VIP6 } from './daemon-fixture.ts';

const SOON = { within: 10_000, every: 100 };

test('another member proves on the wire that a VIP answers, and says when it does not', async () => {
  await using lab = await daemonLab();
  const { speakers } = lab;
  const conditions = () =>
    Promise.all(speakers.map(async (speaker) => conditionOf(await speaker.route('web'), 'Reachable')));
  const leaders = [await leaderOf(speakers, VIP), await leaderOf(speakers, VIP6)];
  // Without an API server each node knows what it asked itself.
  const others = speakers.filter((speaker) => !leaders.includes(speaker));
  const first = await eventually(
    'each VIP was asked for by one',
    () => Promise.all(speakers.map(async (speaker) => (await speaker.vip(VIP))?.proof)),
    (proofs) => proofs.filter((proof) => proof?.reachable === true).length === 1,
    SOON,
  );
  const verifier = speakers[first.findIndex((proof) => proof !== undefined)];
  expect(verifier).not.toBe(leaders[0]);
  expect(others.length).toBeGreaterThan(0);

  await lab.lan.bridge.run(['nft', '-f', '-'], {
    input: [
      'add table bridge silent',
      'add chain bridge silent forward { type filter hook forward priority 1; }',
      `add rule bridge silent forward ether type arp arp operation reply arp saddr ip ${VIP} drop`,
    ].join('\n'),
  });
  await leaders[0]?.command('drain');
  await eventually(
    'another leader',
    () => leaderOf(speakers, VIP),
    (leader) => leader !== leaders[0],
    SOON,
  );
  const told = await eventually(
    'it is told',
    conditions,
    (all) => all.some((condition) => condition?.reason === 'Unanswered'),
    SOON,
  );
  const message = told.find((condition) => condition?.status === 'False')?.message;
  expect(message).toMatch(/^n\d asked the LAN for 192\.168\.50\.100, which n\d holds: nobody answered/);
});
