import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Vip } from '../../net/names.ts';
import { parseRange } from '../../net/prefix.ts';
import { must } from '../../net/result.ts';
import { Table } from '../../net/table.ts';
import { type RouteKey, routeKey } from '../world/keys.ts';
import {
  type Allocation,
  type AllocationInput,
  type AllocationPool,
  type AllocationRequest,
  addressOrder,
  allocate,
  emptyAllocation,
  type Pin,
} from './allocate.ts';

const vip = (text: string) => text as Vip;

function pool(name: string, ranges: string[], more: Partial<AllocationPool> = {}): AllocationPool {
  return {
    name,
    ranges: ranges.map((range) => must(parseRange(range))),
    avoidBuggyAddresses: false,
    autoAssign: true,
    priority: 0,
    sharing: 'Namespace',
    admits: () => true,
    ...more,
  };
}

function request(name: string, more: Partial<AllocationRequest> = {}): AllocationRequest {
  const namespace = more.namespace ?? 'default';
  return {
    key: routeKey(namespace, name),
    namespace,
    created: 0,
    pool: undefined,
    addresses: [],
    ipFamilyPolicy: 'SingleStack',
    ...more,
  };
}

function input(
  requests: readonly AllocationRequest[],
  pools: readonly AllocationPool[],
  pins: Record<string, Pin> = {},
  more: Partial<AllocationInput> = {},
): AllocationInput {
  return {
    assigns: true,
    requests: Table.from(requests.map((r) => [r.key, r] as const)),
    pools,
    pins: Table.from(Object.entries(pins) as [RouteKey, Pin][]),
    excluded: new Map(),
    quarantined: new Map(),
    ...more,
  };
}

const fresh = (i: AllocationInput) => allocate(emptyAllocation(), i);
const held = (allocation: Allocation, name: string) =>
  allocation.routes.get(routeKey('default', name))?.assigned.map((a) => a.vip);
const failure = (allocation: Allocation, name: string) => allocation.routes.get(routeKey('default', name))?.failure;

describe('explicit requests', () => {
  const pools = [pool('public', ['203.0.113.0/28'])];

  test('a wanted address is given', () => {
    expect(held(fresh(input([request('a', { addresses: [vip('203.0.113.9')] })], pools)), 'a')).toEqual([
      '203.0.113.9',
    ]);
  });

  test('an address of no pool is AddressNotUsable and says so', () => {
    const allocation = fresh(input([request('a', { addresses: [vip('198.51.100.1')] })], pools));
    expect(failure(allocation, 'a')).toEqual({
      reason: 'AddressNotUsable',
      message: '198.51.100.1 is in no accepted AddressPool; add it to one or ask for another address',
    });
  });

  test('two routes of one namespace share it, of two namespaces only where the pool says so', () => {
    const wanted = { addresses: [vip('203.0.113.9')] };
    const requests = [request('a', wanted), request('b', wanted), request('c', { ...wanted, namespace: 'other' })];
    const strict = fresh(input(requests, pools));
    expect(held(strict, 'a')).toEqual(held(strict, 'b'));
    expect(strict.routes.get(routeKey('other', 'c'))?.failure?.message).toMatch(
      /held by default\/a in another namespace/,
    );
    const open = fresh(input(requests, [pool('public', ['203.0.113.0/28'], { sharing: 'Cluster' })]));
    expect(open.holders.get(vip('203.0.113.9'))).toHaveLength(3);
  });

  test('a node address is excluded alone, and a route that already holds it keeps it', () => {
    const excluded = new Map([[vip('203.0.113.9'), "is node n1's own address"]]);
    const asked = request('a', { addresses: [vip('203.0.113.9')] });
    expect(failure(fresh(input([asked], pools, {}, { excluded })), 'a')?.message).toBe(
      "203.0.113.9 is node n1's own address",
    );
    const pins = { 'default/a': { addresses: [vip('203.0.113.9')], live: false } };
    expect(held(fresh(input([asked], pools, pins, { excluded })), 'a')).toEqual(['203.0.113.9']);
  });

  test('when the winner goes, the loser gets the address at once', () => {
    const wanted = { addresses: [vip('203.0.113.9')] };
    const a = request('a', wanted);
    const b = request('b', { ...wanted, namespace: 'other' });
    const first = fresh(input([a, b], pools));
    const second = allocate(first, input([b], pools));
    expect(second.routes.get(b.key)).toEqual({
      assigned: [{ vip: '203.0.113.9', pool: 'public' }],
      failure: undefined,
    });
  });
});

describe('free addresses', () => {
  test('an exhausted pool is AddressNotAssigned and names the pool', () => {
    const pools = [pool('tiny', ['203.0.113.1'])];
    const allocation = fresh(input([request('a'), request('b')], pools));
    expect(held(allocation, 'a')).toEqual(['203.0.113.1']);
    expect(failure(allocation, 'b')).toEqual({
      reason: 'AddressNotAssigned',
      message: 'no free IPv4 address in pool tiny; add addresses to the pool or free some',
    });
  });

  test('.0 and .255 are avoided', () => {
    const pools = [pool('p', ['203.0.113.0', '203.0.113.255', '203.0.113.7'], { avoidBuggyAddresses: true })];
    expect(held(fresh(input([request('a')], pools)), 'a')).toEqual(['203.0.113.7']);
  });

  test('pools by priority, only those with autoAssign, only those that admit the namespace', () => {
    const pools = [
      pool('late', ['203.0.113.1'], { priority: 5 }),
      pool('manual', ['203.0.113.2'], { autoAssign: false, priority: -1 }),
      pool('closed', ['203.0.113.3'], { admits: (ns) => ns === 'other', priority: -2 }),
      pool('early', ['203.0.113.4'], { priority: 1 }),
    ];
    const allocation = fresh(
      input([request('a'), request('b', { pool: 'manual' }), request('c', { pool: 'closed' })], pools),
    );
    expect(held(allocation, 'a')).toEqual(['203.0.113.4']);
    expect(held(allocation, 'b')).toEqual(['203.0.113.2']);
    expect(failure(allocation, 'c')?.message).toMatch(/does not admit namespace default/);
  });

  test('families: single takes the first, prefer takes both where they are, require fails without', () => {
    const dual = [pool('p', ['203.0.113.0/28', '2001:db8::/124'])];
    const single = [pool('p', ['203.0.113.0/28'])];
    const policy = (ipFamilyPolicy: AllocationRequest['ipFamilyPolicy']) => request('a', { ipFamilyPolicy });
    expect(held(fresh(input([policy('SingleStack')], dual)), 'a')).toHaveLength(1);
    expect(held(fresh(input([policy('PreferDualStack')], dual)), 'a')).toHaveLength(2);
    expect(held(fresh(input([policy('PreferDualStack')], single)), 'a')).toHaveLength(1);
    const required = fresh(input([policy('RequireDualStack')], single));
    expect(held(required, 'a')).toHaveLength(1);
    expect(failure(required, 'a')?.message).toMatch(/no free IPv6 address in pool p/);
  });

  test('a quarantined address moves an auto-assigned route to another', () => {
    const pools = [pool('p', ['203.0.113.1-203.0.113.2'])];
    const before = fresh(input([request('a')], pools));
    const [taken] = held(before, 'a') as [Vip];
    const quarantined = new Map([[taken, 'is answered by 02:00:00:00:00:99']]);
    const after = allocate(before, input([request('a')], pools, {}, { quarantined }));
    expect(held(after, 'a')).toHaveLength(1);
    expect(held(after, 'a')).not.toEqual([taken]);
  });
});

describe('pins', () => {
  const pools = [pool('p', ['203.0.113.0/24'])];

  test('a live claim outranks memory', () => {
    const pins = {
      'default/a': { addresses: [vip('203.0.113.5')], live: false },
      'other/b': { addresses: [vip('203.0.113.5')], live: true },
    };
    const allocation = fresh(input([request('a'), request('b', { namespace: 'other' })], pools, pins));
    expect(allocation.holders.get(vip('203.0.113.5'))).toEqual(['other/b']);
    expect(held(allocation, 'a')).not.toEqual(['203.0.113.5']);
  });

  test('an assigned address survives a move of its range to another pool', () => {
    const before = fresh(input([request('a')], pools));
    const split = [pool('x', ['203.0.113.0/25']), pool('y', ['203.0.113.128/25'])];
    expect(held(allocate(before, input([request('a')], split)), 'a')).toEqual(held(before, 'a'));
  });
});

const names = ['a', 'b', 'c', 'd', 'e', 'f'];
const addresses = Array.from({ length: 8 }, (_, i) => vip(`203.0.113.${i}`));
const arbitraryRequest = fc.record({
  name: fc.constantFrom(...names),
  namespace: fc.constantFrom('default', 'other'),
  created: fc.nat(2),
  addresses: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.constantFrom(...addresses).map((a) => [a]) },
  ),
});
const arbitraryRequests = fc
  .uniqueArray(arbitraryRequest, { selector: (r) => `${r.namespace}/${r.name}`, maxLength: 10 })
  .map((list) => list.map(({ name, ...more }) => request(name, more)));

describe('invariants', () => {
  const pools = [pool('p', ['203.0.113.0/29'])];

  test('holders and assignments say the same, every address is of the pool, and nobody shares unasked', () => {
    fc.assert(
      fc.property(arbitraryRequests, arbitraryRequests, (first, second) => {
        const unchanged = first.filter(({ key }) => second.every((r) => r.key !== key));
        const requests = [...unchanged, ...second];
        const allocation = allocate(fresh(input(unchanged, pools)), input(requests, pools));
        const fromRoutes = [...allocation.routes].flatMap(([key, { assigned }]) =>
          assigned.map((a) => `${a.vip} ${key}`),
        );
        const fromHolders = [...allocation.holders].flatMap(([address, keys]) =>
          keys.map((key) => `${address} ${key}`),
        );
        expect(fromRoutes.sort()).toEqual(fromHolders.sort());
        expect(allocation.routes.size).toBe(requests.length);
        for (const [address, keys] of allocation.holders) {
          expect(addresses).toContain(address);
          expect(new Set(keys.map((key) => key.split('/')[0])).size).toBe(1);
          const askers = keys.filter((key) => allocation.input.requests.get(key)?.addresses.includes(address));
          expect(keys.length - askers.length).toBeLessThanOrEqual(1);
        }
        for (const { key } of requests) {
          const result = allocation.routes.get(key);
          expect(result?.assigned.length === 0).toBe(result?.failure !== undefined);
        }
      }),
    );
  });

  test('the result does not depend on the order of the input', () => {
    fc.assert(
      fc.property(
        arbitraryRequests.chain((list) =>
          fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
        ),
        ([list, shuffled]) => {
          expect(new Map(fresh(input(shuffled, pools)).routes)).toEqual(new Map(fresh(input(list, pools)).routes));
        },
      ),
    );
  });

  test('an assignment is kept under any sequence of other routes coming and going', () => {
    fc.assert(
      fc.property(arbitraryRequests, fc.array(arbitraryRequests, { maxLength: 5 }), (first, rounds) => {
        let allocation = fresh(input(first, pools));
        const keeper = first.find((r) => (allocation.routes.get(r.key)?.assigned.length ?? 0) > 0);
        fc.pre(keeper !== undefined);
        const before = allocation.routes.get(keeper.key);
        for (const round of rounds) {
          const others = round.filter((r) => r.key !== keeper.key);
          allocation = allocate(allocation, input([keeper, ...others], pools));
          expect(allocation.routes.get(keeper.key)).toBe(before);
        }
      }),
    );
  });

  test('the incremental answer is that of a whole pass with the same pins', () => {
    fc.assert(
      fc.property(arbitraryRequests, arbitraryRequests, (first, second) => {
        const before = fresh(input(first, pools));
        const pins = Object.fromEntries(
          [...before.routes].map(([key, { assigned }]) => [
            key,
            { addresses: assigned.map((a) => a.vip), live: false },
          ]),
        );
        const stillThere = second.filter((r) => before.input.requests.get(r.key) === undefined);
        const kept = first.filter((r) => second.some((s) => s.key === r.key));
        const next = [...kept, ...stillThere];
        const whole = fresh(input(next, pools, pins));
        expect(new Map(allocate(before, input(next, pools)).routes)).toEqual(new Map(whole.routes));
      }),
    );
  });
});

test('the order of addresses is complete and the same each time', () => {
  const ranges = [must(parseRange('203.0.113.0/29')), must(parseRange('203.0.113.64-203.0.113.66'))];
  const order = [...addressOrder(routeKey('default', 'a'), ranges)];
  expect(new Set(order).size).toBe(11);
  expect([...addressOrder(routeKey('default', 'a'), ranges)]).toEqual(order);
});

describe('with a coordinator', () => {
  const pools = [pool('public', ['203.0.113.0/28'])];
  const a = request('a');
  const follower = (requests: readonly AllocationRequest[], pins: Record<string, Pin>, more = {}) =>
    input(requests, pools, pins, { assigns: false, ...more });
  const written = (...addresses: string[]): Pin => ({ addresses: addresses.map(vip), live: true });

  test('a follower gives nothing, and says whom it waits for', () => {
    const allocation = fresh(follower([a, request('b', { addresses: [vip('203.0.113.9')] })], {}));
    expect([held(allocation, 'a'), held(allocation, 'b')]).toEqual([[], []]);
    expect(failure(allocation, 'a')?.message).toMatch(/the coordinator has given it no address/);
  });

  test('a follower does as is written, also when it changes', () => {
    const first = fresh(follower([a], { 'default/a': written('203.0.113.3') }));
    expect(held(first, 'a')).toEqual(['203.0.113.3']);
    const second = allocate(first, {
      ...first.input,
      pins: follower([a], { 'default/a': written('203.0.113.4') }).pins,
    });
    expect(held(second, 'a')).toEqual(['203.0.113.4']);
  });

  test('a follower keeps an address whose writing is lost, until another route has it', () => {
    const first = fresh(follower([a], { 'default/a': written('203.0.113.3') }));
    const lost = allocate(first, { ...first.input, pins: Table.empty() });
    expect(held(lost, 'a')).toEqual(['203.0.113.3']);
    const b = request('b');
    const given = follower([a, b], { 'default/b': written('203.0.113.3') });
    const taken = allocate(lost, { ...lost.input, requests: given.requests, pins: given.pins });
    expect([held(taken, 'a'), held(taken, 'b')]).toEqual([[], ['203.0.113.3']]);
  });

  test('a follower does not judge a quarantine that the coordinator may not know of', () => {
    const quarantined = new Map([[vip('203.0.113.3'), 'is answered by a stranger']]);
    const allocation = fresh(follower([a], { 'default/a': written('203.0.113.3') }, { quarantined }));
    expect(held(allocation, 'a')).toEqual(['203.0.113.3']);
  });

  test('a new coordinator keeps an address that a younger or an older route shares by request', () => {
    const auto = request('z', { created: 2 });
    const asks = request('a', { created: 1, addresses: [vip('203.0.113.3')] });
    const memory: Pin = { addresses: [vip('203.0.113.3')], live: false };
    const allocation = fresh(input([auto, asks], pools, { 'default/z': memory, 'default/a': memory }));
    expect([held(allocation, 'z'), held(allocation, 'a')]).toEqual([['203.0.113.3'], ['203.0.113.3']]);
  });

  test('a follower that is told what was assigned has the same, and changes nothing when it becomes the coordinator', () => {
    fc.assert(
      fc.property(arbitraryRequests, (requests) => {
        const assigned = fresh(input(requests, pools));
        const pins = Object.fromEntries(
          Array.from(assigned.routes, ([key, { assigned: own }]) => [
            key as string,
            { addresses: own.map((address) => address.vip), live: true },
          ]),
        );
        const following = fresh(follower(requests, pins));
        const addresses = (allocation: Allocation) =>
          Array.from(allocation.routes, ([key, { assigned: own }]) => [key, own] as const).sort();
        expect(addresses(following)).toEqual(addresses(assigned));
        expect(addresses(allocate(following, { ...following.input, assigns: true }))).toEqual(addresses(assigned));
      }),
    );
  });
});
