import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { claimByArp } from '../harness/arp.ts';
import { eventually } from '../harness/eventually.ts';
import { Flows } from '../harness/flows.ts';
import { ECHO, LeaderLab, VIP, VIP6 } from '../harness/leader-lab.ts';
import { note, RUNS } from '../harness/soak.ts';
import { programmed, type Speaker } from '../harness/speaker.ts';

const CONNECTIONS = 200;
/** Datagrams a second, at least this many in all. */
const RATE = 1000;

let lab: LeaderLab;
beforeAll(async () => {
  lab = await LeaderLab.open();
  await lab.settled();
});
afterAll(() => lab[Symbol.asyncDispose]());

const openFlows = (vip: string) => Flows.open(lab.net.client.namespace, vip, ECHO.tcp, CONNECTIONS);

async function handOver(vip: string, from: Speaker, to: Speaker): Promise<void> {
  await from.command('drain', { to: to.name });
  expect(await lab.successor(from, lab.speakers, vip)).toBe(to);
  await from.command('undrain');
}

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
  'two drained leaders of %s, one after the other: none of 200 open connections to each ends',
  async (vip) => {
    for (let run = 0; run < RUNS; run++) {
      await lab.settled();
      const first = await lab.leader(vip);
      const [second, third] = lab.others(first) as [Speaker, Speaker];
      const early = await openFlows(vip);
      await handOver(vip, first, second);
      const late = await openFlows(vip);
      await sleep(1000);
      await handOver(vip, second, third);
      await sleep(1000);
      const failures = [...(await early.stop()), ...(await late.stop())];
      expect(failures).toEqual([]);
      for (const { exchanges } of [early, late]) expect(exchanges).toBeGreaterThan(2 * CONNECTIONS);
    }
  },
  RUNS * 20_000,
);

test('a rolling update: every speaker is replaced, no packet is lost, no connection ends, one answers at a time', async () => {
  await lab.settled();
  const leaders = [await lab.leader()];
  const flows = [await openFlows(VIP)];
  const seen = await lab.watch(
    async () => {
      for (const speaker of lab.speakers) {
        const { code } = await speaker.stop('SIGTERM');
        expect(code).toBe(0);
        speaker.restart();
        await programmed(speaker);
        await lab.settled();
        const leader = await lab.leader();
        if (leader === leaders.at(-1)) continue;
        leaders.push(leader);
        flows.push(await openFlows(VIP));
      }
    },
    { perSecond: RATE },
  );
  expect(seen.lost).toBe(0);
  expect(seen.turns.map(({ node }) => node)).toEqual(leaders.map(({ name }) => name));
  expect(leaders.length).toBeGreaterThan(1);
  const failures = await Promise.all(flows.map((some) => some.stop()));
  expect(failures.flat()).toEqual([]);
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
