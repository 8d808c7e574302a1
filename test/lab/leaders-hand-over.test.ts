import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { claimByArp } from '../harness/arp.ts';
import { eventually } from '../harness/eventually.ts';
import { Flows } from '../harness/flows.ts';
import { ECHO, LeaderLab, VIP, VIP6 } from '../harness/leader-lab.ts';
import { note, RUNS } from '../harness/soak.ts';
import { programmed } from '../harness/speaker.ts';

const CONNECTIONS = 200;
/** Datagrams a second, at least this many in all. */
const RATE = 1000;

let lab: LeaderLab;
beforeAll(async () => {
  lab = await LeaderLab.open();
  await lab.settled();
});
afterAll(() => lab[Symbol.asyncDispose]());

test.each([VIP, VIP6])(
  'a drained leader of %s: no packet of 1,000 a second is lost, one answers at a time',
  async (vip) => {
    const gaps: number[] = [];
    for (let run = 0; run < RUNS; run++) {
      await lab.settled();
      const leader = await lab.leader(vip);
      const seen = await lab.watch(
        async () => {
          await sleep(400);
          await leader.command('drain');
          await lab.successor(leader, lab.speakers, vip);
          await sleep(600);
        },
        { vips: [vip], perSecond: RATE },
      );
      await leader.command('undrain');
      expect(seen.sent).toBeGreaterThanOrEqual(RATE);
      expect(seen.lost).toBe(0);
      expect(seen.turns.map(({ node }) => node)).toEqual([leader.name, expect.not.stringMatching(leader.name)]);
      gaps.push(seen.unanswered);
    }
    note(`hand-over of ${vip}, without an answer to ARP or ND (asked every 5 ms)`, gaps);
  },
  RUNS * 20_000,
);

test.each([VIP, VIP6])(
  'a drained leader of %s: none of 200 open connections ends',
  async (vip) => {
    for (let run = 0; run < RUNS; run++) {
      await lab.settled();
      const leader = await lab.leader(vip);
      const flows = await Flows.open(lab.net.client.namespace, vip, ECHO.tcp, CONNECTIONS);
      await leader.command('drain');
      await lab.successor(leader, lab.speakers, vip);
      await sleep(1000);
      const failures = await flows.stop();
      await leader.command('undrain');
      expect(failures).toEqual([]);
      expect(flows.exchanges).toBeGreaterThan(2 * CONNECTIONS);
    }
  },
  RUNS * 20_000,
);

test('a rolling update: every speaker is replaced, no packet is lost, one answers at a time', async () => {
  await lab.settled();
  const leaders = [await lab.leader()];
  const seen = await lab.watch(
    async () => {
      for (const speaker of lab.speakers) {
        const { code } = await speaker.stop('SIGTERM');
        expect(code).toBe(0);
        speaker.restart();
        await programmed(speaker);
        await lab.settled();
        const leader = await lab.leader();
        if (leader !== leaders.at(-1)) leaders.push(leader);
      }
    },
    { perSecond: RATE },
  );
  expect(seen.lost).toBe(0);
  expect(seen.turns.map(({ node }) => node)).toEqual(leaders.map(({ name }) => name));
  expect(leaders.length).toBeGreaterThan(1);
});

test("an interface that loses the node's own address: the VIP is handed over", async () => {
  await lab.settled();
  const leader = await lab.leader();
  const { namespace, v4 } = leader.node;
  await namespace.ip(`address del ${v4}/24 dev eth0`);
  await lab.successor(leader, lab.others(leader));
  await namespace.ip(`address add ${v4}/24 dev eth0`);
  await lab.settled();
});

test('a host that takes the VIP by ARP and gives it back: one leader goes on, and says who it was', async () => {
  await lab.settled();
  const leader = await lab.leader();
  const { namespace } = lab.newcomer;
  await namespace.ip(`address add ${VIP}/24 dev eth0`);
  await claimByArp(namespace, VIP);
  const conflicted = async () =>
    (await leader.route('echo-1'))?.conditions.find(({ type }) => type === 'Conflicted')?.message;
  const mac = await namespace.mac();
  await eventually('the stranger is named', conflicted, (message) => message?.includes(mac) === true);
  expect(await lab.leader()).toBe(leader);
  await namespace.ip(`address del ${VIP}/24 dev eth0`);
  const seen = await lab.watch(() => sleep(1500));
  expect(seen.turns.map(({ node }) => node)).toEqual([leader.name]);
  // The client may have believed the stranger until it asked again.
  expect(seen.silence).toBeLessThan(1000);
});
