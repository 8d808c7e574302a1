import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { InterfaceName, Vip } from '../../net/names.ts';
import { Table } from '../../net/table.ts';
import { routeKey } from '../world/keys.ts';
import type { World } from '../world/types.ts';
import { type Plan, plan } from './plan.ts';
import { routeStatus } from './route-status.ts';
import {
  after,
  answering,
  anyEvent,
  claim,
  freshWorld,
  links,
  pool,
  put,
  route,
  slice,
  stopped,
  take,
  WEB,
} from './testing/worlds.ts';

const VIP = '203.0.113.100' as Vip;
const POOL = pool('p', ['203.0.113.100-203.0.113.103']);
const served = after(
  freshWorld(),
  { type: 'links', links: links() },
  put(POOL),
  put(WEB),
  put(slice('s1', ['10.0.0.1', '10.0.0.2'])),
  put(route('r1', 80, { addresses: [VIP] })),
);

const CLUSTER_IP = route('r1', 80, { addresses: [VIP], forwarding: 'ClusterIP' });
const WEB_WITH_ADDRESS = { ...WEB, spec: { ports: [{ name: 'http', port: 80 }], clusterIPs: ['10.96.0.10'] } };

const keysOf = (made: Plan) => [...made.forwarding.entries.keys()].sort();
const statusOf = (made: Plan, name: string, type: string) => {
  const planned = made.routes.get(routeKey('default', name));
  return planned && routeStatus(planned, made).conditions.find((condition) => condition.type === type);
};

/** What a plan says, without the memory that it carries. */
function contents({ routes, vips, forwarding, lingering, l2, segments, allocation }: Plan) {
  return {
    allocation: new Map(allocation.routes),
    routes: new Map(
      Array.from(routes, ([key, { entries, refProblems, rejected }]) => [key, { entries, refProblems, rejected }]),
    ),
    vips: new Map(
      Array.from(vips, ([key, { routes: holders, conflicts, l2: own }]) => [key, { holders, conflicts, own }]),
    ),
    entries: new Map(forwarding.entries),
    forwarded: new Map(forwarding.vips),
    interfaces: forwarding.announcingInterfaces,
    bounces: new Map(forwarding.bounces),
    lingering: [...lingering.keys()],
    l2: new Map(l2),
    segments: new Map(segments),
  };
}

test('a route becomes entries, a VIP for the wire and a segment', () => {
  const made = plan(served);
  expect(keysOf(made)).toEqual([`${VIP}|TCP|80`]);
  expect(made.l2.get(VIP)).toMatchObject({
    interface: 'eth0',
    entry: { ready: false, eligibility: { kind: 'eligible' }, routeKey: 'default/r1' },
  });
  expect([...made.segments.values()]).toMatchObject([
    { interface: 'eth0', address: '203.0.113.11', members: [{ node: 'n1' }, { node: 'n2' }] },
  ]);
});

test('the wire is told "ready" only when the kernel has the rules', () => {
  const made = plan(served);
  const installed = after(served, { type: 'forwarding', forwarding: { applied: made.forwarding, problem: undefined } });
  expect(plan(installed, made).l2.get(VIP)?.entry.ready).toBe(true);
});

test('a lost carrier makes the node ineligible and says why', () => {
  const made = plan(after(served, { type: 'links', links: links({ carrier: false }) }), plan(served));
  expect(made.l2.get(VIP)?.entry.eligibility).toEqual({ kind: 'ineligible', reason: 'interface eth0 has no carrier' });
});

test('two routes that ask for one port of a VIP: the older has it, the other says which', () => {
  const made = plan(after(served, put(route('r0', 80, { addresses: [VIP] }))), plan(served));
  expect(keysOf(made)).toEqual([`${VIP}|TCP|80`]);
  expect(statusOf(made, 'r1', 'Programmed')).toMatchObject({
    reason: 'PortConflict',
    message: /default\/r0 is older and has 80\/TCP/,
  });
});

test('rules of a VIP that went stay until the wire has stopped answering', () => {
  const announced = after(served, answering(VIP, 1));
  const before = plan(announced);
  const gone = after(announced, take(route('r1', 80)));
  const lingering = plan(gone, before);
  expect(lingering.vips.size).toBe(0);
  expect(lingering.l2.size).toBe(0);
  expect(keysOf(lingering)).toEqual([`${VIP}|TCP|80`]);
  const over = plan(after(gone, stopped(VIP)), lingering);
  expect(keysOf(over)).toEqual([]);
  expect(over.forwarding.vips.size).toBe(0);
});

const HANDED_OVER = {
  type: 'stopped',
  segment: 'eth0' as InterfaceName,
  cause: 'handOver',
  keepForwarding: true,
} as const;

test('segments of connections from before a move go to former holders until the drain time is over', () => {
  const moved = after(served, answering(VIP, 7));
  const made = plan(moved, plan(served));
  expect(made.forwarding.bounces?.get(VIP)).toEqual([{ to: '203.0.113.12', device: 'eth0' }]);
  const movedOn = plan(after(moved, { type: 'wire', message: { ...HANDED_OVER, vip: VIP } }), made);
  expect(movedOn.forwarding.bounces?.size).toBe(1);
  const settled = plan(after(moved, { type: 'settled', vip: VIP, epoch: 7 }), made);
  expect(settled.forwarding.bounces?.size).toBe(0);
});

test('an assignment is pinned by the claim that carries its route, on a node that remembers nothing', () => {
  const claimed = after(
    freshWorld(),
    { type: 'links', links: links() },
    claim('203.0.113.103', 'n2', 'default/r1'),
    put(POOL),
    put(WEB),
    put(route('r1', 80)),
  );
  expect(plan(claimed).allocation.routes.get(routeKey('default', 'r1'))?.assigned).toEqual([
    { vip: '203.0.113.103', pool: 'p' },
  ]);
});

describe('mode ClusterIP', () => {
  const entryOf = (world: World) => [...plan(world).forwarding.entries.values()][0];

  test("sends packets to the Service's own address, whose port is the Service's", () => {
    const world = after(served, put(WEB_WITH_ADDRESS), put(CLUSTER_IP));
    expect(entryOf(world)).toMatchObject({
      relayed: true,
      endpoints: [{ address: '10.96.0.10', port: 80, weight: 1 }],
      keepClientAddress: false,
    });
  });

  test('refuses where the Service has no endpoint, as in every mode', () => {
    const world = after(served, put(WEB_WITH_ADDRESS), put(CLUSTER_IP), take(slice('s1', [])));
    expect(entryOf(world)).toMatchObject({ relayed: true, endpoints: [] });
  });

  test('says that a headless Service has no address', () => {
    const made = plan(after(served, put(CLUSTER_IP)));
    expect(statusOf(made, 'r1', 'ResolvedRefs')).toMatchObject({
      status: 'False',
      message: 'Service default/web has no IPv4 ClusterIP; use forwarding Endpoints',
    });
  });
});

describe('what is not served is said', () => {
  test.each<[string, World, string, RegExp]>([
    [
      'no pool',
      after(freshWorld(), put(WEB), put(route('r1', 80))),
      'AddressNotAssigned',
      /no AddressPool with autoAssign/,
    ],
    ['not announced', served, 'Pending', /on their way/],
    [
      'mode and policy that exclude each other',
      after(served, put(route('r1', 80, { addresses: [VIP], forwarding: 'ClusterIP', trafficPolicy: 'Local' }))),
      'NotAccepted',
      /not accepted/,
    ],
    [
      'a mode that the node refuses',
      after(served, put(CLUSTER_IP), {
        type: 'forwarding',
        forwarding: { applied: undefined, problem: undefined, clusterIp: 'needs a namespace; apply the overlay' },
      }),
      'RulesNotInstalled',
      /apply the overlay/,
    ],
    [
      'silent pool',
      after(served, put(pool('p', ['203.0.113.100-203.0.113.103'], { l2: { enabled: false } }))),
      'NoAnnouncement',
      /neither spec.l2 nor spec.bgp/,
    ],
  ])('%s', (_, world, reason, message) => {
    expect(statusOf(plan(world), 'r1', 'Programmed')).toMatchObject({ status: 'False', reason, message });
  });

  test('a backend that is not there', () => {
    const made = plan(after(served, take(WEB)), plan(served));
    expect(statusOf(made, 'r1', 'ResolvedRefs')).toMatchObject({
      status: 'False',
      reason: 'BackendNotFound',
      message: /default\/web does not exist/,
    });
  });
});

describe('invariants', () => {
  test('the incremental plan is the plan made anew, but for addresses, which are kept', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 30 }), (events) => {
        let world = after(freshWorld(), { type: 'links', links: links() });
        let made = plan(world);
        for (const event of events) {
          world = after(world, event);
          made = plan(world, made);
        }
        // With the addresses that it kept for memory, a plan made anew has nothing else to go by.
        const memory = Table.from(
          Array.from(made.allocation.routes, ([key, { assigned }]) => [key, assigned.map(({ vip }) => vip)] as const),
        );
        const anew = plan({ ...world, memory, role: 'coordinator' });
        const { lingering, ...rest } = contents(made);
        fc.pre(lingering.length === 0);
        const { lingering: none, ...expected } = contents(anew);
        expect(none).toEqual([]);
        expect(rest).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  test('each (VIP, protocol, port) has one route, and each unserved VIP a reason', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 30 }), (events) => {
        const made = plan(after(freshWorld(), { type: 'links', links: links() }, ...events));
        for (const [, { entries, l2 }] of made.vips) {
          const keys = entries.map((entry) => `${entry.protocol} ${entry.port}`);
          expect(new Set(keys).size).toBe(keys.length);
          if (l2 !== undefined && l2.eligibility.kind !== 'eligible') expect(l2.eligibility.reason).not.toBe('');
        }
        for (const planned of made.routes.values()) {
          const { conditions } = routeStatus(planned, made);
          for (const { status, message } of conditions) if (status !== 'True') expect(message).not.toBe('');
        }
      }),
    );
  });

  test('nothing changes where nothing has changed', () => {
    const made = plan(served);
    expect(plan({ ...served }, made).forwarding).toBe(made.forwarding);
    expect(plan(after(served, put(pool('z', ['198.51.100.0/28']))), made).l2.get(VIP)).toEqual(made.l2.get(VIP));
  });
});
