import { describe, expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { Lab } from '../harness/lab.ts';
import { established, NODE, neighbors, routes, settings, speakerIn } from './bgp-fixture.ts';

describe.each(['frr', 'bird', 'gobgp', 'openbgpd', 'exabgp'] as const)('%s', (kind) => {
  test('takes routes', async () => {
    await using lab = await Lab.open();
    const { node, router } = await neighbors(lab, kind);
    const { speaker } = speakerIn(lab, node);
    speaker.setPeer('router', settings());
    speaker.setRoutes('router', routes(['203.0.113.1/32', '2001:db8::1/128']));
    await established(speaker, router);
    const paths = await eventually(
      'v4',
      () => router.paths('ipv4'),
      (all) => all.length > 0,
    );
    expect(paths).toMatchObject([{ prefix: '203.0.113.1/32', nextHop: NODE.v4, asPath: [NODE.asn] }]);
    const v6 = await eventually(
      'v6',
      () => router.paths('ipv6'),
      (all) => all.length > 0,
    );
    expect(v6).toMatchObject([{ prefix: '2001:db8::1/128', nextHop: NODE.v6, asPath: [NODE.asn] }]);
    console.log(JSON.stringify(speaker.status()));
  });
});
