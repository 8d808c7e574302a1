import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Affinity, ForwardingEntry } from '../../decide/types.ts';
import { assignSlots, type Slots, targetOf } from './slots.ts';
import { anyEntry } from './testing/plans.ts';

const at = (entry: ForwardingEntry, type: Affinity) => ({ ...entry, affinity: type });
const NONE: Affinity = { type: 'None' };
const CLIENT: Affinity = { type: 'ClientIP', timeoutSeconds: 60 };

const active = (entry: ForwardingEntry) =>
  entry.endpoints
    .filter(({ weight }) => weight > 0)
    .map(targetOf)
    .sort();
const placed = (slots: Slots) => slots.flatMap((endpoint) => (endpoint ? [targetOf(endpoint)] : [])).sort();

describe('slots', () => {
  test.each([NONE, CLIENT])('%o: each endpoint with a weight has one, and nobody else', (type) => {
    fc.assert(
      fc.property(anyEntry, anyEntry, (before, after) => {
        const slots = assignSlots(at(after, type), assignSlots(at(before, type), []));
        expect(placed(slots)).toEqual(active(after));
        if (slots.length > 0) expect(slots.at(-1)).toBeDefined();
      }),
    );
  });

  test('without affinity there are no holes, and equal weights give equal shapes', () => {
    fc.assert(
      fc.property(anyEntry, anyEntry, (before, after) => {
        const weights = (slots: Slots) => slots.map((endpoint) => endpoint?.weight);
        const fresh = assignSlots(at(after, NONE), []);
        expect(weights(fresh)).not.toContain(undefined);
        expect(weights(assignSlots(at(after, NONE), assignSlots(at(before, NONE), [])))).toEqual(weights(fresh));
      }),
    );
  });

  test('what is not a positive whole weight takes nothing', () => {
    const [sample] = fc.sample(anyEntry, { numRuns: 1, seed: 3 }) as [ForwardingEntry];
    const [endpoint] = sample.endpoints;
    if (!endpoint) throw new Error('choose another seed');
    const weights = [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 0.5];
    const endpoints = weights.map((weight) => ({ ...endpoint, weight }));
    expect(assignSlots({ ...sample, endpoints }, [])).toEqual([]);
  });
});
