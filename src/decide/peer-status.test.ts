import { expect, test } from 'vitest';
import { BGPPeerSchema } from '../api/bgp-peer.ts';
import { peerStatus } from './peer-status.ts';

function peer(spec: object = {}) {
  return BGPPeerSchema.parse({
    apiVersion: 'signpost.dev/v1alpha1',
    kind: 'BGPPeer',
    metadata: { name: 'tor' },
    spec: { localASN: 65001, peerASN: 65000, address: '192.0.2.1', ...spec },
  });
}

const staleRoutes = (spec: object) =>
  peerStatus(peer(spec), [], undefined).conditions.find(({ type }) => type === 'StaleRoutes');

test('counts the nodes that have a session', () => {
  expect(peerStatus(peer(), ['Established', 'Active', 'Established'], undefined)).toMatchObject({
    established: '2/3',
    conditions: [{ type: 'Accepted', status: 'True' }, {}],
  });
  expect(peerStatus(peer(), [], 'spec.port is 0')).toMatchObject({
    established: '0/0',
    conditions: [{ status: 'False', message: 'spec.port is 0; the last good form is in force' }, {}],
  });
});

test.each([
  ['by default', {}, 'True', /without BFD: .* for up to 30s$/],
  ['for as long as is asked', { gracefulRestart: { restartTime: '2m' } }, 'True', /for up to 2m$/],
  ['not with BFD', { bfd: {} }, 'False', /BFD tells/],
  ['not without graceful restart', { gracefulRestart: { enabled: false } }, 'False', /keeps no routes/],
])('warns that a dead node goes on being sent to: %s', (_, spec, status, message) => {
  expect(staleRoutes(spec)).toMatchObject({ status, message: expect.stringMatching(message) as string });
});
