import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ForwardingPlan } from '../../decide/types.ts';
import { TableState } from './table-state.ts';
import { plannedBehaviour, tableBehaviour } from './testing/behaviour.ts';
import { KernelModel } from './testing/kernel-model.ts';
import { anyPlan } from './testing/plans.ts';
import type { Transaction } from './transaction.ts';

const runs = { numRuns: 60 };

function run(kernel: KernelModel, transactions: Iterable<Transaction>): number {
  let count = 0;
  for (const transaction of transactions) {
    kernel.run(transaction.line());
    count++;
  }
  return count;
}

function adopt(kernel: KernelModel, plan: ForwardingPlan): { state: TableState; transactions: number } {
  const [state, transactions] = TableState.adopt(kernel.list(), plan);
  return { state, transactions: run(kernel, transactions) };
}

function expectCarried(kernel: KernelModel, plan: ForwardingPlan): void {
  const listed = kernel.list();
  if (!listed) throw new Error('no table');
  expect(tableBehaviour(listed)).toEqual(plannedBehaviour(plan));
}

describe('the table', () => {
  test('after any differences carries what the plan says, and nothing is left over', () => {
    fc.assert(
      fc.property(fc.array(anyPlan, { minLength: 1, maxLength: 6 }), ([first, ...rest]) => {
        const kernel = new KernelModel();
        let plan = first as ForwardingPlan;
        const { state } = adopt(kernel, plan);
        for (const next of rest) {
          run(kernel, state.advance(plan, next));
          plan = next;
          expectCarried(kernel, plan);
        }
        // Who starts from this table finds nothing to do: it is the full rendering of the plan, no less and no more.
        expect(adopt(kernel, plan).transactions).toBe(0);
      }),
      runs,
    );
  });

  test('from any earlier run becomes what the plan says', () => {
    fc.assert(
      fc.property(anyPlan, anyPlan, anyPlan, (earlier, now, next) => {
        const kernel = new KernelModel();
        adopt(kernel, earlier);
        const { state } = adopt(kernel, now);
        expectCarried(kernel, now);
        run(kernel, state.advance(now, next));
        expectCarried(kernel, next);
      }),
      runs,
    );
  });

  test('does not move endpoints that stay, where clients are remembered by their places', () => {
    fc.assert(
      fc.property(anyPlan, anyPlan, (before, after) => {
        const kernel = new KernelModel();
        const { state } = adopt(kernel, before);
        const places = slotsOf(kernel);
        run(kernel, state.advance(before, after));
        const now = slotsOf(kernel);
        for (const [place, target] of places) {
          const [key = ''] = place.split(' @ ');
          const entry = [...after.entries.values()].find(
            (e) => `${e.vip} . ${e.protocol.toLowerCase()} . ${e.port}` === key,
          );
          const stays = entry?.endpoints.some(
            ({ address, port, weight }) => weight > 0 && `${address} . ${port}` === target,
          );
          if (entry?.affinity.type === 'ClientIP' && !entry.relayed && stays) expect(now.get(place)).toBe(target);
        }
      }),
      runs,
    );
  });

  test('of another layout is replaced whole, in one transaction', () => {
    const kernel = new KernelModel();
    kernel.run(
      'add table inet signpost { comment "signpost layout 0"; }; add set inet signpost service4 { type mark; }',
    );
    const [plan] = fc.sample(anyPlan, { numRuns: 1, seed: 7 }) as [ForwardingPlan];
    expect(adopt(kernel, plan).transactions).toBe(1);
    expectCarried(kernel, plan);
  });

  test('of many entries is loaded in several transactions', () => {
    const [sample] = fc.sample(anyPlan, { numRuns: 1, seed: 1 }) as [ForwardingPlan];
    const [entry] = [...sample.entries.values()];
    if (!entry) throw new Error('choose another seed');
    const entries = sample.entries.with(
      Array.from({ length: 8_000 }, (_, i) => [
        `${entry.vip}|TCP|${i + 1_000}`,
        { ...entry, protocol: 'TCP', port: i + 1_000 },
      ]) as never,
    );
    const kernel = new KernelModel();
    const [, transactions] = TableState.adopt(undefined, { ...sample, entries });
    const sizes = Array.from(transactions, (transaction) => transaction.size);
    expect(sizes.length).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeLessThan(16_000);
    expect(kernel.list()).toBeUndefined();
  });
});

function slotsOf(kernel: KernelModel): Map<string, string | undefined> {
  const slots = kernel.list()?.elements.filter(({ set }) => set.startsWith('slot')) ?? [];
  return new Map(slots.map(({ set, key, data }) => [`${key} @ ${set}`, data]));
}
