import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatProblem } from '../../net/result.ts';
import { checkObject } from './validate.ts';

const route = (spec: object) => ({
  apiVersion: 'signpost.dev/v1alpha1',
  kind: 'ServiceRoute',
  metadata: { name: 'shop', namespace: 'web' },
  spec: { rules: [{ name: 'a', protocol: 'TCP', port: 80, backendRefs: [{ name: 'shop', port: 80 }] }], ...spec },
});
const told = (object: unknown) => (checkObject(object).problem ?? []).map(formatProblem);

describe('a problem says what is wrong and what would be right', () => {
  test.each([
    ['a missing field', route({ rules: undefined }), 'spec.rules: is missing; write a value of type array'],
    [
      'a wrong type',
      route({ addressPool: 7 }),
      'spec.addressPool: is not of type string (got 7); write a value of type string',
    ],
    [
      'an object for a text',
      route({ addressPool: {} }),
      'spec.addressPool: is not of type string; write a value of type string',
    ],
    ['too few', route({ rules: [] }), 'spec.rules: has fewer items than 1; give at least 1'],
    [
      'a bad value',
      route({ trafficPolicy: 'local' }),
      'spec.trafficPolicy: is not one of its values (got "local"); write Cluster or Local',
    ],
    ['a near field', route({ adressPool: 'x' }), 'spec.adressPool: is not a field (got "x"); did you mean addressPool'],
    [
      'a far field',
      { ...route({}), data: 1 },
      'data: is not a field (got 1); known here are apiVersion, kind, metadata, spec, status',
    ],
    ['no object', 7, 'is not an object (got 7); write apiVersion, kind, metadata and spec'],
    [
      'a near kind',
      { kind: 'serviceroute' },
      'kind: is not a kind that Signpost reads (got "serviceroute"); did you mean ServiceRoute',
    ],
    [
      'an old version',
      { apiVersion: 'signpost.dev/v1', kind: 'Speaker' },
      'apiVersion: is not the version of Speaker (got "signpost.dev/v1"); write signpost.dev/v1alpha1',
    ],
  ])('for %s', (_what, object, words) => {
    expect(told(object)).toEqual([words]);
  });

  test('and all problems are told at once', () => {
    expect(told(route({ trafficPolicy: 'x', forwarding: 'y', addresses: ['z'] }))).toHaveLength(3);
  });
});

test('kinds of Kubernetes may have fields that are not read', () => {
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'x', managedFields: [] },
    spec: { selector: {} },
  };
  expect(told(service)).toEqual([]);
});

test('the API server writes null for what is absent', () => {
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'x', creationTimestamp: null },
    addressType: 'IPv4',
    endpoints: null,
    ports: null,
  };
  expect(told(slice)).toEqual([]);
});

test('ReferenceGrants of both versions are read', () => {
  for (const version of ['v1', 'v1beta1']) {
    const grant = {
      apiVersion: `gateway.networking.k8s.io/${version}`,
      kind: 'ReferenceGrant',
      metadata: { name: 'x' },
      spec: {
        from: [{ group: 'signpost.dev', kind: 'ServiceRoute', namespace: 'web' }],
        to: [{ group: '', kind: 'Service' }],
      },
    };
    expect(told(grant)).toEqual([]);
  }
});

test('nothing that can be written throws, and every problem has words', () => {
  fc.assert(
    fc.property(
      fc.anything(),
      fc.constantFrom('rules', 'addresses', 'sessionAffinity', 'controllerName'),
      (value, field) => {
        for (const { message } of checkObject(route({ [field]: value })).problem ?? []) expect(message).not.toBe('');
        checkObject(value);
      },
    ),
  );
});
