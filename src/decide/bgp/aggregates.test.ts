import { expect, test } from 'vitest';
import { plan } from '../plan.ts';
import { after, freshWorld, links, pool, put, route, slice, WEB } from '../testing/worlds.ts';

const world = (spec: object) =>
  after(
    freshWorld(),
    { type: 'links', links: links() },
    put(pool('p', ['198.51.100.0/24', '2001:db8:5::/64'], { l2: undefined, ...spec })),
    put(WEB),
    put(slice('s', ['10.0.0.1'])),
    put(route('r', 80, { addresses: ['198.51.100.70', '2001:db8:5::9'], ipFamilyPolicy: 'PreferDualStack' })),
  );
const aggregates = (spec: object) => plan(world(spec)).forwarding.aggregates;

test('what is announced beyond single addresses is guarded, also without a session', () => {
  expect(aggregates({ bgp: [{ aggregationLength: 26 }, {}] })).toEqual(['198.51.100.64/26']);
  expect(aggregates({ bgp: [{ aggregationLength: 24, aggregationLengthV6: 64 }] })).toEqual([
    '198.51.100.0/24',
    '2001:db8:5::/64',
  ]);
});

test('host routes, and an aggregate beyond the pool that is not announced, need no guard', () => {
  expect(aggregates({ bgp: [{}] })).toEqual([]);
  expect(aggregates({ bgp: [{ aggregationLength: 23 }] })).toEqual([]);
});

test('the list is the same object while nothing about it changes', () => {
  const spec = { bgp: [{ aggregationLength: 24 }] };
  const first = plan(world(spec));
  const second = plan(after(first.world, put(slice('s', ['10.0.0.2']))), first);
  expect(second.forwarding.aggregates).toBe(first.forwarding.aggregates);
});
