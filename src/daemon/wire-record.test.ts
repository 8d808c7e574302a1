import { expect, test } from 'vitest';
import type { InterfaceName, NodeName } from '../../net/names.ts';
import type { Incarnation, Report } from '../membership/types.ts';
import { type Logger, silentLogger } from '../observability/log.ts';
import { createMetrics } from '../observability/metrics.ts';
import { WireRecord } from './wire-record.ts';

const node = 'n2' as NodeName;
const incarnation = 1 as Incarnation;
const LOST: readonly Report[] = [
  { kind: 'suspected', node, incarnation },
  { kind: 'certified', node, incarnation },
];
const alive = (is: boolean): Report => ({ kind: 'member', node, alive: is, draining: false, witness: false });

test('a member that is lost is told of once, however many lives it goes on to begin, and again when it is back', async () => {
  const told: string[] = [];
  const log: Logger = { ...silentLogger, info: (_fields, message) => told.push(message) };
  const metrics = createMetrics();
  const record = new WireRecord(log, metrics);
  const happen = (...reports: readonly Report[]) => {
    for (const report of reports) record.observe({ type: 'report', segment: 'eth0' as InterfaceName, report });
  };
  happen(alive(true), ...LOST, alive(false), ...LOST, ...LOST);
  expect(told).toEqual(['member suspected', 'member voted void']);
  happen(alive(true), ...LOST);
  expect(told).toEqual([...['member suspected', 'member voted void', 'member is back'], ...told.slice(0, 2)]);
  expect((await metrics.suspicions.get()).values).toMatchObject([{ value: 4 }]);
});
