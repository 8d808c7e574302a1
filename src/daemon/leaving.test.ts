import { expect, test } from 'vitest';
import { type DaemonSet, whyLeaving } from './leaving.ts';

type PodSpec = DaemonSet['spec']['template']['spec'];
type Requirement = {
  key: string;
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';
  values?: string[];
};

const N1 = { name: 'n1', labels: { 'kubernetes.io/os': 'linux', rack: 'a' } };
const daemonSet = (spec: PodSpec, metadata: object = {}): DaemonSet => ({
  metadata: { name: 'signpost', ...metadata },
  spec: { template: { spec } },
});
const affine = (
  ...nodeSelectorTerms: { matchExpressions?: Requirement[]; matchFields?: Requirement[] }[]
): PodSpec => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});

test('a DaemonSet that is being deleted comes back to no node', () => {
  const going = daemonSet({}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
  expect(whyLeaving(going, N1)).toBe('DaemonSet signpost is being deleted');
});

const rack = (operator: Requirement['operator'], ...values: string[]): Requirement => ({
  key: 'rack',
  operator,
  values,
});

test.each<[boolean, PodSpec]>([
  [true, {}],
  [true, { nodeSelector: { 'kubernetes.io/os': 'linux' } }],
  [false, { nodeSelector: { 'kubernetes.io/os': 'linux', rack: 'b' } }],
  [false, { nodeSelector: { lb: 'true' } }],
  [true, { affinity: { nodeAffinity: {} } }],
  [true, affine({ matchExpressions: [rack('In', 'a', 'b')] })],
  [false, affine({ matchExpressions: [rack('In', 'b')] })],
  [false, affine({ matchExpressions: [rack('NotIn', 'a')] })],
  [true, affine({ matchExpressions: [{ key: 'lb', operator: 'NotIn', values: ['no'] }] })],
  [true, affine({ matchExpressions: [{ key: 'rack', operator: 'Exists' }] })],
  [false, affine({ matchExpressions: [{ key: 'rack', operator: 'DoesNotExist' }] })],
  // Terms are alternatives, requirements are not.
  [true, affine({ matchExpressions: [rack('In', 'b')] }, { matchExpressions: [rack('In', 'a')] })],
  [false, affine({ matchExpressions: [rack('In', 'a'), { key: 'lb', operator: 'Exists' }] })],
  [true, affine({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] })],
  [false, affine({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n2'] }] })],
  [false, affine({})],
  [true, affine({ matchExpressions: [rack('Gt', '9')] })],
])('%j of %j', (stays, spec) => {
  expect(whyLeaving(daemonSet(spec), N1)).toBe(stays ? undefined : 'DaemonSet signpost no longer selects this node');
});
