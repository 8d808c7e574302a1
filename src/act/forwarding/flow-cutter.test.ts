import { expect, test } from 'vitest';
import { parseIp } from '../../../net/ip.ts';
import { parseVip } from '../../../net/names.ts';
import { must, ok, type Problem, problem } from '../../../net/result.ts';
import type { FlowScope, TrackedFlow } from '../../../sys/conntrack.ts';
import type { Port } from '../../decide/types.ts';
import { FlowCutter, type FlowTable } from './flow-cutter.ts';
import type { StaleFlow } from './flows.ts';

const VIP = must(parseVip('192.0.2.1'));
const VIP6 = must(parseVip('2001:db8::1'));

const stale = (number: number, vip = VIP): StaleFlow => ({
  vip,
  port: 53 as Port,
  endpoint: { address: must(parseIp(`10.0.0.${number}`)), port: 5353 as Port },
});
const tracked = ({ vip, port, endpoint }: StaleFlow): TrackedFlow => ({
  destination: vip,
  port,
  answerer: endpoint.address,
  answererPort: endpoint.port,
});

/** Notes each walk; all walks end when they are let go. */
function table(flows: readonly TrackedFlow[] = []) {
  const walks: { scopes: readonly FlowScope[]; ended: readonly TrackedFlow[] }[] = [];
  const release: (() => void)[] = [];
  const fake: FlowTable = {
    endUdp: async (scopes, isStale) => {
      walks.push({ scopes, ended: flows.filter(isStale) });
      await new Promise<void>((resolve) => release.push(resolve));
      return ok(0);
    },
    [Symbol.dispose]: () => undefined,
  };
  return { fake, walks, next: () => release.shift()?.() };
}

test('one walk ends all flows that are stale, and no other', () => {
  const flows = [1, 2, 3].map((number) => tracked(stale(number)));
  const { fake, walks } = table([...flows, tracked(stale(1, VIP6))]);
  new FlowCutter(ok(fake), () => undefined).cut([stale(1), stale(3)]);
  expect(walks).toEqual([{ scopes: [{ destination: VIP, port: 53 }], ended: [flows[0], flows[2]] }]);
});

test('what comes during a walk is gathered for the next', async () => {
  const { fake, walks, next } = table();
  const cutter = new FlowCutter(ok(fake), () => undefined);
  cutter.cut([stale(1)]);
  for (let number = 2; number < 50; number++) cutter.cut([stale(number, VIP6)]);
  next();
  await new Promise(setImmediate);
  next();
  await cutter[Symbol.asyncDispose]();
  expect(walks.map(({ scopes }) => scopes)).toEqual([
    [{ destination: VIP, port: 53 }],
    [{ destination: VIP6, port: 53 }],
  ]);
});

test('flows of many ports are looked for in one walk of each family', () => {
  const { fake, walks } = table();
  const many = Array.from({ length: 40 }, (_, i) => ({ ...stale(1), port: (1_000 + i) as Port }));
  new FlowCutter(ok(fake), () => undefined).cut([...many, stale(1, VIP6)]);
  expect(walks.map(({ scopes }) => scopes)).toEqual([[{ family: 'IPv4' }, { family: 'IPv6' }]]);
});

test('a table that cannot be reached is told once, and nothing is queued', async () => {
  const problems: Problem[] = [];
  const failure = problem('socket', 'EPERM', 'failed', '');
  await using cutter = new FlowCutter(failure, (told) => problems.push(told));
  cutter.cut([stale(1)]);
  expect(problems).toEqual([failure.problem]);
});
