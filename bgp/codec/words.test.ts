import { describe, expect, test } from 'vitest';
import { hardReset } from './messages/notification.ts';
import type { Capability, Notification } from './types.ts';
import { describeCapability, describeNotification, describeReaction, formatAsPath } from './words.ts';

function notification(code: number, subcode: number, data: readonly number[] = []): Notification {
  return { type: 'NOTIFICATION', code, subcode, data: Uint8Array.from(data) };
}

test.each([
  [notification(1, 2, [0, 18]), 'Message Header/Bad Message Length (1/2), data 0012'],
  [notification(2, 2), 'OPEN/Bad Peer AS (2/2)'],
  [notification(3, 11), 'Update/Malformed AS Path (3/11)'],
  [notification(4, 0), 'Hold Timer Expired (4/0)'],
  [notification(5, 3), 'Finite State Machine/Unexpected Message In Established (5/3)'],
  [notification(6, 2, [2, 0x68, 0x69]), 'Cease/Administrative Shutdown (6/2): "hi"'],
  [notification(6, 10), 'Cease/BFD Down (6/10)'],
  [notification(8, 0), 'Send Hold Timer Expired (8/0)'],
  [notification(6, 77), 'Cease (6/77)'],
  [notification(99, 1), 'Unknown (99/1)'],
  [hardReset(notification(6, 3)), 'Cease/Hard Reset (6/9), reason Cease/Peer Deconfigured (6/3)'],
  [
    notification(
      3,
      1,
      Array.from({ length: 40 }, () => 0xab),
    ),
    `Update/Malformed Attribute List (3/1), data ${'ab'.repeat(32)}...`,
  ],
])('NOTIFICATION %#', (message, words) => {
  expect(describeNotification(message)).toBe(words);
});

test('a hard reset in a hard reset in a hard reset comes to an end', () => {
  const nested = notification(
    6,
    9,
    Array.from({ length: 4000 }, (_, i) => (i % 2 === 0 ? 6 : 9)),
  );
  expect(describeNotification(nested).length).toBeLessThan(300);
});

describe('capabilities', () => {
  test.each<readonly [Capability, string]>([
    [{ kind: 'multiprotocol', afi: 2, safi: 1 }, 'multiprotocol: IPv6 unicast'],
    [{ kind: 'multiprotocol', afi: 1, safi: 128 }, 'multiprotocol: AFI 1 SAFI 128'],
    [
      { kind: 'extended-next-hop', families: [{ afi: 1, safi: 1, nextHopAfi: 2 }] },
      'extended next hop: IPv4 unicast by AFI 2',
    ],
    [
      {
        kind: 'graceful-restart',
        restarting: true,
        notification: true,
        restartTime: 30,
        families: [{ afi: 1, safi: 1, forwarding: true }],
      },
      'graceful restart: 30 s, restarting, for NOTIFICATIONs too, IPv4 unicast (forwarding kept)',
    ],
    [{ kind: 'unknown', code: 71, value: Uint8Array.of(1, 2) }, 'long-lived graceful restart, not used: 0102'],
    [{ kind: 'unknown', code: 222, value: new Uint8Array() }, 'unknown (222), not used: no value'],
    [{ kind: 'enhanced-route-refresh' }, 'enhanced route refresh'],
  ])('%#', (capability, words) => {
    expect(describeCapability(capability)).toBe(words);
  });
});

test('paths', () => {
  expect(formatAsPath([])).toBe('(empty)');
  expect(
    formatAsPath([
      { kind: 'AS_SEQUENCE', asns: [1, 2] },
      { kind: 'AS_SET', asns: [3, 4] },
    ]),
  ).toBe('1 2 {3 4}');
});

test('reactions', () => {
  expect(describeReaction({ kind: 'treat-as-withdraw' })).toBe('all its routes are withdrawn');
  expect(describeReaction({ kind: 'session-reset', notification: notification(3, 9) })).toBe(
    'NOTIFICATION Update/Optional Attribute Error (3/9), then close',
  );
});
