import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseIp } from '../../net/ip.ts';
import type { ObjectOf } from './kinds.ts';
import { parseGrant, parseNode, parsePool, parseRoute, parseService, parseSlice } from './parse.ts';
import { checkObject } from './validate.ts';

/** The object with its defaults, or a failed test. */
function checked<K extends 'ServiceRoute' | 'AddressPool' | 'Service' | 'EndpointSlice' | 'Node' | 'ReferenceGrant'>(
  kind: K,
  rest: object,
): ObjectOf<K> {
  const apiVersions = {
    ServiceRoute: 'signpost.dev/v1alpha1',
    AddressPool: 'signpost.dev/v1alpha1',
    Service: 'v1',
    Node: 'v1',
    EndpointSlice: 'discovery.k8s.io/v1',
    ReferenceGrant: 'gateway.networking.k8s.io/v1',
  };
  const metadata = { name: 'x', namespace: 'web' };
  const result = checkObject({ apiVersion: apiVersions[kind], kind, metadata, ...rest });
  expect(result.problem).toBeUndefined();
  return result.ok as ObjectOf<K>;
}

const RULE = { name: 'a', protocol: 'TCP', port: 80, backendRefs: [{ name: 'shop', port: 80 }] };

describe('a ServiceRoute', () => {
  test('gets its defaults, and addresses and prefixes in one form', () => {
    const spec = { rules: [RULE], addresses: ['2001:DB8:0::1'], sourceRanges: ['2001:0db8::/32'] };
    expect(parseRoute(checked('ServiceRoute', { spec })).ok).toEqual({
      meta: { name: 'x', namespace: 'web', labels: {}, created: 0, generation: 0 },
      key: 'web/x',
      addressPool: undefined,
      addresses: ['2001:db8::1'],
      ipFamilyPolicy: 'SingleStack',
      rules: [
        {
          name: 'a',
          match: { protocol: 'TCP', port: 80 },
          backendRefs: [{ service: 'web/shop', port: 80, weight: 1 }],
          sourceRanges: [],
        },
      ],
      forwarding: 'Endpoints',
      trafficPolicy: 'Cluster',
      affinity: { type: 'None' },
      sourceRanges: ['2001:db8::/32'],
    });
  });

  test('without protocol and port follows its Service', () => {
    const spec = { rules: [{ name: 'a', backendRefs: [{ name: 'shop', namespace: 'other' }] }] };
    const [rule] = parseRoute(checked('ServiceRoute', { spec })).ok?.rules ?? [];
    expect(rule).toMatchObject({ match: undefined, backendRefs: [{ service: 'other/shop', port: undefined }] });
  });

  test('keeps clients of ClientIP affinity for three hours, as kube-proxy does', () => {
    const spec = { rules: [RULE], sessionAffinity: { type: 'ClientIP' } };
    expect(parseRoute(checked('ServiceRoute', { spec })).ok?.affinity).toEqual({
      type: 'ClientIP',
      timeoutSeconds: 10_800,
    });
  });
});

test('an AddressPool announces on layer 2 only where it says so', () => {
  const pool = (spec: object) =>
    parsePool(checked('AddressPool', { spec: { addresses: ['203.0.113.0/30'], ...spec } }));
  expect(pool({}).l2).toBeUndefined();
  expect(pool({ l2: { enabled: false } }).l2).toBeUndefined();
  expect(pool({ l2: {} }).l2).toMatchObject({ interfaces: [], fencing: 'Prefer' });
  expect(pool({}).ranges).toEqual([{ family: 'IPv4', first: 0xcb007100n, last: 0xcb007103n }]);
});

test('a headless Service has no ClusterIP', () => {
  expect(parseService(checked('Service', { spec: { clusterIPs: ['None'] } })).clusterIPs).toEqual([]);
});

describe('an EndpointSlice', () => {
  const slice = (rest: object) => parseSlice(checked('EndpointSlice', { addressType: 'IPv4', ...rest }));
  const metadata = { name: 'x', namespace: 'web', labels: { 'kubernetes.io/service-name': 'shop' } };

  test('of no Service is none', () => expect(slice({ endpoints: [] })).toBeUndefined());

  test.each([
    [{}, { ready: true, serving: true, terminating: false }],
    [{ ready: false }, { ready: false, serving: false, terminating: false }],
    [
      { ready: false, serving: true, terminating: true },
      { ready: false, serving: true, terminating: true },
    ],
  ])('with conditions %j', (conditions, expected) => {
    const parsed = slice({ metadata, endpoints: [{ addresses: ['10.244.1.5'], conditions, nodeName: 'n1' }] });
    expect(parsed).toMatchObject({
      service: 'web/shop',
      endpoints: [{ addresses: ['10.244.1.5'], node: 'n1', ...expected }],
    });
  });
});

describe('a Node', () => {
  const node = (rest: object) => parseNode(checked('Node', { metadata: { name: 'n1' }, ...rest })).ok;

  test('of a manifest is ready', () =>
    expect(node({})).toMatchObject({ ready: true, outOfService: false, networkUnavailable: false }));

  test('tells what keeps it from leading', () => {
    const conditions = [
      { type: 'Ready', status: 'Unknown' },
      { type: 'NetworkUnavailable', status: 'True' },
    ];
    const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];
    expect(node({ spec: { taints }, status: { conditions } })).toMatchObject({
      ready: false,
      networkUnavailable: true,
      outOfService: true,
    });
  });
});

test('a ReferenceGrant without a name is for every Service', () => {
  const spec = {
    from: [{ group: 'signpost.dev', kind: 'ServiceRoute', namespace: 'a' }],
    to: [{ group: '', kind: 'Service' }],
  };
  expect(parseGrant(checked('ReferenceGrant', { spec })).to).toEqual([{ group: '', kind: 'Service', name: undefined }]);
});

describe('whatever is written', () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      '1.2.3.4;flush ruleset',
      '"}; drop',
      '10.0.0.1\n',
      ' 10.0.0.1',
      '::1%lo',
      '1.2.3.4/0x10',
      '$x',
      '`id`',
      '*',
      '../x',
    ),
  );
  /** What may stand in a ruleset: no white space, quote, brace, semicolon, dollar or comment sign. */
  const inert = /^[A-Za-z0-9_.:/@+*?-]*$/;

  test('names, addresses and prefixes of a route that is taken are inert', () => {
    fc.assert(
      fc.property(hostile, hostile, hostile, (a, b, c) => {
        const { ok } = checkObject({
          apiVersion: 'signpost.dev/v1alpha1',
          kind: 'ServiceRoute',
          metadata: { name: a, namespace: b },
          spec: {
            addresses: [c],
            addressPool: a,
            sourceRanges: [b],
            rules: [{ ...RULE, name: c, backendRefs: [{ name: a, namespace: b, port: 1 }] }],
          },
        });
        const route = ok && parseRoute(ok as ObjectOf<'ServiceRoute'>).ok;
        if (route === undefined) return;
        const texts = [route.key, ...route.addresses, ...route.sourceRanges, ...route.rules.map(({ name }) => name)];
        for (const text of texts) expect(text).toMatch(inert);
      }),
      { numRuns: 2000 },
    );
  });

  test('each field alone: what one hostile text leaves of a valid route is inert', () => {
    const fields = [
      'metadata.name',
      'metadata.namespace',
      'addressPool',
      'addresses',
      'sourceRanges',
      'rule',
      'backend',
    ] as const;
    fc.assert(
      fc.property(hostile, fc.constantFrom(...fields), (text, field) => {
        const or = (name: (typeof fields)[number], usual: string) => (name === field ? text : usual);
        const backend = { name: or('backend', 'shop'), port: 80 };
        const { ok } = checkObject({
          apiVersion: 'signpost.dev/v1alpha1',
          kind: 'ServiceRoute',
          metadata: { name: or('metadata.name', 'x'), namespace: or('metadata.namespace', 'web') },
          spec: {
            addressPool: or('addressPool', 'p'),
            addresses: [or('addresses', '203.0.113.1')],
            sourceRanges: [or('sourceRanges', '10.0.0.0/8')],
            rules: [{ ...RULE, name: or('rule', 'a'), backendRefs: [backend] }],
          },
        });
        if (ok === undefined) return;
        const route = parseRoute(ok as ObjectOf<'ServiceRoute'>).ok;
        expect(JSON.stringify(route)).toMatch(/^[A-Za-z0-9_.:/@+*?\-"{}[\],]*$/);
      }),
      { numRuns: 2000 },
    );
  });

  test('interfaces of a pool and endpoints of a slice are inert', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const pool = checkObject({
          apiVersion: 'signpost.dev/v1alpha1',
          kind: 'AddressPool',
          metadata: { name: 'x' },
          spec: { addresses: ['203.0.113.1'], l2: { interfaces: [text] } },
        }).ok;
        if (pool !== undefined) expect(text).toMatch(inert);
        const metadata = { name: 'x', labels: { 'kubernetes.io/service-name': 'shop' } };
        const slice = parseSlice(
          checked('EndpointSlice', { metadata, addressType: 'IPv4', endpoints: [{ addresses: [text] }] }),
        );
        for (const address of slice?.endpoints.flatMap(({ addresses }) => addresses) ?? []) {
          expect(parseIp(address).ok).toBe(address);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
