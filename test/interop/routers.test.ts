import { describe, expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { Lab } from '../harness/lab.ts';
import { kernelRoutes, type PeerConfig, type RouterKind } from '../harness/routers/router.ts';
import { startRouter } from '../harness/routers.ts';

const SPEAKER = { asn: 65001, v4: '10.201.0.10', v6: 'fd00:201::10' };
const ROUTER = { asn: 65000, v4: '10.201.0.1', v6: 'fd00:201::1' };

/** The counterpart is BIRD, whose configuration and tables are thus proven too. */
async function speakWith(
  lab: Lab,
  kind: RouterKind,
  options: Pick<PeerConfig, 'password' | 'bfd'>,
  whom: Pick<PeerConfig, 'address' | 'range'> = { address: SPEAKER.v4 },
) {
  const lan = await lab.lan('lan');
  const [here, there] = await Promise.all([
    lab.host('node', lan, [`${SPEAKER.v4}/24`, `${SPEAKER.v6}/64`]),
    lab.host('router', lan, [`${ROUTER.v4}/24`, `${ROUTER.v6}/64`]),
  ]);
  const router = await startRouter(lab, there, kind, {
    asn: ROUTER.asn,
    routerId: ROUTER.v4,
    peers: [{ ...options, ...whom, localAddress: ROUTER.v4, asn: SPEAKER.asn }],
    announce: ['198.51.100.0/24'],
  });
  const speaker = await startRouter(lab, here, 'bird', {
    asn: SPEAKER.asn,
    routerId: SPEAKER.v4,
    peers: [{ ...options, address: ROUTER.v4, localAddress: SPEAKER.v4, asn: ROUTER.asn, passive: false }],
    announce: ['203.0.113.1/32'],
  });
  const established = await eventually(
    'the session is up',
    () => router.session(SPEAKER.v4),
    (s) => s === 'Established',
    {
      within: 15_000,
    },
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${router.log.join('\n')}\n${speaker.log.join('\n')}`);
  });
  expect(established).toBe('Established');
  return { router, speaker };
}

describe.each(['frr', 'bird', 'gobgp', 'openbgpd', 'exabgp'] as const)('%s', (kind) => {
  test('speaks BGP with a password and tells its table', async () => {
    await using lab = await Lab.open();
    const { router } = await speakWith(lab, kind, { password: 's3cret' });
    const paths = await eventually(
      'the route is there',
      () => router.paths('ipv4'),
      (all) => all.some((p) => p.prefix === '203.0.113.1/32'),
    );
    expect(paths.find((p) => p.prefix === '203.0.113.1/32')).toMatchObject({
      nextHop: SPEAKER.v4,
      asPath: [SPEAKER.asn],
      stale: false,
    });
  });
});

test.each(['frr', 'bird', 'gobgp', 'openbgpd', 'exabgp'] as const)('%s tells attributes in one form', async (kind) => {
  await using lab = await Lab.open();
  const lan = await lab.lan('lan');
  const [here, there] = [
    await lab.host('node', lan, [`${SPEAKER.v6}/64`, `${SPEAKER.v4}/24`]),
    await lab.host('router', lan, [`${ROUTER.v6}/64`, `${ROUTER.v4}/24`]),
  ];
  const speaker = await startRouter(lab, here, 'gobgp', {
    asn: SPEAKER.asn,
    routerId: SPEAKER.v4,
    peers: [{ address: ROUTER.v6, localAddress: SPEAKER.v6, asn: ROUTER.asn }],
  });
  const router = await startRouter(lab, there, kind, {
    asn: ROUTER.asn,
    routerId: ROUTER.v4,
    peers: [{ address: SPEAKER.v6, localAddress: ROUTER.v6, asn: SPEAKER.asn, passive: false }],
  });
  const attributes = 'med 10 community 65000:100,no-export large-community 65000:1:2';
  await speaker.cli(`global rib add 2001:db8::1/128 nexthop ${SPEAKER.v6} ${attributes} -a ipv6`);
  const paths = await eventually(
    'the route is there',
    () => router.paths('ipv6'),
    (all) => all.length > 0,
    { within: 15_000 },
  );
  expect(paths).toMatchObject([
    {
      prefix: '2001:db8::1/128',
      nextHop: SPEAKER.v6,
      asPath: [SPEAKER.asn],
      med: 10,
      communities: ['65000:100', '65535:65281'],
      largeCommunities: ['65000:1:2'],
    },
  ]);
});

test.each(['frr', 'bird'] as const)('%s takes dynamic neighbors, speaks BFD and fills the kernel', async (kind) => {
  await using lab = await Lab.open();
  const bfd = { transmit: 100, receive: 100, multiplier: 3 };
  const { router } = await speakWith(lab, kind, { bfd }, { range: '10.201.0.0/24' });
  await eventually(
    'BFD is up',
    () => router.bfd(SPEAKER.v4),
    (s) => s?.state === 'Up' && s.detectionTime === 300,
  );
  const routes = await eventually(
    'a route in the kernel',
    () => kernelRoutes(router.namespace, 'ipv4'),
    (all) => all.length > 0,
  );
  expect(routes).toEqual([{ prefix: '203.0.113.1/32', nextHops: [SPEAKER.v4] }]);
});
