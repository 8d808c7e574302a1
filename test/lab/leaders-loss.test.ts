import { spawnSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { ECHO, LeaderLab, VIP, VIP6 } from '../harness/leader-lab.ts';
import { Probe } from '../harness/probe.ts';
import { Relay } from '../harness/relay.ts';
import { note, RUNS, SOAK } from '../harness/soak.ts';
import { programmed, type Speaker } from '../harness/speaker.ts';

/** Node loss to the first answered packet, default profile. A machine whose processors are busy adds its own. */
const TAKEN_WITHIN_MS = 500;
const SCHED_RR = 2;

/** proc_pid_stat(5), field 41; the second field, in brackets, may have spaces. */
function policyOf(stat: string): number {
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[41 - 3]);
}

describe.each(SOAK ? [3, 5] : [3])('%i nodes', (nodes) => {
  let lab: LeaderLab;
  beforeAll(async () => {
    lab = await LeaderLab.open({ nodes });
    await lab.settled();
  });
  afterAll(() => lab[Symbol.asyncDispose]());

  test.each([VIP, VIP6])(
    'a node is lost: %s is answered again within 500 ms, by one node at a time',
    async (vip) => {
      const warm: number[] = [];
      const cold: number[] = [];
      for (let run = 0; run < RUNS; run++) {
        const leader = await lab.leader(vip);
        const { namespace } = lab.newcomer;
        await namespace.run(['ip', 'neigh', 'flush', 'to', vip]);
        let fromCut = Number.POSITIVE_INFINITY;
        const seen = await lab.watch(
          async () => {
            const cutAt = performance.now();
            await lab.net.lan.block(leader.node.namespace);
            const startedAt = performance.now();
            const probe = await Probe.start(namespace, vip, ECHO.udp, 500);
            await lab.successor(leader, lab.others(leader), vip);
            await sleep(200);
            fromCut = startedAt - cutAt + (await probe.stop()).firstAnswer;
          },
          { vips: [vip] },
        );
        await lab.net.lan.unblock(leader.node.namespace);
        expect(seen.turns.map(({ node }) => node)).toEqual([leader.name, expect.not.stringMatching(leader.name)]);
        expect(seen.silence).toBeLessThan(TAKEN_WITHIN_MS + seen.stall);
        expect(fromCut).toBeLessThan(TAKEN_WITHIN_MS + seen.stall);
        warm.push(seen.silence);
        cold.push(Math.round(fromCut));
        await lab.settled();
      }
      note(`node loss, ${nodes} nodes, ${vip}, warm neighbour entry`, warm);
      note(`node loss, ${nodes} nodes, ${vip}, cold neighbour entry`, cold);
    },
    RUNS * 20_000,
  );

  test('one thread, the wire, goes before all ordinary ones of the machine', async () => {
    const { pid } = lab.speakers[0] as Speaker;
    const threads = await readdir(`/proc/${pid}/task`);
    const stats = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8')));
    // Where a container may not, the daemon goes on without.
    const permitted = spawnSync('chrt', ['--rr', '1', 'true']).status === 0;
    expect(stats.map(policyOf).filter((policy) => policy === SCHED_RR)).toHaveLength(permitted ? 1 : 0);
  });

  test('a pause of 300 ms: one answers at a time, and the pause is what it costs', async () => {
    const leader = await lab.leader();
    const seen = await lab.watch(async () => {
      leader.signal('SIGSTOP');
      await sleep(300);
      leader.signal('SIGCONT');
      await sleep(700);
    });
    expect(seen.lost).toBe(0);
    expect(seen.turns.length).toBeLessThanOrEqual(2);
    expect(seen.unanswered).toBeLessThan(TAKEN_WITHIN_MS + seen.stall);
  });

  test('a pause of 2 s: another takes the VIP, and the paused one does not answer when it wakes', async () => {
    await lab.settled();
    const leader = await lab.leader();
    const seen = await lab.watch(async () => {
      leader.signal('SIGSTOP');
      await sleep(2000);
      leader.signal('SIGCONT');
      await sleep(1000);
    });
    expect(seen.lost).toBe(0);
    expect(seen.turns.map(({ node }) => node)).toEqual([leader.name, expect.not.stringMatching(leader.name)]);
    expect(seen.unanswered).toBeLessThan(TAKEN_WITHIN_MS + seen.stall);
  });

  test('SIGKILL and a start at once: one answers at a time, and no packet is lost', async () => {
    await lab.settled();
    const leader = await lab.leader();
    const seen = await lab.watch(async () => {
      await leader.stop('SIGKILL');
      leader.restart();
      await programmed(leader);
      await sleep(500);
    });
    expect(seen.lost).toBe(0);
    expect(seen.turns.length).toBeLessThanOrEqual(2);
    expect(seen.unanswered).toBeLessThan(TAKEN_WITHIN_MS + seen.stall);
  });

  test.each([10, 30])('%i percent of all frames are lost for 3 s: one answers at a time', async (percent) => {
    await lab.settled();
    const seen = await lab.watch(async () => {
      await lab.net.lan.lose(percent);
      await sleep(3000);
      await lab.net.lan.lose(0);
      await sleep(500);
    });
    expect(seen.lost).toBeGreaterThan(0);
    expect(seen.turns.length).toBeLessThanOrEqual(2);
    await lab.settled();
    await lab.leader();
  });

  test('datagrams that come late, out of order and twice move nothing', async () => {
    await lab.settled();
    const leader = await lab.leader();
    const hosts = lab.net.nodes.map(({ namespace }) => namespace);
    let passed = 0;
    const seen = await lab.watch(async () => {
      await using relay = await Relay.start(lab.net.lan, hosts, { port: 7947, delay: 60, twicePercent: 30 });
      await sleep(3000);
      passed = relay.passed;
    });
    expect(passed).toBeGreaterThan(100);
    expect(seen.turns.map(({ node }) => node)).toEqual([leader.name]);
    await lab.settled();
  });

  test('a cable that carries one direction only is as good as cut', async () => {
    await lab.settled();
    for (const direction of ['sent', 'received'] as const) {
      const leader = await lab.leader();
      const seen = await lab.watch(async () => {
        await lab.net.lan.block(leader.node.namespace, [direction]);
        await lab.successor(leader, lab.others(leader));
        await sleep(300);
        await lab.net.lan.unblock(leader.node.namespace, [direction]);
        await lab.settled();
      });
      expect(seen.turns.map(({ node }) => node)).toEqual([leader.name, expect.not.stringMatching(leader.name)]);
      expect(seen.silence).toBeLessThan(TAKEN_WITHIN_MS + seen.stall);
    }
  });

  test('all speakers are killed and started: open traffic goes on, and one leads again', async () => {
    await lab.settled();
    const seen = await lab.watch(async () => {
      await Promise.all(lab.speakers.map((speaker) => speaker.stop('SIGKILL')));
      for (const speaker of lab.speakers) speaker.restart();
      await eventually(
        'every speaker answers',
        () => Promise.all(lab.speakers.map((speaker) => speaker.status())),
        undefined,
        { within: 15_000 },
      );
      await lab.leader();
      await sleep(300);
    });
    expect(seen.lost).toBe(0);
    expect(seen.turns.length).toBeLessThanOrEqual(2);
  });
});
