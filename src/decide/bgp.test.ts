import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Ip } from '../../net/ip.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import { type Prefix, parsePrefix, parseRange } from '../../net/prefix.ts';
import { must } from '../../net/result.ts';
import { Table } from '../../net/table.ts';
import { type BGPPeer, BGPPeerSchema } from '../api/bgp-peer.ts';
import { type Link, type Links, NO_LINKS } from '../world/links.ts';
import type { NodeObject, Pool, PoolAdvertisement } from '../world/objects.ts';
import { bgpRouteKey } from './bgp/types.ts';
import { type BgpInput, type BgpPlan, emptyBgpPlan, peeringInterfaces, planBgp } from './bgp.ts';
import type { VipPlan } from './vip-plan.ts';

const ANY = { matchLabels: {}, matchExpressions: [] };
const meta = (name: string, labels: Record<string, string> = {}) => ({
  name,
  namespace: '',
  labels,
  created: 0,
  generation: 1,
  uid: undefined,
});

function peer(name: string, spec: object = {}, labels: Record<string, string> = {}): [string, BGPPeer] {
  const object = {
    apiVersion: 'signpost.dev/v1alpha1',
    kind: 'BGPPeer',
    metadata: { name, labels },
    spec: { localASN: 65001, peerASN: 65000, address: '192.0.2.1', ...spec },
  };
  return [name, BGPPeerSchema.parse(object)];
}

function pool(advertisements: readonly Partial<PoolAdvertisement>[], name = 'public'): Pool {
  return {
    meta: meta(name),
    ranges: ['203.0.113.0/24', '2001:db8::/64'].map((text) => must(parseRange(text))),
    avoidBuggyAddresses: false,
    autoAssign: true,
    priority: 0,
    allow: { namespaces: [], selector: ANY },
    sharing: 'Namespace',
    l2: undefined,
    bgp: advertisements.map((advertisement) => ({
      peers: ANY,
      nodeSelector: ANY,
      aggregationLength: 32,
      aggregationLengthV6: 128,
      localPreference: undefined,
      med: undefined,
      communities: [],
      prepend: 0,
      ...advertisement,
    })),
  };
}

function vip(address: string, of: Pool, withheld?: string): [Vip, VipPlan] {
  return [
    address as Vip,
    { vip: address as Vip, routes: [], pool: of, entries: [], conflicts: [], l2: undefined, withheld },
  ];
}

const node = (labels: Record<string, string> = {}, more: Partial<NodeObject> = {}): NodeObject => ({
  meta: meta('n1', labels),
  name: 'n1' as NodeName,
  addresses: ['192.0.2.11' as Ip],
  podCIDRs: [],
  ready: true,
  networkUnavailable: false,
  outOfService: false,
  ...more,
});

interface Scene {
  readonly peers?: readonly (readonly [string, BGPPeer])[];
  readonly vips?: readonly (readonly [Vip, VipPlan])[];
  readonly installed?: readonly Vip[];
  readonly node?: NodeObject;
  readonly draining?: boolean;
}

function inputOf({
  peers = [peer('tor')],
  vips = [],
  installed,
  node: here = node(),
  draining = false,
}: Scene): BgpInput {
  return {
    peers: Table.from(peers),
    pools: Table.from(vips.map(([, { pool: of }]) => [of.meta.name, of] as const)),
    vips: Table.from(vips),
    installed: Table.from((installed ?? vips.map(([key]) => key)).map((key) => [key, true] as const)),
    node: here,
    links: NO_LINKS,
    witness: false,
    draining,
    drained: new Set(),
  };
}

const planOf = (scene: Scene, previous: BgpPlan = emptyBgpPlan(NO_LINKS)) => planBgp(inputOf(scene), previous);
const routesOf = (plan: BgpPlan) => [...plan.routes.keys()].sort();
const A = '203.0.113.10';

describe('sessions', () => {
  test('a BGPPeer with its defaults', () => {
    expect(planOf({}).sessions.get('tor')).toMatchObject({
      remote: { kind: 'address', address: '192.0.2.1', connected: false },
      remoteAsn: 65000,
      port: 179,
      routerId: '192.0.2.11',
      holdTime: 9,
      keepaliveTime: 3,
      connectRetryTime: 5,
      families: ['IPv4', 'IPv6'],
      gracefulRestart: { restartTime: 30 },
      bfd: undefined,
    });
  });

  test('BFD in microseconds, roles by their RFC names', () => {
    const spec = { bfd: { transmit: '50ms' }, role: 'rs-client', dynamicASN: 'external', peerASN: undefined };
    expect(planOf({ peers: [peer('tor', spec)] }).sessions.get('tor')).toMatchObject({
      bfd: { desiredMinTx: 50_000, requiredMinRx: 300_000, detectMultiplier: 3 },
      role: 'route-server-client',
      remoteAsn: 'external',
    });
  });

  test.each([
    [{ address: 'fe80::1' }, /spec.address: is a link-local address without an interface/],
    [{ nodeSelector: { matchLabels: { rack: 'b' } } }, /nodeSelector does not select this node/],
  ])('%j is refused in words', (spec, words) => {
    const plan = planOf({ peers: [peer('tor', spec)] });
    expect(plan.sessions.size).toBe(0);
    expect(plan.withoutSession.get('tor')).toMatch(words);
  });

  test('a node without any IPv4 address must be told its identifier', () => {
    const here = node({}, { addresses: ['2001:db8::11' as Ip] });
    expect(planOf({ node: here }).withoutSession.get('tor')).toMatch(/spec.routerID: is missing/);
    const told = [peer('tor', { routerID: '192.0.2.99' })];
    expect(planOf({ node: here, peers: told }).sessions.get('tor')?.routerId).toBe('192.0.2.99');
  });

  test('a change elsewhere leaves a session the same object', () => {
    const before = planOf({ peers: [peer('tor'), peer('other', { address: '192.0.2.2' })] });
    const after = planOf({ peers: [peer('tor'), peer('other', { address: '192.0.2.3' })] }, before);
    expect(after.sessions.get('tor')).toBe(before.sessions.get('tor'));
    expect(after.sessions.get('other')).not.toBe(before.sessions.get('other'));
  });
});

describe('routes', () => {
  test('a host route with everything that the pool says', () => {
    const said = { localPreference: 200, med: 10, prepend: 2, communities: ['no-export', '65000:100', '65000:1:2'] };
    const plan = planOf({ vips: [vip(A, pool([said]))] });
    expect([...plan.routes.values()]).toMatchObject([
      {
        peer: 'tor',
        prefix: '203.0.113.10/32',
        attributes: {
          localPreference: 200,
          med: 10,
          prepend: 2,
          communities: [0xfde8_0064, 0xffff_ff01],
          largeCommunities: [{ globalAdministrator: 65000, localData1: 1, localData2: 2 }],
        },
      },
    ]);
  });

  test('an aggregate and the host route beside it; the aggregate goes with its last VIP', () => {
    const both = pool([{ aggregationLength: 24, communities: ['65000:1'] }, {}]);
    const first = planOf({ vips: [vip(A, both), vip('203.0.113.11', both)] });
    expect(routesOf(first)).toEqual(['tor|203.0.113.0/24', 'tor|203.0.113.10/32', 'tor|203.0.113.11/32']);
    const second = planOf({ vips: [vip(A, both)] }, first);
    expect(routesOf(second)).toEqual(['tor|203.0.113.0/24', 'tor|203.0.113.10/32']);
    expect(routesOf(planOf({}, second))).toEqual([]);
  });

  test('two entries for one prefix are one route: the first decides, communities are joined', () => {
    const entries = [
      { localPreference: 50, communities: ['65000:2'] },
      { localPreference: 300, communities: ['65000:1'] },
    ];
    const [route] = [...planOf({ vips: [vip(A, pool(entries))] }).routes.values()];
    expect(route?.attributes).toMatchObject({ localPreference: 50, communities: [0xfde8_0001, 0xfde8_0002] });
  });

  test('peers by label, of the families that they carry', () => {
    const peers = [peer('a', {}, { rack: 'a' }), peer('b', { families: ['ipv6'] }, { rack: 'b' })];
    const everywhere = pool([{}]);
    const dual = [vip(A, everywhere), vip('2001:db8::10', everywhere)];
    expect(routesOf(planOf({ peers, vips: dual }))).toEqual([
      'a|2001:db8::10/128',
      'a|203.0.113.10/32',
      'b|2001:db8::10/128',
    ]);
    const toB = pool([{ peers: { matchLabels: { rack: 'b' }, matchExpressions: [] } }]);
    expect(routesOf(planOf({ peers, vips: [vip(A, toB)] }))).toEqual([]);
  });

  test('a leaving node says so in its routes', () => {
    const plan = planOf({ vips: [vip(A, pool([{}]))], draining: true });
    expect([...plan.routes.values()][0]?.attributes.communities).toEqual([0xffff_0000]);
  });

  test('a drained peer alone is told, and no other, until it is undrained', () => {
    const scene = { peers: [peer('a'), peer('b')], vips: [vip(A, pool([{ communities: ['65000:1'] }]))] };
    const communities = (plan: BgpPlan) =>
      Array.from(plan.routes, ([key, route]) => [key, route.attributes.communities] as const).sort();
    const before = planOf(scene);
    const drained = planBgp({ ...before.input, drained: new Set(['a']) }, before);
    expect(communities(drained)).toEqual([
      ['a|203.0.113.10/32', [0xfde8_0001, 0xffff_0000]],
      ['b|203.0.113.10/32', [0xfde8_0001]],
    ]);
    expect([...drained.leaving]).toEqual(['a']);
    const key = bgpRouteKey('b', '203.0.113.10/32' as Prefix);
    expect(drained.routes.get(key)).toBe(before.routes.get(key));
    expect(communities(planBgp(before.input, drained))).toEqual(communities(before));
  });

  test('a route that did not change is the same object, whatever else did', () => {
    const aggregate = pool([{ aggregationLength: 24 }]);
    const before = planOf({ vips: [vip(A, aggregate)] });
    const after = planOf({ vips: [vip(A, aggregate), vip('203.0.113.11', aggregate)] }, before);
    expect(after.routes).toBe(before.routes);
  });
});

describe('what is withheld says why', () => {
  const toRackB = { nodeSelector: { matchLabels: { rack: 'b' }, matchExpressions: [] } };
  test.each<[string, Scene, RegExp]>([
    ['no endpoint', { vips: [vip(A, pool([{}]), 'no ready endpoint')] }, /^no ready endpoint$/],
    ['no rules', { vips: [vip(A, pool([{}]))], installed: [] }, /rules are on their way/],
    ['other nodes', { vips: [vip(A, pool([toRackB]))] }, /no entry of spec.bgp of pool public selects this node/],
    ['no peers', { peers: [], vips: [vip(A, pool([{}]))] }, /no BGPPeer of this node matches/],
    [
      'other family',
      { peers: [peer('tor', { families: ['ipv6'] })], vips: [vip(A, pool([{}]))] },
      /none of tor carries IPv4/,
    ],
    ['beyond the pool', { vips: [vip(A, pool([{ aggregationLength: 16 }]))] }, /203.0.0.0\/16 reaches beyond/],
    [
      'excluded node',
      {
        node: node({ 'node.kubernetes.io/exclude-from-external-load-balancers': '' }),
        vips: [vip(A, pool([{}]))],
      },
      /excluded/,
    ],
  ])('%s', (_, scene, words) => {
    const plan = planOf(scene);
    expect(plan.routes.size).toBe(0);
    expect(plan.withheld.get(A as Vip)).toMatch(words);
  });

  test('and nothing of pools that do not speak BGP', () => {
    const plan = planOf({ vips: [vip(A, pool([]))] });
    expect([plan.routes.size, plan.withheld.size]).toEqual([0, 0]);
  });
});

test('peers are behind the interface of their network, or the one that they name', () => {
  const link = (index: number, name: string, prefix: string): [number, Link] => [
    index,
    {
      index,
      name,
      mac: undefined,
      up: true,
      carrier: true,
      loopback: false,
      master: undefined,
      memberOf: undefined,
      addresses: [{ ip: prefix.replace(/0\/.*/, '9') as Ip, prefix: must(parsePrefix(prefix)), tentative: false }],
    },
  ];
  const links: Links = {
    byIndex: new Map([link(1, 'eth0', '192.0.2.0/24'), link(2, 'eth1', '198.51.100.0/24')]),
    gateways: [],
  };
  const named = { address: undefined, interface: 'eth7' };
  const peers = [peer('near'), peer('far', { address: '10.9.9.9' }), peer('unnumbered', named)];
  const plan = planBgp({ ...inputOf({ peers }), links }, emptyBgpPlan(NO_LINKS));
  expect(peeringInterfaces(plan)).toEqual(['eth0', 'eth7']);
  expect([...plan.sessions.values()].map(({ remote }) => remote.kind === 'address' && remote.connected)).toContain(
    true,
  );
});

test('planning step by step comes to what planning at once comes to', () => {
  const pools = [
    pool([{}], 'plain'),
    pool([{ aggregationLength: 28, med: 5 }, { communities: ['65000:7'] }], 'both'),
    pool(
      [{ aggregationLength: 24, localPreference: 7, peers: { matchLabels: { rack: 'b' }, matchExpressions: [] } }],
      'b',
    ),
  ];
  const address = fc.integer({ min: 1, max: 40 }).map((last) => `203.0.113.${last}`);
  const scene = fc.record({
    vips: fc.uniqueArray(
      fc
        .tuple(address, fc.constantFrom(...pools), fc.boolean())
        .map(([ip, of, bad]) => vip(ip, of, bad ? 'none' : undefined)),
      { selector: ([key]) => key, maxLength: 12 },
    ),
    peers: fc.subarray([peer('a'), peer('b', {}, { rack: 'b' }), peer('c', { families: ['ipv6'] })]),
    draining: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(scene, { minLength: 1, maxLength: 6 }), (scenes) => {
      let stepwise = emptyBgpPlan(NO_LINKS);
      for (const one of scenes) stepwise = planOf(one, stepwise);
      const atOnce = planOf(scenes.at(-1) ?? {});
      const shown = (plan: BgpPlan) => ({
        routes: [...plan.routes].map(([key, route]) => `${key} ${route.attributes.key}`).sort(),
        withheld: [...plan.withheld].map(String).sort(),
        sessions: [...plan.sessions.keys()].sort(),
        shares: [...plan.shares]
          .map(
            ([key, shares]) =>
              `${key} ${shares
                .map(({ advertiser, vips }) => `${advertiser.order}:${vips}`)
                .sort()
                .join()}`,
          )
          .sort(),
      });
      expect(shown(stepwise)).toEqual(shown(atOnce));
    }),
  );
});
