import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import type { Pod } from '../harness/nodes.ts';
import { leaderOf, programmed, type Speaker } from '../harness/speaker.ts';
import { VIP, VIP6 } from './daemon-fixture.ts';
import { Connections, type DirectLab, directLab, directRoute, seesClient, webService } from './direct-fixture.ts';

/** Both families, a line every 50 ms each way over every one. */
const OPEN = 200;

let lab: DirectLab;

beforeAll(async () => {
  lab = await directLab({ nodes: 4 });
});
afterAll(() => lab[Symbol.asyncDispose]());
beforeEach(() => settled());

const podOf = (speaker: Speaker) => speaker.node.pods[0]?.name ?? '';

/** Runs a change under open connections; what failed, by pod. */
async function underConnections(change: () => Promise<void>) {
  const connections = await Connections.open(lab, OPEN);
  expect(connections.backends.size).toBeGreaterThan(1);
  await change();
  // Every connection is used several times after the change.
  await sleep(1_000);
  const { failed, why, exchanges } = await connections.finish();
  expect(exchanges).toBeGreaterThan(OPEN * 2);
  return { failed, why };
}

/** Everybody is there, and has the same table of all pods. */
async function settled(): Promise<void> {
  await Promise.all(lab.speakers.map((speaker) => programmed(speaker)));
  for (const vip of [VIP, VIP6]) await leaderOf(lab.speakers, vip);
  const even = Object.fromEntries(lab.nodes.map(({ name }) => [name, 1 / lab.nodes.length]));
  await eventually(
    'every node has its share',
    () => Promise.all(lab.speakers.map((speaker) => speaker.route('web'))),
    (views) =>
      views.every((view) => {
        const shares = view?.forwarding.flatMap((forwarding) => Object.values(forwarding.shares)) ?? [];
        return shares.length === 6 && shares.every((share) => isDeepStrictEqual(share, even));
      }),
    { within: 10_000 },
  );
}

describe('no connection is reset whose endpoint lives', () => {
  test('when the leader is lost without warning', async () => {
    const leader = await leaderOf(lab.speakers, VIP);
    const others = lab.speakers.filter((speaker) => speaker !== leader);
    const { failed, why } = await underConnections(async () => {
      await lab.lan.unplug(leader.node.namespace);
      for (const vip of [VIP, VIP6]) {
        await eventually(
          'another leader',
          () => leaderOf(others, vip),
          (next) => next !== leader,
        );
      }
    });
    expect(
      failed.filter((pod) => pod !== podOf(leader)),
      why.join('\n'),
    ).toEqual([]);
    // The address of the other family may have another leader, but the node's own endpoint is gone for both.
    expect(failed.length).toBeGreaterThan(0);
    await lab.lan.plug(leader.node.namespace);
    await eventually(
      'the node is back',
      () => leader.status(),
      ({ leases }) => leases.every(({ held }) => held),
      { within: 10_000 },
    );
  });

  test('when the leader hands over', async () => {
    const leader = await leaderOf(lab.speakers, VIP);
    const { why } = await underConnections(async () => {
      await leader.command('drain');
      await eventually(
        'another leader',
        () => leaderOf(lab.speakers, VIP),
        (next) => next !== leader,
      );
    });
    expect(why).toEqual([]);
    await leader.command('undrain');
  });

  test('when all speakers are restarted one after the other', async () => {
    const { why } = await underConnections(async () => {
      for (const speaker of lab.speakers) {
        await speaker.stop('SIGTERM');
        speaker.restart();
        await programmed(speaker);
      }
    });
    expect(why).toEqual([]);
  });

  test('when a speaker is killed and comes back', async () => {
    const leader = await leaderOf(lab.speakers, VIP);
    const { why } = await underConnections(async () => {
      await leader.stop('SIGKILL');
      await sleep(1_000);
      leader.restart();
      await programmed(leader);
    });
    expect(why).toEqual([]);
  });

  test('when an endpoint goes (drained), and when it comes back', async () => {
    const gone = await underConnections(() => lab.serve(lab.pods.slice(1)));
    expect(gone.why).toEqual([]);
    const back = await underConnections(() => lab.serve(lab.pods));
    expect(back.why).toEqual([]);
  });

  test('when the endpoints move on and on, farther than one change, and a speaker is restarted then', async () => {
    const [a, b, c, d] = lab.pods as [Pod, Pod, Pod, Pod];
    const { why } = await underConnections(async () => {
      for (const pods of [[b, c, d], [c, d], [d], [a], [b], [c, a]]) {
        await lab.serve(pods);
        await sleep(300);
      }
      const leader = await leaderOf(lab.speakers, VIP);
      await leader.stop('SIGTERM');
      leader.restart();
      await programmed(leader);
    });
    expect(why).toEqual([]);
    await lab.serve(lab.pods);
  });

  test('when weights change', async () => {
    const [first, second, ...rest] = lab.pods as [Pod, Pod, ...Pod[]];
    const split = (weights: readonly [number, number]) =>
      Promise.all([
        lab.manifests.write('services.yaml', ...webService([first, second]), ...webService(rest, 'other')),
        lab.manifests.write('web.yaml', directRoute('Direct', {}, { web: weights[0], other: weights[1] })),
      ]);
    await split([1, 1]);
    await sleep(500);
    for (const weights of [
      [1, 4],
      [5, 1],
    ] as const) {
      const { why } = await underConnections(async () => {
        await split(weights);
      });
      expect(why).toEqual([]);
    }
    await lab.forwardBy('Direct');
    await lab.serve(lab.pods);
  });

  test('when others delete the tables of the leader', async () => {
    const leader = await leaderOf(lab.speakers, VIP);
    // What needs a second chance has none while the table is gone: all must begin with the tables that stay.
    await sleep(1_000);
    const { why } = await underConnections(async () => {
      for (const table of ['netdev signpost', 'ip signpost-direct', 'ip6 signpost-direct']) {
        await leader.node.namespace.run(['nft', 'delete', 'table', ...table.split(' ')]);
        await eventually(
          `${table} is back`,
          () => leader.node.namespace.run(['nft', 'list', 'tables']),
          ({ stdout }) => stdout.includes(table),
          { within: 6_000 },
        );
      }
    });
    expect(why).toEqual([]);
  });

  test('when the mode changes to Endpoints and back', async () => {
    const { why } = await underConnections(async () => {
      await lab.forwardBy('Endpoints');
      await sleep(500);
    });
    expect(why).toEqual([]);
    const back = await underConnections(async () => {
      await lab.forwardBy('Direct');
      await seesClient(lab, VIP);
    });
    expect(back.why).toEqual([]);
  });
});
