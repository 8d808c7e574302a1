import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { BfdSpeaker } from '../../bgp/bfd/speaker.ts';
import type { BfdEvent } from '../../bgp/bfd/status.ts';
import type { Path } from '../../bgp/bfd/table.ts';
import { nodeSchedule } from '../../bgp/bfd/transport.ts';
import { linuxNetwork } from '../../bgp/bfd/transport-linux.ts';
import type { Parameters } from '../../bgp/bfd/types.ts';
import { monotonicClock } from '../../net/clock.ts';
import type { Ip } from '../../net/ip.ts';
import { bfdVerdict } from '../../src/act/bgp/bfd.ts';
import { UdpSender } from '../../sys/udp-socket.ts';
import { eventually } from '../harness/eventually.ts';
import { Lab } from '../harness/lab.ts';
import type { Namespace } from '../harness/namespace.ts';
import type { BfdPeerConfig, RouterKind } from '../harness/routers/router.ts';
import { startRouter } from '../harness/routers.ts';
import {
  NODE as BGP_NODE,
  ROUTER as BGP_ROUTER,
  speakerIn as bgpSpeakerIn,
  established,
  hosts,
  routerIn,
  settings,
} from './bgp-fixture.ts';

const NODE = { v4: '10.202.0.10', v6: 'fd00:202::10' };
const ROUTER = { v4: '10.202.0.1', v6: 'fd00:202::1' };
const TIMERS = { transmit: 100, receive: 100, multiplier: 3 };
const PARAMETERS: Parameters = { desiredMinTx: 100_000, requiredMinRx: 100_000, detectMultiplier: 3 };

interface Timed extends BfdEvent {
  /** Milliseconds of performance.now(). */
  readonly at: number;
}

function speakerIn(lab: Lab, namespace: Namespace, onEvent: (event: BfdEvent) => void = () => undefined) {
  const events: Timed[] = [];
  const speaker = new BfdSpeaker({
    network: {
      // The scope of a source has a name in the thread's own namespace, which is not the speaker's here.
      listen: (hops, family, onPacket) =>
        namespace.enter(() =>
          linuxNetwork.listen(hops, family, (payload, { source }) => onPacket(payload, { source })),
        ),
      open: (...args) => namespace.enter(() => linuxNetwork.open(...args)),
    },
    schedule: nodeSchedule,
    clock: monotonicClock,
    random: Math.random,
    onEvent: (event) => {
      events.push({ ...event, at: performance.now() });
      onEvent(event);
    },
  });
  lab.defer(() => speaker[Symbol.dispose]());
  return { speaker, events };
}

async function neighbors(lab: Lab, kind: RouterKind, peer: Partial<BfdPeerConfig> & Pick<BfdPeerConfig, 'address'>) {
  const lan = await lab.lan('lan');
  const [node, there] = await Promise.all([
    lab.host('node', lan, [`${NODE.v4}/24`, `${NODE.v6}/64`]),
    lab.host('router', lan, [`${ROUTER.v4}/24`, `${ROUTER.v6}/64`]),
  ]);
  const router = await startRouter(lab, there, kind, {
    asn: 65000,
    routerId: ROUTER.v4,
    bfdPeers: [{ ...TIMERS, ...peer }],
  });
  return { lan, node, router, ...speakerIn(lab, node) };
}

const FAMILIES = [
  ['IPv4', NODE.v4, ROUTER.v4],
  ['IPv6', NODE.v6, ROUTER.v6],
] as const;

describe.each(['frr', 'bird'] as const)('%s', (kind) => {
  test.each(FAMILIES)('%s: up at the negotiated times, each sees the other fall silent', async (_, here, remote) => {
    await using lab = await Lab.open();
    const { lan, node, router, speaker, events } = await neighbors(lab, kind, {
      address: here,
      localAddress: remote,
      interface: 'eth0',
    });
    const path: Path = { remote: remote as Ip, local: here as Ip, hops: 'single' };
    speaker.upsert('router', { path, parameters: { ...PARAMETERS, requiredMinRx: 200_000 } });
    await eventually(
      'Up',
      () => speaker.status()[0]?.state,
      (state) => state === 'Up',
    );
    await eventually(
      'Up there',
      () => router.bfd(here),
      (s) => s?.state === 'Up',
    );
    await eventually(
      'negotiated',
      () => speaker.status()[0],
      (s) => s?.detectionTime === 600 && s.transmitInterval === 100,
    );
    await eventually(
      'negotiated there',
      () => router.bfd(here),
      (s) => s?.transmit === 200 && s.detectionTime === 300,
    );

    await lan.block(node);
    const cutAt = performance.now();
    await eventually(
      'the node sees it',
      () => events.at(-1),
      (event) => event?.to === 'Down',
    );
    expect(events.at(-1)).toMatchObject({ from: 'Up', diagnostic: 1 });
    expect((events.at(-1)?.at ?? 0) - cutAt).toBeLessThan(600 + 50);
    await eventually(
      'the router sees it',
      () => router.bfd(here),
      (s) => s?.state === 'Down',
    );

    await lan.unblock(node);
    await eventually(
      'Up again',
      () => speaker.status()[0]?.state,
      (state) => state === 'Up',
    );
  });

  test('holds through changes of parameters, and says AdminDown when it ends', async () => {
    await using lab = await Lab.open();
    const { router, speaker, events } = await neighbors(lab, kind, {
      address: NODE.v4,
      localAddress: ROUTER.v4,
      interface: 'eth0',
    });
    const path: Path = { remote: ROUTER.v4 as Ip, local: NODE.v4 as Ip, hops: 'single' };
    speaker.upsert('router', { path, parameters: PARAMETERS });
    await eventually(
      'Up',
      () => router.bfd(NODE.v4),
      (s) => s?.state === 'Up',
    );
    for (const desiredMinTx of [400_000, 50_000]) {
      speaker.upsert('router', { path, parameters: { ...PARAMETERS, desiredMinTx } });
      const interval = Math.max(desiredMinTx / 1000, TIMERS.receive);
      await eventually(
        'ours applies',
        () => speaker.status()[0],
        (s) => s?.transmitInterval === interval,
      );
      await eventually(
        'theirs follows',
        () => router.bfd(NODE.v4),
        (s) => s?.detectionTime === 3 * interval,
      );
    }
    expect(events.map(({ to }) => to).at(-1)).toBe('Up');
    expect(events.filter(({ to }) => to === 'Down')).toEqual([]);
    speaker.delete('router', 'admin-down');
    await eventually(
      'the router hears of AdminDown',
      () => router.bfd(NODE.v4),
      (s) => s?.state === 'Down',
      { within: 250 },
    );
  });
});

describe.each(['frr', 'bird'] as const)('%s', (kind) => {
  test.each(FAMILIES)('multihop over %s', async (_, here, remote) => {
    await using lab = await Lab.open();
    const { router, speaker } = await neighbors(lab, kind, { address: here, localAddress: remote, multihop: true });
    speaker.upsert('router', {
      path: { remote: remote as Ip, local: here as Ip, hops: 'multi' },
      parameters: PARAMETERS,
    });
    await eventually(
      'Up',
      () => speaker.status()[0]?.state,
      (state) => state === 'Up',
    );
    await eventually(
      'Up there',
      () => router.bfd(here),
      (s) => s?.state === 'Up',
    );
  });

  test('a path that BFD finds dead ends the BGP session at both ends, long before the hold time', async () => {
    await using lab = await Lab.open();
    const { node, there, lan } = await hosts(lab);
    const router = await routerIn(lab, there, kind, { bfd: TIMERS, holdTime: 90, stalePathTime: 0 });
    const { speaker: bgp } = bgpSpeakerIn(lab, node);
    bgp.setPeer('router', settings({ holdTime: 90 }));
    const { speaker: bfd } = speakerIn(lab, node, (event) => {
      const verdict = bfdVerdict(event);
      if (verdict !== undefined) bgp.pathDown('router', verdict);
    });
    const path: Path = { remote: BGP_ROUTER.v4 as Ip, local: BGP_NODE.v4 as Ip, hops: 'single' };
    bfd.upsert('router', { path, parameters: PARAMETERS });
    const up = async () => {
      await established(bgp, router);
      await eventually(
        'BFD is up at both ends',
        async () => [bfd.status()[0]?.state, (await router.bfd(BGP_NODE.v4))?.state],
        (states) => states.every((state) => state === 'Up'),
      );
    };
    await up();
    await lan.block(node);
    await eventually(
      'we have ended it',
      () => bgp.status()[0],
      (status) => status?.state !== 'Established' && status?.lastError?.text.includes('BFD') === true,
    );
    await eventually(
      'so has the router',
      () => router.session(BGP_NODE.v4),
      (state) => state !== 'Established',
    );
    await lan.unblock(node);
    await up();
  });
});

test.each(['frr', 'bird'] as const)('BGP and BFD with %s across a router', async (kind) => {
  await using lab = await Lab.open();
  const [near, far] = [await lab.lan('near'), await lab.lan('far')];
  const [here, remote] = ['10.205.0.10', '10.206.0.10'];
  const node = await lab.host('node', near, [`${here}/24`]);
  const there = await lab.host('router', far, [`${remote}/24`]);
  const between = await lab.host('between', near, ['10.205.0.1/24']);
  await far.attach(between, ['10.206.0.1/24'], 'eth1');
  between.sysctl({ 'ipv4.ip_forward': 1 });
  await Promise.all([node.ip('route add default via 10.205.0.1'), there.ip('route add default via 10.206.0.1')]);
  const router = await routerIn(lab, there, kind, {
    address: here,
    localAddress: remote,
    multihop: 2,
    bfd: TIMERS,
  });
  const { speaker: bgp } = bgpSpeakerIn(lab, node);
  bgp.setPeer('router', settings({ remote: { address: remote as Ip }, multiHop: 2, families: ['IPv4'] }));
  const { speaker: bfd } = speakerIn(lab, node);
  bfd.upsert('router', {
    path: { remote: remote as Ip, local: here as Ip, hops: 'multi' },
    parameters: PARAMETERS,
  });
  await established(bgp, router);
  await eventually(
    'BFD is up at both ends',
    async () => [bfd.status()[0]?.state, (await router.bfd(here))?.state],
    (states) => states.every((state) => state === 'Up'),
  );
});

test('a packet that passed a router does not reach a single-hop session', async () => {
  await using lab = await Lab.open();
  const lan = await lab.lan('lan');
  const node = await lab.host('node', lan, [`${NODE.v4}/24`]);
  const other = await lab.host('other', lan, [`${ROUTER.v4}/24`]);
  const { speaker } = speakerIn(lab, node);
  speaker.upsert('other', { path: { remote: ROUTER.v4 as Ip, hops: 'single' }, parameters: PARAMETERS });
  const send = (ttl: number) => {
    const opened = other.enter(() =>
      UdpSender.open({ remote: NODE.v4 as Ip, remotePort: 3784, localPort: 50_000 + ttl, ttl }),
    );
    lab.defer(() => opened.ok?.[Symbol.dispose]());
    expect(
      opened.ok?.send(Buffer.from('20400318000000070000000000f4240000f424000000000000', 'hex').subarray(0, 24)),
    ).toBe(true);
  };
  send(254);
  send(255);
  await eventually(
    'one packet',
    () => speaker.status()[0]?.received,
    (n) => n === 1,
  );
  await sleep(100);
  expect(speaker.status()[0]?.received).toBe(1);
});

test('a link-local peer', async () => {
  await using lab = await Lab.open();
  const lan = await lab.lan('lan');
  const node = await lab.host('node', lan, ['fe80::10/64']);
  const there = await lab.host('router', lan, ['fe80::1/64']);
  await startRouter(lab, there, 'frr', {
    asn: 65000,
    routerId: ROUTER.v4,
    bfdPeers: [{ ...TIMERS, address: 'fe80::10', localAddress: 'fe80::1', interface: 'eth0' }],
  });
  const { speaker } = speakerIn(lab, node);
  const path: Path = { remote: 'fe80::1' as Ip, local: 'fe80::10' as Ip, interface: 'eth0', hops: 'single' };
  speaker.upsert('router', { path, parameters: PARAMETERS });
  await eventually(
    'Up',
    () => speaker.status()[0]?.state,
    (state) => state === 'Up',
  );
});

test('the wire holds 50 ms x 3 for 20 s beside a main thread that stands still for 1 s of every 3', async () => {
  await using lab = await Lab.open();
  const fast = { transmit: 50, receive: 50, multiplier: 3 };
  const { node, router } = await neighbors(lab, 'frr', { ...fast, address: NODE.v4, localAddress: ROUTER.v4 });
  const program = fileURLToPath(new URL('./bfd-under-load.ts', import.meta.url));
  const wire = node.start([process.execPath, '--import', 'tsx', program, ROUTER.v4, NODE.v4]);
  await eventually(
    'Up',
    () => router.bfd(NODE.v4),
    (s) => s?.state === 'Up',
    { within: 10_000 },
  );
  await eventually(
    'at 50 ms',
    () => router.bfd(NODE.v4),
    (s) => s?.detectionTime === 150,
  );
  const before = await router.cli('show bfd peers counters');
  await sleep(20_000);
  expect(await router.bfd(NODE.v4)).toMatchObject({ state: 'Up', detectionTime: 150 });
  const flaps = (text: string) => Number(/Session down events: (\d+)/.exec(text)?.[1]);
  expect(flaps(before)).not.toBeNaN();
  expect(flaps(await router.cli('show bfd peers counters'))).toBe(flaps(before));
  const events = wire.lines.map((line) => JSON.parse(line) as BfdEvent);
  expect(events.map(({ to }) => to).slice(-1)).toEqual(['Up']);
  expect(events.filter(({ from }) => from === 'Up')).toEqual([]);
});
