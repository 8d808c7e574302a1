import { expect, test } from 'vitest';
import { type Ip, isLinkLocal } from '../../net/ip.ts';
import type { Mac } from '../../net/mac.ts';
import { RouterDiscovery } from '../../src/act/bgp/router-discovery.ts';
import { Icmpv6Socket } from '../../sys/icmpv6-socket.ts';
import { eventually } from '../harness/eventually.ts';
import { Lab } from '../harness/lab.ts';
import type { Namespace } from '../harness/namespace.ts';
import { startRouter } from '../harness/routers.ts';

async function discoverIn(lab: Lab, namespace: Namespace): Promise<readonly (Ip | undefined)[]> {
  const mac = (await namespace.mac()) as Mac;
  const found: (Ip | undefined)[] = [];
  const discovery = new RouterDiscovery({
    interface: 'eth0',
    onRouter: (address) => found.push(address),
    mac: () => mac,
    open: (options) => namespace.enter(() => Icmpv6Socket.open(options)),
    now: () => performance.now(),
  });
  lab.defer(() => discovery[Symbol.dispose]());
  return found;
}

test('FRR and we find each other on a link without addresses', async () => {
  await using lab = await Lab.open();
  const lan = await lab.lan('lan');
  const node = await lab.host('node', lan, ['fe80::10/64']);
  const there = await lab.host('router', lan, ['fe80::1/64']);
  const router = await startRouter(lab, there, 'frr', {
    asn: 65000,
    routerId: '10.203.0.1',
    peers: [{ interface: 'eth0', asn: 65001 }],
  });
  const found = await discoverIn(lab, node);
  const [address] = await eventually(
    'FRR is found',
    () => found,
    (all) => all.length > 0,
    { within: 12_000 },
  );
  expect(address !== undefined && isLinkLocal(address)).toBe(true);
  // FRR connects to whom it has heard: our kernel, without a listener, refuses.
  const text = () => router.cli('show bgp neighbors eth0');
  await eventually('FRR has found us', text, (shown) => /BGP neighbor on eth0: fe80::/.test(shown), { within: 12_000 });
});

test('two of us find each other; an interface that goes takes its router along', async () => {
  await using lab = await Lab.open();
  const lan = await lab.lan('lan');
  const [left, right] = [await lab.host('left', lan, ['fe80::1/64']), await lab.host('right', lan, ['fe80::2/64'])];
  const [byLeft, byRight] = [await discoverIn(lab, left), await discoverIn(lab, right)];
  await eventually(
    'both',
    () => [byLeft.length, byRight.length],
    ([l = 0, r = 0]) => l > 0 && r > 0,
  );
  await left.ip('link delete eth0');
  await eventually(
    'it is gone',
    () => byLeft.at(-1),
    (last) => last === undefined,
    { within: 12_000 },
  );
});
