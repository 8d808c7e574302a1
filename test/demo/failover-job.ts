import { setTimeout as sleep } from 'node:timers/promises';
import { longestSilence } from '../harness/answers.ts';
import { LeaderLab, type Seen, VIP, VIP6, VIPS } from '../harness/leader-lab.ts';
import { programmed, type Speaker } from '../harness/speaker.ts';
import { lookAround } from './look-around.ts';
import type { Report, StepResult } from './report.ts';

/** DESIGN's promise for the default profile. */
const TAKEN_WITHIN_MS = 500;

/** How leadership passes on among five nodes: after faults, in order, and when all speakers go at once. */
export async function tell(report: Report, keep: boolean): Promise<void> {
  report.heading('A LAN of five nodes, a client, and a server beside them that is the endpoint');
  await using lab = await LeaderLab.open({ nodes: 5 });
  const { client, lan } = lab.net;
  report.note(`VIPs ${VIPS.join(' and ')}; the client sends 500 datagrams/s to one and asks 200 times/s who has both`);
  await lab.settled();
  const table = async () => {
    const { stdout } = await client.namespace.run([
      process.execPath,
      'dist/signpost.mjs',
      'leaders',
      '--socket',
      (lab.speakers[0] as Speaker).socket,
    ]);
    report.evidence('signpost leaders', stdout);
  };
  await table();

  report.heading('The node of the leader is lost without a word');
  for (const vip of VIPS) {
    await report.step(`another takes ${vip}`, async () => {
      const leader = await lab.leader(vip);
      const seen = await lab.watch(
        async () => {
          await lan.block(leader.node.namespace);
          await lab.successor(leader, lab.others(leader), vip);
          await sleep(300);
        },
        { vips: [vip] },
      );
      await lan.unblock(leader.node.namespace);
      await lab.settled();
      return judge(seen, { moves: 1, silence: TAKEN_WITHIN_MS });
    });
  }
  await report.step('the node comes back and takes nothing', async () => {
    const seen = await lab.watch(() => sleep(1000));
    return judge(seen, { moves: 0, lost: 0 });
  });

  report.heading('The process of the leader is paused for 2 s and resumed');
  await report.step('another takes the VIP, and the paused one answers no more', async () => {
    const leader = await lab.leader();
    const seen = await lab.watch(async () => {
      leader.signal('SIGSTOP');
      await sleep(2000);
      leader.signal('SIGCONT');
      await sleep(1000);
    });
    return judge(seen, { moves: 1, unanswered: TAKEN_WITHIN_MS });
  });

  report.heading('The cable of the leader carries one direction only (nft drops the other)');
  for (const [direction, text] of [
    ['received', 'it hears nothing, and is heard'],
    ['sent', 'it hears all, and is not heard'],
  ] as const) {
    await report.step(text, async () => {
      await lab.settled();
      const leader = await lab.leader();
      const seen = await lab.watch(async () => {
        await lan.block(leader.node.namespace, [direction]);
        await lab.successor(leader, lab.others(leader));
        await sleep(500);
        await lan.unblock(leader.node.namespace, [direction]);
        await lab.settled();
      });
      return judge(seen, { moves: 1, silence: TAKEN_WITHIN_MS });
    });
  }

  report.heading('The LAN is split in halves, the leader with the smaller one');
  await report.step('three nodes go on with a new leader, and there is one when the halves meet again', async () => {
    const leader = await lab.leader();
    const [with_, ...rest] = lab.others(leader);
    const small = [leader, with_ as Speaker].map(({ node }) => node.namespace);
    const large = rest.map(({ node }) => node.namespace);
    let healedAt = 0;
    const seen = await lab.watch(async () => {
      await lan.split(small, [...large, client.namespace, lab.server, lab.newcomer.namespace]);
      await lab.successor(leader, rest);
      // Long enough for the smaller half to claim without a majority.
      await sleep(2500);
      await lan.heal();
      healedAt = Date.now();
      await lab.settled();
      await lab.leader();
      await sleep(1000);
    });
    const after = lab.turns(seen.answers.filter(({ at }) => at > healedAt + 1000));
    const judged = judge(seen, { silence: TAKEN_WITHIN_MS });
    return {
      ...judged,
      ok: judged.ok && after.length === 1,
      detail: `${judged.detail}; 1 s after they met only ${after.map(({ node }) => node).join(', ')}`,
    };
  });

  report.heading('Every speaker is restarted, one after the other, under traffic (a rolling update)');
  await report.step('the VIPs move by hand-over', async () => {
    await lab.settled();
    const leaders = [await lab.leader()];
    const seen = await lab.watch(
      async () => {
        for (const speaker of lab.speakers) {
          await speaker.stop('SIGTERM');
          speaker.restart();
          await programmed(speaker);
          await lab.settled();
          const leader = await lab.leader();
          if (leader !== leaders.at(-1)) leaders.push(leader);
        }
      },
      { vips: VIPS },
    );
    const judged = judge(seen, { moves: leaders.length - 1, lost: 0, unanswered: 100 });
    return {
      ...judged,
      detail: `${judged.detail}; IPv6: ${longestSilence(seen.answers, VIP6)} ms without an answerer`,
    };
  });

  report.heading('All speakers are killed at once and started again');
  await report.step('open traffic goes on, and there is one leader again', async () => {
    const seen = await lab.watch(async () => {
      await Promise.all(lab.speakers.map((speaker) => speaker.stop('SIGKILL')));
      for (const speaker of lab.speakers) speaker.restart();
      await Promise.all(lab.speakers.map((speaker) => programmed(speaker)));
      await lab.settled();
      await lab.leader();
      await sleep(500);
    });
    const judged = judge(seen, { unanswered: 8000 });
    return { ...judged, ok: judged.ok && seen.turns.length <= 2 };
  });
  await table();

  if (keep) await lookAround(report, lab.speakers, client.namespace, VIP);
  await Promise.all(lab.speakers.map((speaker) => speaker.stop()));
}

interface Expected {
  /** How often leadership passes on: each node has one turn in the record, so no two answered at once. */
  readonly moves?: number;
  readonly lost?: number;
  /** At most so many milliseconds without an answer to the client's datagrams. */
  readonly silence?: number;
  /** At most so many milliseconds in which nobody answered ARP. */
  readonly unanswered?: number;
}

function judge(seen: Seen, expected: Expected): StepResult {
  const within = (value: number, limit: number | undefined) => limit === undefined || value <= limit;
  const ok =
    within(seen.lost, expected.lost) &&
    within(seen.silence, expected.silence) &&
    within(seen.unanswered, expected.unanswered) &&
    (expected.moves === undefined || seen.turns.length === expected.moves + 1);
  // Two halves that meet answer alternately for a moment: then each is named once.
  const answerers = seen.turns.map(({ node, mac }) => `${node} (${mac})`);
  const answered = answerers.length <= 4 ? answerers.join(', then ') : [...new Set(answerers)].join(' and ');
  return {
    ok,
    ms: seen.silence,
    lost: seen.lost,
    detail: `of ${seen.sent}; nobody answered ARP for ${seen.unanswered} ms; answered: ${answered}`,
  };
}
