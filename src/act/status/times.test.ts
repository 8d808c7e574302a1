import { expect, test } from 'vitest';
import { condition } from '../../api/conditions.ts';
import { withTimes } from './times.ts';
import type { WantedStatus } from './wanted.ts';

const EARLIER = '2026-01-01T00:00:00Z';
const NOW = '2026-01-02T00:00:00Z';

function route(status: Extract<WantedStatus, { kind: 'ServiceRoute' }>['status'], generation = 3): WantedStatus {
  return { kind: 'ServiceRoute', namespace: 'default', name: 'web', generation, status };
}

test('a condition keeps its time while its status stays, whatever else changes', () => {
  const before = {
    conditions: [{ type: 'Programmed', status: 'False', reason: 'Pending', lastTransitionTime: EARLIER }],
  };
  const wanted = route({ conditions: [condition('Programmed', 'False', 'NotAnnounced', 'nobody announces it')] }, 4);
  const conditions = [
    {
      type: 'Programmed',
      status: 'False',
      reason: 'NotAnnounced',
      message: 'nobody announces it',
      observedGeneration: 4,
      lastTransitionTime: EARLIER,
    },
  ];
  expect(withTimes(wanted, before, NOW)).toEqual({ conditions });
});

test('a condition that changes its status, or is new, gets the time', () => {
  const before = { conditions: [{ type: 'Programmed', status: 'False', lastTransitionTime: EARLIER }] };
  const conditions = [
    condition('Accepted', 'True', 'Accepted', 'the route is valid'),
    condition('Programmed', 'True', 'Programmed', 'announced'),
  ];
  const { conditions: dated } = withTimes(route({ conditions }), before, NOW);
  expect(dated).toMatchObject([{ lastTransitionTime: NOW }, { lastTransitionTime: NOW }]);
});

test('an announcement keeps its time while it is the same one', () => {
  const stays = { address: '192.0.2.1', mode: 'L2', node: 'n1', interface: 'eth0' } as const;
  const moves = { address: '192.0.2.2', mode: 'L2', node: 'n2', interface: 'eth0' } as const;
  const before = {
    announcements: [
      { ...moves, node: 'n1', since: EARLIER },
      { ...stays, since: EARLIER },
    ],
  };
  expect(withTimes(route({ announcements: [stays, moves] }), before, NOW)).toEqual({
    announcements: [
      { ...stays, since: EARLIER },
      { ...moves, since: NOW },
    ],
  });
});

test('the same wish over what it made changes nothing', () => {
  const status = {
    version: '1.0.0',
    lease: { held: true, voters: ['n1', 'n2', 'n3'] },
    sessions: [{ peer: 'tor', state: 'Established' }],
    conditions: [condition('Unfenced', 'False', 'NoMajority', 'a majority confirms')],
  };
  const wanted: WantedStatus = { kind: 'Speaker', name: 'n1', generation: 1, status };
  const first = withTimes(wanted, undefined, EARLIER);
  expect(withTimes(wanted, first, NOW)).toEqual(first);
});

test('what is not wanted is not kept, and what is absent is not written', () => {
  const before = { addresses: [{ type: 'IPAddress', value: '192.0.2.1' }], announcementCount: 3 };
  expect(withTimes(route({}), before, NOW)).toEqual({});
});
