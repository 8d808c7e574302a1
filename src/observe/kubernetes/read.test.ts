import { expect, test } from 'vitest';
import { readAssignment } from './assignments.ts';
import { readChange } from './read.ts';

const metadata = { name: 'web', namespace: 'default', uid: 'u', resourceVersion: '7', generation: 2 };
const spec = { rules: [{ name: 'http', protocol: 'TCP', port: 80, backendRefs: [{ name: 'web', port: 80 }] }] };
const API = 'signpost.dev/v1alpha1';

const read = (object: object) =>
  readChange('ServiceRoute', API, { key: 'default/web', object: { metadata, ...object } });

test('an item of a list is an object of its kind, with defaults', () => {
  expect(read({ spec })).toMatchObject({
    id: 'ServiceRoute default/web',
    object: { apiVersion: API, kind: 'ServiceRoute', spec: { trafficPolicy: 'Cluster' } },
  });
});

test('what is gone is gone', () => {
  const change = readChange('ServiceRoute', API, { key: 'default/web', object: undefined });
  expect(change).toEqual({ id: 'ServiceRoute default/web', object: undefined });
});

test('fields of a newer version are passed over, at any depth', () => {
  const [rule] = spec.rules;
  const newer = {
    ...spec,
    mirrors: [],
    rules: [{ ...rule, retries: 3, backendRefs: [{ name: 'web', port: 80, zone: 'a' }] }],
  };
  expect(read({ spec: newer })).toEqual(read({ spec }));
});

test('a status of another version does not make the object invalid', () => {
  const status = { conditions: 'a text in the next version', addresses: [{ type: 'Hostname', value: 7 }] };
  expect(read({ spec, status })).toMatchObject({ object: { spec: { trafficPolicy: 'Cluster' } } });
});

test('what is invalid is told with its generation and in words', () => {
  const rejected = read({ spec: { ...spec, trafficPolicy: 'Somewhere' } });
  expect(rejected).toMatchObject({ id: 'ServiceRoute default/web', invalid: { generation: 2 } });
  expect('invalid' in rejected && rejected.invalid.message).toContain('spec.trafficPolicy: is not one of its values');
});

test('only what is used of a Node is kept', () => {
  const status = {
    images: [{ names: ['registry.example/a'] }],
    addresses: [{ type: 'InternalIP', address: '192.0.2.11' }],
  };
  const change = readChange('Node', 'v1', {
    key: 'n1',
    object: { metadata: { ...metadata, name: 'n1' }, status } as never,
  });
  expect('object' in change && change.object).toMatchObject({ status: { addresses: status.addresses } });
  expect(JSON.stringify(change)).not.toContain('images');
});

test('an assignment is what the status of a route of ours says', () => {
  const status = {
    addresses: [
      { type: 'IPAddress', value: '192.0.2.10' },
      { type: 'IPAddress', value: 'nonsense' },
    ],
  };
  const assignment = (object: object) => readAssignment({ key: 'default/web', object: { metadata, ...object } });
  expect(assignment({ spec, status })).toEqual(['default/web', ['192.0.2.10']]);
  expect(assignment({ spec })).toEqual(['default/web', undefined]);
  expect(assignment({ spec: { ...spec, controllerName: 'example.org/other' }, status })).toEqual([
    'default/web',
    undefined,
  ]);
  expect(readAssignment({ key: 'default/web', object: undefined })).toEqual(['default/web', undefined]);
});
