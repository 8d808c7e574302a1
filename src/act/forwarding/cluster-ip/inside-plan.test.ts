import { expect, test } from 'vitest';
import { parseIp } from '../../../../net/ip.ts';
import { parseVip, type Vip } from '../../../../net/names.ts';
import { must } from '../../../../net/result.ts';
import { Table } from '../../../../net/table.ts';
import { type ForwardingEntry, type ForwardingPlan, forwardingKey, type Port } from '../../../decide/types.ts';
import { InsidePlan, withoutClusterIp } from './inside-plan.ts';

const A = must(parseVip('192.0.2.1'));
const B = must(parseVip('192.0.2.2'));

function entry(vip: Vip, port: number, relayed: boolean): ForwardingEntry {
  const endpoint = { address: must(parseIp('10.96.0.10')), port: 80 as Port, weight: 1 };
  return {
    vip,
    protocol: 'TCP',
    port: port as Port,
    endpoints: [endpoint],
    keepClientAddress: false,
    affinity: { type: 'None' },
    sourceRanges: ['10.0.0.0/8'],
    ...(relayed && { relayed }),
  };
}

function plan(...entries: readonly ForwardingEntry[]): ForwardingPlan {
  return {
    vips: Table.from([A, B].map((vip) => [vip, true] as const)),
    entries: Table.from(entries.map((one) => [forwardingKey(one), one] as const)),
    announcingInterfaces: [],
  };
}

const keysOf = ({ entries }: ForwardingPlan) => [...entries.keys()].sort();
const vipsOf = ({ vips }: ForwardingPlan) => [...vips.keys()].sort();

test('has the entries of mode ClusterIP alone, which there are like any others', () => {
  const inside = new InsidePlan().of(plan(entry(A, 80, true), entry(B, 80, false)), []);
  expect(keysOf(inside)).toEqual([`${A}|TCP|80`]);
  expect(vipsOf(inside)).toEqual([A]);
  const [carried] = inside.entries.values();
  expect(carried).not.toHaveProperty('relayed');
  // Clients were admitted by the node's table.
  expect(carried?.sourceRanges).toEqual([]);
});

test('is the same where only other entries change', () => {
  const inside = new InsidePlan();
  const relayed = entry(A, 80, true);
  const first = inside.of(plan(relayed, entry(B, 80, false)), []);
  expect(inside.of(plan(relayed, entry(B, 81, false)), [])).toBe(first);
});

test('keeps an entry that changed its mode without new connections, until it goes', () => {
  const inside = new InsidePlan();
  inside.of(plan(entry(A, 80, true)), []);
  const [drained] = inside.of(plan(entry(A, 80, false)), []).entries.values();
  expect(drained?.endpoints.map(({ weight }) => weight)).toEqual([0]);
  const [back] = inside.of(plan(entry(A, 80, true)), []).entries.values();
  expect(back?.endpoints.map(({ weight }) => weight)).toEqual([1]);
  expect(inside.of(plan(), []).entries.size).toBe(0);
});

test('keeps a VIP that an earlier run sent there, until the VIP goes', () => {
  const inside = new InsidePlan();
  expect(vipsOf(inside.of(plan(entry(A, 80, false)), [A]))).toEqual([A]);
  const gone = { ...plan(), vips: Table.from([[B, true] as const]) };
  expect(vipsOf(inside.of(gone, [A]))).toEqual([]);
});

test('without a private namespace its entries are refused, and the node does not announce their VIPs', () => {
  const { kernel, told } = withoutClusterIp(plan(entry(A, 80, true), entry(A, 81, false), entry(B, 80, false)));
  expect(keysOf(kernel)).toEqual([`${A}|TCP|81`, `${B}|TCP|80`]);
  expect(vipsOf(kernel)).toEqual([A, B]);
  expect(vipsOf(told)).toEqual([B]);
});
