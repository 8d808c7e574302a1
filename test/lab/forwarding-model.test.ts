import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseListing } from '../../src/act/forwarding/listing.ts';
import { plannedBehaviour, tableBehaviour } from '../../src/act/forwarding/testing/behaviour.ts';
import { anyPlan } from '../../src/act/forwarding/testing/plans.ts';
import { Lab } from '../harness/lab.ts';
import type { Namespace } from '../harness/namespace.ts';
import { applied, forwardingOf } from './forwarding-fixture.ts';

let lab: Lab;
let node: Namespace;

beforeAll(async () => {
  lab = await Lab.open();
  node = await lab.namespace('n1');
});
afterAll(() => lab[Symbol.asyncDispose]());

const listing = async () => (await node.run(['nft', '-s', 'list', 'table', 'inet', 'signpost'])).stdout;

test.each([1, 2])(
  'the kernel takes every difference between random plans, and carries what they say (%i)',
  async (seed) => {
    const drifts: unknown[] = [];
    await using forwarding = forwardingOf(lab, node, { onDrift: (problem) => drifts.push(problem) });
    for (const plan of fc.sample(anyPlan, { numRuns: 30, seed })) {
      await applied(forwarding, plan);
      expect(tableBehaviour(parseListing(await listing()))).toEqual(plannedBehaviour(plan));
    }
    // A refused difference would have been mended by reading the table anew.
    expect(drifts).toEqual([]);
  },
);

test('tables of others are as they were after any plans', async () => {
  const names = fc.stringMatching(/^[a-z][a-z0-9_-]{3,12}$/);
  const foreign = fc.sample(fc.uniqueArray(names, { minLength: 2, maxLength: 5 }), { numRuns: 1, seed: 5 })[0] ?? [];
  const families = ['ip', 'ip6', 'inet', 'bridge', 'netdev'];
  const input = foreign.map(
    (name, i) =>
      `table ${families[i % families.length]} ${name} { set s { type mark; elements = { ${i} }; }; chain c { meta mark @s drop; }; }`,
  );
  await node.run(['nft', '-f', '-'], { input: input.join('\n') });
  const others = async () => {
    const { stdout } = await node.run(['nft', '-a', 'list', 'ruleset']);
    return stdout.split(/^(?=table )/m).filter((table) => !/^table \S+ signpost /.test(table));
  };
  const before = await others();
  expect(before).toHaveLength(foreign.length);
  await using forwarding = forwardingOf(lab, node);
  for (const plan of fc.sample(anyPlan, { numRuns: 10, seed: 6 })) await applied(forwarding, plan);
  expect(await others()).toEqual(before);
});
