import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../net/result.ts';
import { watchLinks } from '../../src/observe/links.ts';
import type { Link, Links } from '../../src/world/links.ts';
import { eventually } from '../harness/eventually.ts';
import { Lab } from '../harness/lab.ts';
import type { Lan } from '../harness/lan.ts';
import type { Namespace } from '../harness/namespace.ts';

let lab: Lab;
let lan: Lan;
let host: Namespace;
let watching: Disposable;
let links: Links | undefined;

beforeAll(async () => {
  lab = await Lab.open();
  lan = await lab.lan('lan');
  host = await lab.host('host', lan, ['192.0.2.11/24', '2001:db8::11/64']);
  watching = host.enter(() =>
    must(
      watchLinks((found) => {
        links = found;
      }),
    ),
  );
});
afterAll(async () => {
  watching[Symbol.dispose]();
  await lab[Symbol.asyncDispose]();
});

const link = (name: string): Link | undefined =>
  [...(links?.byIndex.values() ?? [])].find((found) => found.name === name);
const becomes = (what: string, look: () => unknown) => eventually(what, look, Boolean, { every: 5 });

test('what is there at the start is read: name, MAC, carrier, addresses of both families', async () => {
  await becomes('eth0 is known', () => link('eth0'));
  expect(link('eth0')).toMatchObject({ mac: await host.mac(), up: true, carrier: true, loopback: false });
  const addresses = link('eth0')?.addresses.map(({ ip, prefix }) => `${ip} ${prefix}`) ?? [];
  expect(addresses).toEqual(expect.arrayContaining(['192.0.2.11 192.0.2.0/24', '2001:db8::11 2001:db8::/64']));
  expect(link('lo')).toMatchObject({ loopback: true });
});

test('a pulled cable, a link that is set down, and both back', async () => {
  await lan.unplug(host);
  await becomes('no carrier', () => link('eth0')?.carrier === false);
  await lan.plug(host);
  await becomes('carrier', () => link('eth0')?.carrier);
  await host.ip('link set eth0 down');
  await becomes('down', () => link('eth0')?.up === false);
  await host.ip('link set eth0 up');
  await becomes('up', () => link('eth0')?.up);
});

test('addresses that come and go', async () => {
  await host.ip('address add 198.51.100.1/28 dev eth0');
  await becomes('the address is known', () =>
    link('eth0')?.addresses.some(({ prefix }) => prefix === '198.51.100.0/28'),
  );
  await host.ip('address del 198.51.100.1/28 dev eth0');
  await becomes('it is gone', () => link('eth0')?.addresses.every(({ ip }) => ip !== '198.51.100.1'));
});

test('default gateways, with their MAC address once it is resolved', async () => {
  const router = await lab.host('router', lan, ['192.0.2.1/24']);
  await host.ip('route add default via 192.0.2.1');
  await becomes('the gateway is known', () => links?.gateways.some(({ ip }) => ip === '192.0.2.1'));
  await host.pings('192.0.2.1');
  const mac = await router.mac();
  await becomes('its MAC address is', () => links?.gateways.some((gateway) => gateway.mac === mac));
  await host.ip('route del default');
  await becomes('it is gone', () => links?.gateways.length === 0);
});

test('members of a bridge name their master, and links that go are forgotten', async () => {
  await host.ip('link add br0 type bridge', 'link add d0 type veth peer name d1', 'link set d0 master br0');
  await becomes(
    'd0 is a member of a bridge',
    () => link('d0')?.memberOf === 'bridge' && link('d0')?.master === link('br0')?.index,
  );
  await host.ip('link del d0', 'link del br0');
  await becomes('both are gone', () => link('d0') === undefined && link('br0') === undefined);
});

test('a flood of events that overruns the socket ends in the right state', async () => {
  const numbers = Array.from({ length: 400 }, (_, i) => i + 1);
  const lines = numbers.map((i) => `neigh add 192.0.2.${i % 200} lladdr 02:00:00:00:00:01 dev eth0 nud permanent`);
  await host.ip(...lines.slice(50, 200), 'address add 203.0.113.7/32 dev eth0');
  await becomes('the last address is known', () => link('eth0')?.addresses.some(({ ip }) => ip === '203.0.113.7'));
});
