import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { Lab } from '../harness/lab.ts';
import { hosts, NODE, ROUTER, routerIn } from './bgp-fixture.ts';

test('the example of the library announces its prefixes, and withdraws them when it is interrupted', async () => {
  await using lab = await Lab.open();
  const { node, there } = await hosts(lab);
  const router = await routerIn(lab, there, 'bird');
  const program = fileURLToPath(new URL('../../bgp/examples/announce.ts', import.meta.url));
  const example = node.start([
    ...[process.execPath, '--import', 'tsx', program],
    ...['--asn', String(NODE.asn), '--router', ROUTER.v4, '--router-asn', String(ROUTER.asn)],
    ...['203.0.113.1/32', '2001:db8::1/128'],
  ]);
  const paths = async () => [...(await router.paths('ipv4')), ...(await router.paths('ipv6'))];
  const told = await eventually('both routes', paths, (all) => all.length === 2, { within: 15_000 });
  expect(told).toMatchObject([
    { prefix: '203.0.113.1/32', nextHop: NODE.v4, med: 10, communities: ['65535:65281'] },
    { prefix: '2001:db8::1/128', nextHop: NODE.v6, med: 10, communities: ['65535:65281'] },
  ]);
  await example.stop('SIGTERM');
  await eventually('no route', paths, (all) => all.length === 0, { within: 3_000 });
  expect(example.lines).toContain('router: OpenConfirm -> Established');
});
