import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Ip, parseIp } from '../../../net/ip.ts';
import { parseInterfaceName, parseVip } from '../../../net/names.ts';
import { Table } from '../../../net/table.ts';
import { type ForwardingEntry, type ForwardingPlan, forwardingKey, type Port } from '../../decide/types.ts';
import { bounceTransaction } from './bounce.ts';
import { TableState } from './table-state.ts';
import { nft } from './text.ts';

/** Everything that a ruleset of ours consists of. */
const GRAMMAR = /^(?:[a-z0-9_.:/@=!|&-]+|"[A-Za-z0-9_.@+-]+"|"signpost layout \d+"|[{}();,<]| )+$/;

const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.mixedCase(
    fc.constantFrom(
      '10.0.0.1; flush ruleset',
      '::1 }',
      'eth0"; drop',
      '10.0.0.0/8, 0.0.0.0/0',
      '$(reboot)',
      '10.0.0.1\nflush ruleset',
    ),
  ),
  fc.tuple(fc.ipV4(), fc.string({ unit: 'binary', maxLength: 5 })).map(([ip, tail]) => ip + tail),
  fc.tuple(fc.ipV6(), fc.string({ maxLength: 5 })).map(([ip, tail]) => ip + tail),
);

const ipOf = (text: string): Ip => parseIp(text).ok ?? ('192.0.2.9' as Ip);

/** The plan of what the parsers let through. */
function planOf([vipText, addressText, range, name]: readonly string[]): ForwardingPlan {
  const vip = parseVip(vipText ?? '').ok ?? parseVip('192.0.2.1').ok;
  const device = parseInterfaceName(name ?? '').ok;
  if (vip === undefined) throw new Error('a constant');
  const entry: ForwardingEntry = {
    vip,
    protocol: 'TCP',
    port: 80 as Port,
    endpoints: [{ address: ipOf(addressText ?? ''), port: 8080 as Port, weight: 1 }],
    keepClientAddress: true,
    affinity: { type: 'ClientIP', timeoutSeconds: 60 },
    sourceRanges: [range ?? ''],
  };
  return {
    vips: Table.from([[vip, true]]),
    entries: Table.from([[forwardingKey(entry), entry]]),
    announcingInterfaces: device ? [device] : [],
    ...(device && { bounces: Table.from([[vip, [{ to: entry.endpoints[0]?.address ?? vip, device }]]]) }),
  };
}

test('100,000 hostile strings in every field leave no byte outside the grammar', () => {
  const empty: ForwardingPlan = { vips: Table.empty(), entries: Table.empty(), announcingInterfaces: [] };
  const [state, first] = TableState.adopt(undefined, empty);
  expect(Array.from(first, (transaction) => transaction.line()).join()).toMatch(GRAMMAR);
  let texts = 0;
  fc.assert(
    fc.property(fc.tuple(hostile, hostile, hostile, hostile), (fields) => {
      texts += fields.length;
      const plan = planOf(fields);
      const there = Array.from(state.advance(empty, plan), (transaction) => transaction.line());
      const back = Array.from(state.advance(plan, empty), (transaction) => transaction.line());
      const lines = [...there, ...back];
      if (plan.bounces) lines.push(bounceTransaction(plan.bounces));
      for (const line of lines) if (!GRAMMAR.test(line)) expect(line).toMatch(GRAMMAR);
    }),
    { numRuns: 25_000 },
  );
  expect(texts).toBeGreaterThanOrEqual(100_000);
});

test('only whole numbers get into a ruleset', () => {
  for (const number of [Number.NaN, Number.POSITIVE_INFINITY, 1.5, 2 ** 53]) {
    expect(() => nft`add ${number}`).toThrow(RangeError);
  }
});
