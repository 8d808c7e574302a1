import { describe, expect, test } from 'vitest';
import type { PeerSettings } from '../../bgp/index.ts';
import { type Ip, isLinkLocal } from '../../net/ip.ts';
import type { Mac } from '../../net/mac.ts';
import type { Prefix } from '../../net/prefix.ts';
import { RouterDiscovery } from '../../src/act/bgp/router-discovery.ts';
import { Icmpv6Socket } from '../../sys/icmpv6-socket.ts';
import { eventually } from '../harness/eventually.ts';
import { Lab } from '../harness/lab.ts';
import { kernelRoutes, type RouterKind } from '../harness/routers/router.ts';
import { startRouter } from '../harness/routers.ts';
import { established, hosts, NODE, ROUTER, routerIn, routes, settings, speakerIn } from './bgp-fixture.ts';

const MANY = Array.from(
  { length: 10_000 },
  (_, i) => `10.${100 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}/32` as Prefix,
);

describe.each([
  // 65,535 octets where both ends offer RFC 8654: one message, and the End-of-RIB of two families.
  ['bird', 3],
  ['frr', 3],
  ['exabgp', 3],
  ['gobgp', 15],
  ['openbgpd', 15],
] as const)('10,000 routes to %s', (kind, updates) => {
  test(`are ${updates} UPDATEs`, async () => {
    await using lab = await Lab.open();
    const { node, there } = await hosts(lab);
    const router = await routerIn(lab, there, kind);
    const { speaker } = speakerIn(lab, node);
    speaker.setPeer('router', settings());
    speaker.setRoutes('router', routes(MANY));
    await established(speaker, router);
    await eventually(
      'all are there',
      () => router.paths('ipv4'),
      (paths) => paths.length === MANY.length,
      { within: 15_000 },
    );
    expect(speaker.status()[0]?.sent.update).toBe(updates);
    speaker.setRoutes('router', routes(MANY.slice(0, 10)));
    await eventually(
      'all but ten are gone',
      () => router.paths('ipv4'),
      (paths) => paths.length === 10,
      { within: 15_000 },
    );
  });
});

// OpenBGPD 7.7 does not know RFC 8950.
test.each(['frr', 'bird', 'gobgp', 'exabgp'] as const)(
  '%s takes IPv4 routes with an IPv6 next hop (RFC 8950)',
  async (kind) => {
    await using lab = await Lab.open();
    const { node, there } = await hosts(lab);
    const router = await routerIn(lab, there, kind, {
      address: NODE.v6,
      localAddress: ROUTER.v6,
      extendedNextHop: true,
    });
    const { speaker } = speakerIn(lab, node);
    speaker.setPeer('router', settings({ remote: { address: ROUTER.v6 as Ip }, extendedNextHop: true }));
    speaker.setRoutes('router', routes(['203.0.113.1/32']));
    await established(speaker, router);
    const [path] = await eventually(
      'it has the route',
      () => router.paths('ipv4'),
      (paths) => paths.length > 0,
    );
    expect(path).toMatchObject({ prefix: '203.0.113.1/32', nextHop: NODE.v6 });
    if (kind !== 'frr' && kind !== 'bird') return;
    await eventually(
      'the kernel has it',
      () => kernelRoutes(there, 'ipv4'),
      ([route]) => route?.prefix === '203.0.113.1/32' && route.nextHops[0] === NODE.v6,
    );
  },
);

// GoBGP 3.10 and ExaBGP 4.2 do not know RFC 9234.
test.each(['frr', 'bird', 'openbgpd'] as const)(
  '%s agrees on roles, and refuses one that does not go with its own (RFC 9234)',
  async (kind) => {
    await using lab = await Lab.open();
    const { node, there } = await hosts(lab);
    const router = await routerIn(lab, there, kind, { role: 'provider' });
    const { speaker } = speakerIn(lab, node);
    speaker.setPeer('router', settings({ role: 'peer' }));
    const refused = await eventually(
      'the mismatch is told',
      () => speaker.status()[0],
      (s) => s?.lastError?.text.includes('Role Mismatch') === true,
    );
    expect(refused?.lastError?.text).toMatch(/Open\/Role Mismatch \(2\/11\)|OPEN\/Role Mismatch \(2\/11\)/);
    speaker.setPeer('router', settings({ role: 'customer' }));
    await established(speaker, router, 20_000);
  },
);

test('a range of peers: two routers of one network come by themselves', async () => {
  await using lab = await Lab.open();
  const { node, there, lan } = await hosts(lab);
  const other = await lab.host('other', lan, ['10.204.0.2/24', 'fd00:204::2/64']);
  const { speaker, events } = speakerIn(lab, node);
  const range = { range: '10.204.0.0/24' as Prefix, limit: 2 };
  speaker.setPeer('rack', settings({ remoteAsn: 'external', remote: range, password: 's3cret' }));
  speaker.setRoutes('rack', routes(['203.0.113.1/32']));
  const connecting = { passive: false, password: 's3cret' };
  const one = await routerIn(lab, there, 'bird', connecting);
  const two = await startRouter(lab, other, 'bird', {
    asn: 65_002,
    routerId: '10.204.0.2',
    peers: [{ address: NODE.v4, localAddress: '10.204.0.2', asn: NODE.asn, ...connecting }],
  });
  await eventually(
    'both have the route',
    async () => [...(await one.paths('ipv4')), ...(await two.paths('ipv4'))],
    (all) => all.length === 2,
  );
  expect(
    speaker
      .status('rack')
      .map(({ peer, remoteAsn }) => [peer, remoteAsn])
      .sort(),
  ).toEqual([
    ['rack/10.204.0.1', ROUTER.asn],
    ['rack/10.204.0.2', 65_002],
  ]);
  expect(events.filter(({ kind }) => kind === 'problem')).toEqual([]);
});

test.each<[string, RouterKind, Partial<PeerSettings>]>([['FRR', 'frr', {}]])(
  '%s without addresses: found by its advertisements, IPv4 routes by link-local next hops',
  async (_, kind, change) => {
    await using lab = await Lab.open();
    const lan = await lab.lan('lan');
    const node = await lab.host('node', lan, ['fe80::10/64']);
    const there = await lab.host('router', lan, ['fe80::1/64']);
    const router = await startRouter(lab, there, kind, {
      asn: ROUTER.asn,
      routerId: ROUTER.v4,
      peers: [{ interface: 'eth0', asn: NODE.asn, extendedNextHop: true }],
    });
    const mac = (await node.mac()) as Mac;
    const { speaker } = speakerIn(lab, node);
    const discovery = new RouterDiscovery({
      interface: 'eth0',
      onRouter: (address) => {
        if (address === undefined) return;
        speaker.setPeer(
          'router',
          settings({ remote: { address, interface: 'eth0' }, extendedNextHop: true, ...change }),
        );
        speaker.setRoutes('router', routes(['203.0.113.1/32', '2001:db8::1/128']));
      },
      mac: () => mac,
      open: (options) => node.enter(() => Icmpv6Socket.open(options)),
      now: () => performance.now(),
    });
    lab.defer(() => discovery[Symbol.dispose]());
    await established(speaker, router, 20_000);
    const [route] = await eventually(
      'the kernel has it',
      () => kernelRoutes(there, 'ipv4'),
      (all) => all.length > 0,
    );
    expect(route?.prefix).toBe('203.0.113.1/32');
    expect(isLinkLocal(route?.nextHops[0] as Ip)).toBe(true);
    await eventually(
      'and IPv6',
      () => kernelRoutes(there, 'ipv6'),
      (all) => all.length > 0,
    );
    expect(speaker.status()).toMatchObject([{ address: expect.stringMatching(/^fe80::.*%eth0$/) as string }]);
  },
);
