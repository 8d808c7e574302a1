import { describe, expect, test } from 'vitest';
import type { PeerSettings } from '../../bgp/index.ts';
import type { Ip } from '../../net/ip.ts';
import type { Prefix } from '../../net/prefix.ts';
import { eventually } from '../harness/eventually.ts';
import { Lab } from '../harness/lab.ts';
import type { Family, PeerConfig, RouterConfig, RouterKind } from '../harness/routers/router.ts';
import { ATTRIBUTES, established, hosts, NODE, ROUTER, routerIn, routes, settings, speakerIn } from './bgp-fixture.ts';

const ROUTES = ['203.0.113.1/32', '2001:db8::1/128'];

/** A session of these settings on both sides, with a route of each family told. */
async function session(
  lab: Lab,
  kind: RouterKind,
  ours: Partial<PeerSettings> = {},
  theirs: Partial<PeerConfig> = {},
  config: Partial<RouterConfig> = {},
) {
  const { node, there } = await hosts(lab);
  const { speaker } = speakerIn(lab, node);
  speaker.setPeer('router', settings(ours));
  speaker.setRoutes('router', routes(ROUTES, ATTRIBUTES));
  const router = await routerIn(lab, there, kind, theirs, config);
  await established(speaker, router);
  const [v4, v6] = await eventually(
    'both routes are there',
    () => Promise.all([router.paths('ipv4'), router.paths('ipv6')]),
    (tables) => tables.every((paths) => paths.some(({ prefix }) => ROUTES.includes(prefix))),
    { within: 10_000 },
  );
  const paths = [...v4, ...v6].filter(({ prefix }) => ROUTES.includes(prefix));
  return { router, speaker, paths };
}

const OVER: Readonly<Record<Family, readonly [Partial<PeerSettings>, Partial<PeerConfig>]>> = {
  ipv4: [{}, {}],
  ipv6: [{ remote: { address: ROUTER.v6 as Ip } }, { address: NODE.v6, localAddress: ROUTER.v6 }],
};

const ITS_ROUTE: Readonly<Record<Family, string>> = { ipv4: '198.51.100.0/24', ipv6: '2001:db8:100::/48' };

describe.each(['frr', 'bird', 'gobgp', 'openbgpd', 'exabgp'] as const)('%s', (kind) => {
  test.each(['ipv4', 'ipv6'] as const)('external, over %s: both families with all that they say', async (family) => {
    await using lab = await Lab.open();
    const config = { announce: [ITS_ROUTE[family]] };
    const { paths, speaker, router } = await session(lab, kind, ...OVER[family], config);
    const told = {
      asPath: [NODE.asn, NODE.asn],
      med: 10,
      communities: ['65000:100', '65535:65281'],
      largeCommunities: ['65000:1:2'],
      stale: false,
    };
    expect(paths).toMatchObject([
      { prefix: '203.0.113.1/32', nextHop: NODE.v4, ...told },
      { prefix: '2001:db8::1/128', nextHop: NODE.v6, ...told },
    ]);
    await eventually(
      'its route is counted',
      () => speaker.status()[0]?.families.find((one) => one.family.toLowerCase() === family)?.received,
      (received) => received === 1,
    );
    // A change and a withdrawal reach it.
    speaker.editRoutes('router', [
      { prefix: '203.0.113.2/32' as Prefix, attributes: ATTRIBUTES },
      { prefix: '203.0.113.1/32' as Prefix, attributes: undefined },
      { prefix: '2001:db8::1/128' as Prefix, attributes: undefined },
    ]);
    await eventually(
      'the change',
      async () => [...(await router.paths('ipv4')), ...(await router.paths('ipv6'))].map(({ prefix }) => prefix),
      (all) => all.includes('203.0.113.2/32') && !ROUTES.some((route) => all.includes(route)),
    );
  });

  test('internal', async () => {
    await using lab = await Lab.open();
    const { paths } = await session(lab, kind, { remoteAsn: 'internal', localAsn: ROUTER.asn }, { asn: ROUTER.asn });
    expect(paths).toMatchObject([
      { nextHop: NODE.v4, asPath: [], med: 10, localPreference: 200 },
      { nextHop: NODE.v6, asPath: [], med: 10, localPreference: 200 },
    ]);
  });

  test('with AS numbers of four octets', async () => {
    await using lab = await Lab.open();
    const ours = 4_200_000_001;
    const theirs = 4_200_000_002;
    const { paths } = await session(lab, kind, { localAsn: ours, remoteAsn: theirs }, { asn: ours }, { asn: theirs });
    expect(paths).toMatchObject([{ asPath: [ours, ours] }, { asPath: [ours, ours] }]);
  });

  test.each<[string, Pick<PeerSettings & PeerConfig, 'password' | 'ttlSecurity'>]>([
    ['a password', { password: 's3cret' }],
    ['TTL security', { ttlSecurity: 1 }],
    ['both', { password: 's3cret', ttlSecurity: 1 }],
  ])('with %s', async (_, secured) => {
    await using lab = await Lab.open();
    const { speaker } = await session(lab, kind, secured, secured);
    const [status] = speaker.status();
    expect(status?.password).toBe('password' in secured);
    expect(status?.ttlSecurity).toBe(secured.ttlSecurity);
  });

  test('with another password: no session, and a reason', async () => {
    await using lab = await Lab.open();
    const { node, there } = await hosts(lab);
    await routerIn(lab, there, kind, { password: 's3cret' });
    const { speaker } = speakerIn(lab, node);
    speaker.setPeer('router', settings({ password: 'other' }));
    const status = await eventually(
      'the reason is told',
      () => speaker.status()[0],
      (shown) => shown?.lastError !== undefined,
    );
    expect(status?.state).not.toBe('Established');
    expect(status?.lastError?.text).toMatch(/does not answer: its password may be another one or none/);
    expect(JSON.stringify(status)).not.toMatch(/s3cret|other"/);
  });

  test('that connects to us', async () => {
    await using lab = await Lab.open();
    const { speaker } = await session(lab, kind, { passive: true }, { passive: false });
    expect(speaker.status()).toMatchObject([{ passive: true, state: 'Established' }]);
  });
});

test('a router that sends from further away than TTL security admits is not heard', async () => {
  await using lab = await Lab.open();
  const { node, there } = await hosts(lab);
  // It sends with TTL 1, as external peers do.
  await routerIn(lab, there, 'bird');
  const { speaker } = speakerIn(lab, node);
  speaker.setPeer('router', settings({ ttlSecurity: 1 }));
  const status = await eventually(
    'the reason is told',
    () => speaker.status()[0],
    (shown) => shown?.lastError !== undefined,
  );
  expect(status?.established).toBe(0);
  expect(status?.lastError?.text).toMatch(/takes the connection and says nothing: it may not use TTL security/);
});

/** GoBGP keeps what it has heard and ExaBGP nothing: neither asks. */
const REFRESH: Readonly<Partial<Record<RouterKind, string>>> = {
  frr: `clear bgp ${NODE.v4} soft in`,
  bird: 'reload in peer0',
  openbgpd: `neighbor ${NODE.v4} refresh`,
};

test.each(Object.entries(REFRESH))('%s asks for all routes again', async (kind, command) => {
  await using lab = await Lab.open();
  const { speaker, router } = await session(lab, kind as RouterKind);
  const before = speaker.status()[0]?.sent.update ?? 0;
  await router.cli(command);
  await eventually(
    'the routes are sent again',
    () => speaker.status()[0]?.sent.update ?? 0,
    (sent) => sent > before,
  );
  expect(speaker.status()).toMatchObject([{ state: 'Established', established: 1 }]);
});

test('GoBGP tells IPv4 routes over IPv6 with an IPv6 next hop, whether we asked for that or not', async () => {
  await using lab = await Lab.open();
  const { speaker } = await session(lab, 'gobgp', ...OVER.ipv6, { announce: [ITS_ROUTE.ipv4] });
  await eventually(
    'it is counted',
    () => speaker.status()[0],
    (status) => status?.families[0]?.received === 1 && status.established === 1,
  );
});
