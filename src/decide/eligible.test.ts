import { describe, expect, test } from 'vitest';
import type { InterfaceName, NodeName } from '../../net/names.ts';
import { routeKey } from '../world/keys.ts';
import { type CandidateFacts, eligibility, type NodeFacts } from './eligible.ts';

const healthy: NodeFacts = {
  name: 'n1' as NodeName,
  excluded: false,
  networkUnavailable: false,
  outOfService: false,
  notReady: false,
};

const good: CandidateFacts = {
  witness: false,
  node: healthy,
  selected: true,
  interface: { name: 'eth0' as InterfaceName },
  lacksEndpointFor: undefined,
};

test('a healthy, selected node with an interface and an endpoint is eligible, with or without a Node object', () => {
  expect(eligibility(good)).toEqual({ kind: 'eligible' });
  expect(eligibility({ ...good, node: undefined })).toEqual({ kind: 'eligible' });
});

describe('one hindrance is enough, and is named', () => {
  test.each<[Partial<CandidateFacts>, RegExp]>([
    [{ witness: true }, /witness/],
    [{ node: { ...healthy, excluded: true } }, /exclude-from-external-load-balancers/],
    [{ node: { ...healthy, outOfService: true } }, /out-of-service/],
    [{ node: { ...healthy, networkUnavailable: true } }, /NetworkUnavailable/],
    [{ selected: false }, /nodeSelector/],
    [{ interface: { reason: 'interface eth0 down' } }, /interface eth0 down/],
    [{ lacksEndpointFor: routeKey('default', 'web') }, /no ready endpoint/],
  ])('%j', (hindrance, reason) => {
    const found = eligibility({ ...good, ...hindrance });
    expect(found.kind).toBe('ineligible');
    expect(found.kind === 'ineligible' && found.reason).toMatch(reason);
  });
});

test('a NotReady node is a candidate of last resort, unless something else hinders it', () => {
  const notReady = { ...good, node: { ...healthy, notReady: true } };
  expect(eligibility(notReady)).toEqual({ kind: 'lastResort', reason: 'node is NotReady' });
  expect(eligibility({ ...notReady, selected: false }).kind).toBe('ineligible');
});
