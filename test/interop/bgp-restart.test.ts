import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Speaker } from '../../bgp/index.ts';
import { eventually } from '../harness/eventually.ts';
import { Lab } from '../harness/lab.ts';
import type { Namespace } from '../harness/namespace.ts';
import { kernelRoutes, type Router } from '../harness/routers/router.ts';
import { established, hosts, routerIn, routes, settings, speakerIn } from './bgp-fixture.ts';

const ROUTE = '203.0.113.1/32';
const ROUTES = routes([ROUTE, '203.0.113.2/32', '2001:db8::1/128']);
const NEVER = new AbortController().signal;

function announce(lab: Lab, node: Namespace, restarted: boolean): Speaker {
  const { speaker } = speakerIn(lab, node, { restarted });
  speaker.setPeer('router', settings());
  speaker.setRoutes('router', ROUTES);
  return speaker;
}

async function isThere(router: Router): Promise<boolean> {
  return (await router.paths('ipv4')).some(({ prefix }) => prefix === ROUTE);
}

/** Looks at the table as often as it can until it is told to stop. */
class Watch {
  looks = 0;
  gaps = 0;
  #watching = true;
  readonly #done: Promise<void>;

  constructor(look: () => Promise<boolean>) {
    this.#done = this.#run(look);
  }

  async stop(): Promise<void> {
    this.#watching = false;
    await this.#done;
  }

  async #run(look: () => Promise<boolean>): Promise<void> {
    while (this.#watching) {
      if (!(await look())) this.gaps++;
      this.looks++;
      await sleep(10);
    }
  }
}

describe.each(['frr', 'bird', 'gobgp', 'openbgpd'] as const)('%s keeps our routes over a restart', (kind) => {
  test('of the process: no gap, and nothing stale remains', async () => {
    await using lab = await Lab.open();
    const { node, there } = await hosts(lab);
    const router = await routerIn(lab, there, kind);
    const first = announce(lab, node, false);
    await established(first, router);
    const inKernel = kind === 'frr' || kind === 'bird';
    const look = inKernel
      ? async () =>
          (await kernelRoutes(there, 'ipv4')).some(
            ({ prefix }) => prefix === ROUTE.replace('/32', '') || prefix === ROUTE,
          )
      : () => isThere(router);
    await eventually('the route', look);
    // The kernel tells of every change, also between two looks.
    const monitor = inKernel ? there.start(['ip', '-4', 'monitor', 'route']) : undefined;
    await sleep(300);
    const watch = new Watch(look);
    await sleep(200);
    await first.close('restart', NEVER);
    await eventually(
      'the router has lost us',
      () => router.session('10.204.0.10'),
      (state) => state !== 'Established',
    );
    await sleep(500);
    const second = announce(lab, node, true);
    await established(second, router);
    await eventually(
      'the routes are fresh',
      () => router.paths('ipv4'),
      (paths) => paths.length === 2 && paths.every(({ stale }) => !stale),
    );
    await sleep(500);
    await watch.stop();
    expect(watch.looks).toBeGreaterThan(10);
    expect(watch.gaps).toBe(0);
    expect(monitor?.lines.filter((line) => line.includes('203.0.113.') && line.startsWith('Deleted')) ?? []).toEqual(
      [],
    );
    expect(second.status()).toMatchObject([{ families: [{ gracefulRestart: true }, { gracefulRestart: true }] }]);
  });

  test('but not over a shutdown', async () => {
    await using lab = await Lab.open();
    const { node, there } = await hosts(lab);
    const router = await routerIn(lab, there, kind);
    const speaker = announce(lab, node, false);
    await established(speaker, router);
    await eventually('the route', () => isThere(router));
    await speaker.close('shutdown', NEVER, 'node goes away');
    await eventually(
      'no route',
      () => isThere(router),
      (there_) => !there_,
      { within: 6_000 },
    );
  });
});

test('a shutdown says first that the routes will go (RFC 8326)', async () => {
  await using lab = await Lab.open();
  const { node, there } = await hosts(lab);
  const router = await routerIn(lab, there, 'bird');
  const { speaker } = speakerIn(lab, node, { gracefulShutdownWait: 4_000 });
  speaker.setPeer('router', settings());
  speaker.setRoutes('router', ROUTES);
  await established(speaker, router);
  await eventually('the route', () => isThere(router));
  const closed = speaker.close('shutdown', NEVER);
  await eventually(
    'the community',
    () => router.paths('ipv4'),
    (paths) => paths.length === 2 && paths.every(({ communities }) => communities.includes('65535:0')),
    { within: 3_500 },
  );
  await closed;
  await eventually(
    'no route',
    () => isThere(router),
    (still) => !still,
  );
  expect(await router.cli('show protocols all peer0')).toMatch(/shutting down/);
});

test('a cut cable ends the session at both ends by the hold timer, and it comes back', async () => {
  await using lab = await Lab.open();
  const { node, there, lan } = await hosts(lab);
  const router = await routerIn(lab, there, 'bird', { holdTime: 3, stalePathTime: 0 });
  const { speaker, events } = speakerIn(lab, node);
  speaker.setPeer('router', settings({ holdTime: 3, keepaliveTime: 1 }));
  speaker.setRoutes('router', ROUTES);
  await established(speaker, router);
  await eventually('the route', () => isThere(router));
  const cut = performance.now();
  await lan.block(node);
  await eventually(
    'we have noticed',
    () => speaker.status()[0]?.state,
    (state) => state !== 'Established',
  );
  const noticed = performance.now() - cut;
  expect(noticed).toBeGreaterThan(1_900);
  expect(noticed).toBeLessThan(3_500);
  expect(events).toContainEqual(
    expect.objectContaining({ kind: 'notification', direction: 'sent', text: 'Hold Timer Expired (4/0)' }),
  );
  await eventually(
    'no route',
    () => isThere(router),
    (still) => !still,
  );
  await lan.unblock(node);
  await established(speaker, router);
  await eventually('the route again', () => isThere(router));
});
