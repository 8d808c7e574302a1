import { describe, expect, test } from 'vitest';
import { bgpCaptures } from '../../test/vectors/bgp.ts';
import type { Decoded } from './errors.ts';
import { encodeMessage } from './messages/table.ts';
import { endOfRib } from './messages/update.ts';
import { negotiate, UNNEGOTIATED } from './negotiate.ts';
import { prefixesOf } from './nlri.ts';
import { MessageReader } from './reader.ts';
import { openOf } from './testing/sessions.ts';
import type { Open, Update } from './types.ts';

/** We said this to each of them. */
const LOCAL = openOf(65_001, [
  { kind: 'multiprotocol', afi: 1, safi: 1 },
  { kind: 'multiprotocol', afi: 2, safi: 1 },
  { kind: 'route-refresh' },
  { kind: 'four-octet-as', asn: 65_001 },
  { kind: 'enhanced-route-refresh' },
  { kind: 'graceful-restart', restarting: false, notification: true, restartTime: 30, families: [] },
  { kind: 'role', role: 'customer' },
]);

/** Everything one speaker sent, as a session would read it. */
function replay(messages: readonly Uint8Array[]): {
  readonly open: Open;
  readonly updates: Update[];
  readonly all: Decoded[];
} {
  const reader = new MessageReader();
  for (const bytes of messages) reader.push(bytes);
  const first = reader.next(UNNEGOTIATED);
  if (first?.outcome !== 'message' || first.message.type !== 'OPEN') throw new Error('no OPEN');
  const session = negotiate(LOCAL, first.message, 'customer');
  const all = [first];
  for (let next = reader.next(session); next !== undefined; next = reader.next(session)) {
    if (next.outcome !== 'message') throw new Error(next.outcome);
    all.push(next);
  }
  const updates = all.map(({ message }) => message).filter((message) => message.type === 'UPDATE');
  return { open: first.message, updates, all };
}

describe.each(bgpCaptures())('$speaker', ({ speaker, messages }) => {
  const { open, updates, all } = replay(messages);
  const session = negotiate(LOCAL, open, 'customer');

  test('its OPEN is understood', () => {
    expect(open).toMatchObject({ asn: 65_000, identifier: '10.77.0.1' });
    expect(session).toMatchObject({ fourOctetAs: true, families: ['IPv4', 'IPv6'], peering: 'external' });
    expect(all[0]?.errors).toEqual([]);
  });

  test('its routes and both End-of-RIB are', () => {
    const routes = updates.flatMap(({ announced }) => announced.flatMap(({ nlri }) => [...prefixesOf(nlri)]));
    // Its next hop was set to ::1 there, which is no host's address: the route is withdrawn.
    const usable = speaker.startsWith('OpenBGPD') ? ['198.51.100.0/24'] : ['198.51.100.0/24', '2001:db8:7::/48'];
    expect(routes).toEqual(usable);
    expect(all.flatMap(({ errors }) => errors)).toEqual(
      speaker.startsWith('OpenBGPD') ? [{ kind: 'unusable-next-hop', detail: '::1 is a loopback address' }] : [],
    );
    expect(updates.map(endOfRib).filter((family) => family !== undefined)).toEqual(['IPv4', 'IPv6']);
  });

  test('the attributes of its IPv4 route are', () => {
    const attributes = updates.find(({ announced }) => announced[0]?.nlri.family === 'IPv4')?.attributes;
    expect(attributes).toMatchObject({
      origin: 'IGP',
      communities: [65_000 * 0x10000 + 100],
      largeCommunities: [{ globalAdministrator: 65_000, localData1: 1, localData2: 2 }],
    });
    expect(attributes?.asPath?.[0]?.asns[0]).toBe(65_000);
  });

  test('written by us it says the same', () => {
    const reader = new MessageReader();
    for (const decoded of all) {
      if (decoded.outcome !== 'message') throw new Error(decoded.outcome);
      reader.push(encodeMessage(decoded.message, session));
      expect(reader.next(session)).toEqual({ ...decoded, errors: [] });
    }
  });
});
