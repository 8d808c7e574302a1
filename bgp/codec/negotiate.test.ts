import { describe, expect, test } from 'vitest';
import type { IpV4 } from '../../net/ip.ts';
import { capability, checkOpen, negotiate } from './negotiate.ts';
import { openOf } from './testing/sessions.ts';
import type { Capability, GracefulRestart, Role } from './types.ts';

const FOUR_OCTETS: Capability = { kind: 'four-octet-as', asn: 65_001 };
const V4: Capability = { kind: 'multiprotocol', afi: 1, safi: 1 };
const V6: Capability = { kind: 'multiprotocol', afi: 2, safi: 1 };
const VPN: Capability = { kind: 'multiprotocol', afi: 1, safi: 128 };

describe('what both ends offer holds', () => {
  test('families', () => {
    const families = (local: Capability[], remote: Capability[]) =>
      negotiate(openOf(1, local), openOf(2, remote)).families;
    expect(families([V4, V6], [V6, VPN])).toEqual(['IPv6']);
    expect(families([V4, V6], [V4, V4, V6])).toEqual(['IPv4', 'IPv6']);
    expect(families([V6], [V4])).toEqual([]);
    // RFC 4760 section 8: none announced is IPv4.
    expect(families([V4, V6], [])).toEqual(['IPv4']);
    expect(families([V6], [])).toEqual([]);
  });

  test.each([
    ['four-octet-as', FOUR_OCTETS, 'fourOctetAs'],
    ['extended-message', { kind: 'extended-message' }, 'extendedMessage'],
    ['enhanced-route-refresh', { kind: 'enhanced-route-refresh' }, 'enhancedRouteRefresh'],
    [
      'extended-next-hop',
      { kind: 'extended-next-hop', families: [{ afi: 1, safi: 1, nextHopAfi: 2 }] },
      'extendedNextHop',
    ],
  ] as const)('%s', (_, offered, parameter) => {
    expect(negotiate(openOf(1, [offered]), openOf(2, [offered]))[parameter]).toBe(true);
    expect(negotiate(openOf(1, [offered]), openOf(2, []))[parameter]).toBe(false);
    expect(negotiate(openOf(1, []), openOf(2, [offered]))[parameter]).toBe(false);
  });

  test('an extended next hop of VPN routes is not one of IPv4 unicast', () => {
    const offer: Capability = { kind: 'extended-next-hop', families: [{ afi: 1, safi: 128, nextHopAfi: 2 }] };
    expect(negotiate(openOf(1, [offer]), openOf(2, [offer])).extendedNextHop).toBe(false);
  });

  test('the peering is internal within one AS', () => {
    expect(negotiate(openOf(1), openOf(1))).toMatchObject({ peering: 'internal', peerAsn: 1 });
    expect(negotiate(openOf(1), openOf(2), 'customer')).toMatchObject({
      peering: 'external',
      peerAsn: 2,
      role: 'customer',
    });
  });
});

test('of several graceful restart capabilities the last counts, of others the first', () => {
  const restart = (restartTime: number): GracefulRestart => ({
    kind: 'graceful-restart',
    restarting: false,
    notification: false,
    restartTime,
    families: [],
  });
  const open = openOf(1, [
    restart(1),
    { kind: 'four-octet-as', asn: 1 },
    restart(2),
    { kind: 'four-octet-as', asn: 9 },
  ]);
  expect(capability(open, 'graceful-restart')?.restartTime).toBe(2);
  expect(capability(open, 'four-octet-as')?.asn).toBe(1);
  expect(capability(open, 'role')).toBeUndefined();
});

describe('an OPEN is refused', () => {
  const local = { ...openOf(65_000), identifier: '192.0.2.1' as IpV4 };

  test('for its AS number', () => {
    const check = (asn: number, peerAsn: number | 'external' | 'internal') =>
      checkOpen(openOf(asn), { local, peerAsn });
    expect(check(65_001, 65_001)).toBeUndefined();
    expect(check(65_001, 'external')).toBeUndefined();
    expect(check(65_000, 'internal')).toBeUndefined();
    expect(check(65_002, 65_001)).toEqual({ kind: 'bad-peer-as', asn: 65_002, expected: 65_001 });
    expect(check(65_000, 'external')).toEqual({ kind: 'bad-peer-as', asn: 65_000 });
    expect(check(65_001, 'internal')).toEqual({ kind: 'bad-peer-as', asn: 65_001, expected: 65_000 });
  });

  test('for our own identifier within our AS (RFC 6286 section 2.2)', () => {
    const same = { ...openOf(65_000), identifier: local.identifier };
    expect(checkOpen(same, { local, peerAsn: 'internal' })?.kind).toBe('bad-bgp-identifier');
    expect(checkOpen({ ...same, asn: 65_001 }, { local, peerAsn: 65_001 })).toBeUndefined();
  });

  test('without a family in common, with those that we want (RFC 5492 section 5)', () => {
    const both = { ...local, capabilities: [V4, V6] };
    expect(checkOpen(openOf(65_001, [VPN]), { local: both, peerAsn: 65_001 })).toEqual({
      kind: 'unsupported-capability',
      capabilities: Uint8Array.of(1, 4, 0, 1, 0, 1, 1, 4, 0, 2, 0, 1),
    });
    expect(checkOpen(openOf(65_001, []), { local: both, peerAsn: 65_001 })).toBeUndefined();
  });

  describe('for its role (RFC 9234 section 4.2)', () => {
    const roles: readonly Role[] = ['provider', 'customer', 'route-server', 'route-server-client', 'peer'];
    const pairs = [
      'provider customer',
      'customer provider',
      'route-server route-server-client',
      'route-server-client route-server',
      'peer peer',
    ];
    const check = (role: Role | undefined, remote: readonly Capability[], strictRole = false) =>
      checkOpen(openOf(65_001, remote), {
        local,
        peerAsn: 65_001,
        strictRole,
        ...(role === undefined ? {} : { role }),
      });

    test.each(roles.flatMap((a) => roles.map((b) => [a, b] as const)))('%s and %s', (a, b) => {
      const error = check(a, [{ kind: 'role', role: b }]);
      if (pairs.includes(`${a} ${b}`)) expect(error).toBeUndefined();
      else expect(error).toEqual({ kind: 'role-mismatch', local: a, remote: [b] });
    });

    test('two roles that differ, or one without a name', () => {
      expect(
        check('customer', [
          { kind: 'role', role: 'provider' },
          { kind: 'role', role: 'provider' },
        ]),
      ).toBeUndefined();
      expect(
        check('customer', [
          { kind: 'role', role: 'provider' },
          { kind: 'role', role: 'peer' },
        ])?.kind,
      ).toBe('role-mismatch');
      expect(check('customer', [{ kind: 'unknown', code: 9, value: Uint8Array.of(77) }])?.kind).toBe('role-mismatch');
    });

    test('none, in strict mode alone', () => {
      expect(check('customer', [])).toBeUndefined();
      expect(check('customer', [], true)).toEqual({ kind: 'role-mismatch', local: 'customer', remote: [] });
      expect(check(undefined, [{ kind: 'role', role: 'peer' }], true)).toBeUndefined();
    });
  });
});
