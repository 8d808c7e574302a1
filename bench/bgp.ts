import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { linuxNetwork, type PeerSettings, Speaker } from '../bgp/index.ts';
import { monotonicClock } from '../net/clock.ts';
import type { Ip, IpV4 } from '../net/ip.ts';
import type { Prefix } from '../net/prefix.ts';
import type { Background } from '../test/harness/command.ts';
import { eventually } from '../test/harness/eventually.ts';
import { Lab } from '../test/harness/lab.ts';
import type { Namespace } from '../test/harness/namespace.ts';
import type { Router } from '../test/harness/routers/router.ts';
import { hosts, NODE, PLAIN, ROUTER, routerIn, routes, settings, speakerIn } from '../test/interop/bgp-fixture.ts';
import { RIVALS, type Rival } from './bgp-rivals.ts';
import type { Heard } from './bgp-sink.ts';

/** Our speaker beside GoBGP, BIRD and ExaBGP, its cost for many peers, and BFD beside a thread that stands still. */
const ROUTES = 50_000;
const WITHIN = { within: 120_000, every: 5 };
const long = process.argv.includes('--long');

const MANY = Array.from({ length: ROUTES }, (_, i) => `10.${100 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}/32`);

/** What a sink has printed. */
class Sink {
  readonly #process: Background;

  constructor(process: Background) {
    this.#process = process;
  }

  static start(there: Namespace, port: number, addresses: readonly string[]): Sink {
    const program = fileURLToPath(new URL('./bgp-sink.ts', import.meta.url));
    const argv = [process.execPath, '--import', 'tsx', program, String(port), String(ROUTER.asn), ...addresses];
    return new Sink(there.start(argv));
  }

  /** The last words of each session that has spoken. */
  get heard(): ReadonlyMap<string, Heard> {
    const all = this.#process.lines.map((line) => JSON.parse(line) as Heard);
    return new Map(all.map((one) => [one.address, one]));
  }

  get last(): Heard | undefined {
    const line = this.#process.lines.at(-1);
    return line === undefined ? undefined : (JSON.parse(line) as Heard);
  }

  /** The first words of which that holds. */
  until(what: string, holds: (heard: Heard) => boolean): Promise<Heard | undefined> {
    return eventually(
      what,
      () => this.last,
      (heard) => heard !== undefined && holds(heard),
      WITHIN,
    );
  }
}

const ours: Rival = (lab, node, prefixes) => {
  const { speaker } = speakerIn(lab, node);
  speaker.setPeer('router', settings({ families: ['IPv4'] }));
  const wanted = routes(prefixes);
  return Promise.resolve(() => {
    speaker.setRoutes('router', wanted);
    return Promise.resolve();
  });
};

const CONTESTANTS: Readonly<Record<string, Rival>> = { Signpost: ours, ...RIVALS };

/** From the moment that a speaker is told its routes to the last UPDATE in a sink. */
async function toSink(start: Rival): Promise<{ readonly taken: number; readonly heard: Heard }> {
  await using lab = await Lab.open();
  const { node, there } = await hosts(lab);
  const sink = Sink.start(there, 179, [ROUTER.v4]);
  const tell = await start(lab, node, MANY);
  await sink.until('the session', ({ keepalives }) => keepalives > 0);
  await sleep(500);
  const started = monotonicClock.now();
  await tell();
  const heard = await sink.until('all routes', ({ announced }) => announced >= ROUTES);
  if (heard === undefined) throw new Error('the sink has heard nothing');
  return { taken: (heard.at - started) / 1e6, heard };
}

async function inFrr(start: Rival): Promise<number> {
  await using lab = await Lab.open();
  const { node, there } = await hosts(lab);
  const router = await routerIn(lab, there, 'frr', { holdTime: 60 });
  const tell = await start(lab, node, MANY);
  await eventually(
    'the session',
    () => router.session(NODE.v4),
    (state) => state === 'Established',
    WITHIN,
  );
  await sleep(1_500);
  const started = monotonicClock.now();
  await tell();
  await eventually(
    'all routes',
    () => prefixesIn(router),
    (count) => count === ROUTES,
    WITHIN,
  );
  return (monotonicClock.now() - started) / 1e6;
}

async function prefixesIn(router: Router): Promise<number | undefined> {
  const text = await router.cli('show bgp ipv4 unicast summary json');
  return (JSON.parse(text) as { peers?: Record<string, { pfxRcd: number }> }).peers?.[NODE.v4]?.pfxRcd;
}

async function besideOthers(): Promise<void> {
  console.log(`${ROUTES} /32, from being told to the last UPDATE in a sink, and to FRR's table being full`);
  let reference: { readonly sink: number; readonly frr: number } | undefined;
  for (const [name, start] of Object.entries(CONTESTANTS)) {
    const { taken: sink, heard } = await toSink(start);
    const frr = await inFrr(start);
    reference ??= { sink, frr };
    console.log(
      `  ${name.padEnd(9)} sink ${ratio(sink / reference.sink)}x (${sink.toFixed(0)} ms), ` +
        `FRR ${ratio(frr / reference.frr)}x (${frr.toFixed(0)} ms), ${heard.updates} UPDATEs, ${heard.octets} octets`,
    );
  }
  console.log();
}

async function changes(): Promise<void> {
  const CHANGES = 200;
  await using lab = await Lab.open();
  const { node, there } = await hosts(lab);
  // Room for all, since it is not the sink's reading that is measured.
  there.sysctl({ 'ipv4.tcp_rmem': '4096 4194304 8388608' });
  const sink = Sink.start(there, 179, [ROUTER.v4]);
  const { speaker } = speakerIn(lab, node);
  speaker.setPeer('router', settings({ families: ['IPv4'] }));
  await sink.until('the session', ({ keepalives }) => keepalives > 0);
  const all = routes(MANY);
  const begun = monotonicClock.now();
  speaker.setRoutes('router', all);
  const compared = (monotonicClock.now() - begun) / 1e6;
  while (speaker.status('router')[0]?.families[0]?.advertised !== ROUTES) await new Promise(setImmediate);
  const written = (monotonicClock.now() - begun) / 1e6;
  console.log(
    `${ROUTES} /32 compared, encoded and written by cold code: ${written.toFixed(0)} ms ` +
      `(goal: 50 ms without the comparison), ${compared.toFixed(0)} ms of them in the call`,
  );
  await sink.until('all routes', ({ announced }) => announced === ROUTES);
  const times: number[] = [];
  for (let i = 0; i < CHANGES; i++) {
    await sleep(10);
    const prefix = MANY[(i * 7919) % ROUTES] as Prefix;
    const started = monotonicClock.now();
    speaker.editRoutes('router', [{ prefix, attributes: { ...PLAIN, key: `med ${i}`, med: i + 1 } }]);
    const heard = await sink.until('the change', ({ announced }) => announced === ROUTES + i + 1);
    times.push(((heard?.at ?? Number.NaN) - started) / 1e6);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): string => (times[Math.floor(share * CHANGES)] ?? Number.NaN).toFixed(2);
  console.log(`1 change among ${ROUTES}, read by the peer: median ${at(0.5)} ms, p99 ${at(0.99)} ms (goal: 1 ms)`);
  const started = monotonicClock.now();
  speaker.setRoutes('router', new Map());
  const returned = (monotonicClock.now() - started) / 1e6;
  const before = sink.last?.updates ?? 0;
  const heard = await sink.until('all withdrawn', ({ withdrawn }) => withdrawn === ROUTES);
  console.log(
    `${ROUTES} withdrawals: ${(((heard?.at ?? Number.NaN) - started) / 1e6).toFixed(0)} ms to the last UPDATE in the sink, ` +
      `${returned.toFixed(0)} ms of them in the call, ${(heard?.updates ?? 0) - before} UPDATEs\n`,
  );
}

async function manyPeers(): Promise<void> {
  const [PEERS, EACH] = [100, 10_000];
  await using lab = await Lab.open();
  const place = await lab.namespace('peers');
  const addresses = Array.from({ length: PEERS }, (_, i) => `127.1.0.${i + 1}`);
  const sink = Sink.start(place, 1790, addresses);
  const speaker = new Speaker({
    network: {
      ...linuxNetwork,
      connect: (...args) => place.enter(() => linuxNetwork.connect(...args)),
    },
    listenPort: undefined,
    onEvent: () => undefined,
  });
  lab.defer(() => speaker.close('restart', AbortSignal.timeout(0)));
  for (const address of addresses) speaker.setPeer(address, manyPeerSettings(address as Ip));
  await eventually(
    'all sessions',
    () => speaker.status(),
    (all) => all.every(({ state }) => state === 'Established'),
    WITHIN,
  );
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  const wanted = routes(MANY.slice(0, EACH));
  const standstill = monitorEventLoopDelay({ resolution: 1 });
  standstill.enable();
  const started = monotonicClock.now();
  for (const address of addresses) speaker.setRoutes(address, wanted);
  const returned = monotonicClock.now() - started;
  const all = await eventually(
    'all have all',
    () => sink.heard,
    (heard) => heard.size === PEERS && [...heard.values()].every(({ announced }) => announced === EACH),
    WITHIN,
  );
  const converged = Math.max(...[...all.values()].map(({ at }) => at));
  const memory = process.memoryUsage().rss - before;
  await sleep(5_000);
  const silence = Math.max(...[...sink.heard.values()].map((heard) => heard.silence));
  console.log(
    `${PEERS} peers x ${EACH} routes: all told after ${((converged - started) / 1e6).toFixed(0)} ms, ` +
      `${(memory / 2 ** 20).toFixed(0)} MiB more (${(memory / PEERS / EACH).toFixed(0)} octets a route and peer), ` +
      `longest silence ${silence.toFixed(0)} ms of KEEPALIVEs every 750 to 1000 ms; ` +
      `the thread stood still for ${(standstill.max / 1e6).toFixed(0)} ms at most, ${(returned / 1e6).toFixed(0)} ms in the call\n`,
  );
}

function manyPeerSettings(address: Ip): PeerSettings {
  return {
    ...settings({ remote: { address }, port: 1790, families: ['IPv4'], holdTime: 3, keepaliveTime: 1, multiHop: 2 }),
    identifier: '10.254.0.1' as IpV4,
    nextHops: { IPv4: '192.0.2.1' as Ip },
  };
}

/** The wire worker with a main thread that stands still for 1 s of every 3. */
async function bfd(): Promise<void> {
  const duration = long ? 600_000 : 10_000;
  await using lab = await Lab.open();
  const { node, there } = await hosts(lab);
  const peer = { transmit: 50, receive: 50, multiplier: 3, address: NODE.v4, localAddress: ROUTER.v4 };
  const router = await routerIn(lab, there, 'frr', {}, { peers: [], bfdPeers: [peer] });
  const program = fileURLToPath(new URL('../test/interop/bfd-under-load.ts', import.meta.url));
  node.start([process.execPath, '--import', 'tsx', program, ROUTER.v4, NODE.v4]);
  await eventually(
    'Up',
    () => router.bfd(NODE.v4),
    (shown) => shown?.detectionTime === 150,
    WITHIN,
  );
  const flaps = async () =>
    Number(/Session down events: (\d+)/.exec(await router.cli('show bfd peers counters'))?.[1] ?? Number.NaN);
  const before = await flaps();
  await sleep(duration);
  console.log(
    `BFD 50 ms x 3, main thread stalled 1 s of every 3, ${duration / 1000} s: ${(await flaps()) - before} flaps`,
  );
}

function ratio(value: number): string {
  return value.toFixed(1).padStart(6);
}

const PARTS = { others: besideOthers, changes, peers: manyPeers, bfd };
const chosen = Object.entries(PARTS).filter(([name]) => process.argv.includes(name));
for (const [, part] of chosen.length > 0 ? chosen : Object.entries(PARTS)) await part();
