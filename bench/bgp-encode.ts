import {
  type Decoded,
  encodeMessage,
  encodeUpdates,
  encodeWithdrawals,
  MessageReader,
  nlriOf,
  prefixesOf,
  type RouteGroup,
} from '../bgp/codec/index.ts';
import { externalSession } from '../bgp/codec/testing/sessions.ts';
import { type IpV4, ipToBytes } from '../net/ip.ts';
import { type Prefix, prefixAddress, prefixLength } from '../net/prefix.ts';

/** 50,000 /32 as UPDATEs, beside one route an UPDATE (as MetalLB's native BGP sends) and a general address parser. */
const ROUTES = 50_000;
const ROUNDS = 15;

const session = externalSession(65_000);
const group: RouteGroup = {
  family: 'IPv4',
  nextHop: { address: '192.0.2.1' as IpV4 },
  attributes: { origin: 'IGP', asPath: [{ kind: 'AS_SEQUENCE', asns: [65_000] }] },
};

/** Made anew for each run, so that no string has been read before. */
function hosts(): Prefix[] {
  return Array.from({ length: ROUTES }, (_, i) => `10.${i >> 16}.${(i >> 8) & 0xff}.${i & 0xff}/32` as Prefix);
}

interface Work {
  readonly name: string;
  readonly run: (prefixes: readonly Prefix[]) => readonly Uint8Array[];
}

const pack: Work = {
  name: 'encodeUpdates',
  run: (prefixes) => Array.from(encodeUpdates(group, prefixes, session), ({ bytes }) => bytes),
};

const WORKS: readonly Work[] = [
  pack,
  {
    name: 'encodeWithdrawals',
    run: (prefixes) => Array.from(encodeWithdrawals('IPv4', prefixes, session), ({ bytes }) => bytes),
  },
  {
    name: 'one route an UPDATE',
    run: (prefixes) =>
      prefixes.map((prefix) => {
        const announced = [{ nlri: nlriOf('IPv4', [prefix]), nextHop: group.nextHop }];
        return encodeMessage({ type: 'UPDATE', withdrawn: [], announced, attributes: group.attributes }, session);
      }),
  },
  {
    name: 'general parser, octets alone',
    run: (prefixes) => prefixes.map((p) => Uint8Array.of(prefixLength(p), ...ipToBytes(prefixAddress(p)))),
  },
];

function milliseconds(run: () => unknown): number {
  const started = performance.now();
  run();
  return performance.now() - started;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** The works take turns, so that what else the machine does falls on all of them. */
function measure(): ReadonlyMap<string, readonly number[]> {
  const times = new Map<string, number[]>(WORKS.map(({ name }) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, run } of WORKS) {
      const prefixes = hosts();
      times.get(name)?.push(milliseconds(() => run(prefixes)));
    }
  }
  return times;
}

function report(times: ReadonlyMap<string, readonly number[]>): void {
  const reference = median(times.get(pack.name) ?? []);
  console.log(`${ROUTES} /32, ${ROUNDS} rounds; times are of this machine now, ratios are to ${pack.name}`);
  for (const { name, run } of WORKS) {
    const taken = times.get(name) ?? [];
    const messages = run(hosts());
    const octets = messages.reduce((sum, { length }) => sum + length, 0);
    const ratio = (median(taken) / reference).toFixed(1);
    console.log(
      `${name.padEnd(30)}${ratio.padStart(6)}x  median ${median(taken).toFixed(1)} ms, first ${taken[0]?.toFixed(1)} ms, ` +
        `${messages.length} parts, ${octets} octets`,
    );
  }
}

function readAll(messages: readonly Uint8Array[], visit: (decoded: Decoded) => void): void {
  const reader = new MessageReader();
  for (const message of messages) {
    reader.push(message);
    const decoded = reader.next(session);
    if (decoded !== undefined) visit(decoded);
  }
}

/** What a peer costs us that sends as many. */
function readBack(): void {
  const messages = pack.run(hosts());
  let listed = 0;
  const list = (decoded: Decoded): void => {
    if (decoded.outcome !== 'message' || decoded.message.type !== 'UPDATE') return;
    for (const { nlri } of decoded.message.announced) listed += [...prefixesOf(nlri)].length;
  };
  const time = (visit: (decoded: Decoded) => void): string =>
    median(Array.from({ length: ROUNDS }, () => milliseconds(() => readAll(messages, visit)))).toFixed(2);
  console.log(`read and check: median ${time(() => undefined)} ms; and list every prefix: ${time(list)} ms`);
  if (listed !== ROUNDS * ROUTES) throw new Error(`${listed} routes came back`);
}

report(measure());
readBack();
