import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { decodeArp, encodeArp, gratuitousArp } from '../../arp/index.ts';
import { parseIpV4 } from '../../net/ip.ts';
import { parseMac } from '../../net/mac.ts';
import { must } from '../../net/result.ts';
import { rawArp } from '../harness/arp.ts';
import { eventually } from '../harness/eventually.ts';
import { pool, route, rule } from '../harness/manifests.ts';
import { conditionOf, leaderOf, Speaker } from '../harness/speaker.ts';
import { daemonLab, POOL, VIP } from './daemon-fixture.ts';

const web = (name: string, address?: string) =>
  route(name, [rule('http', 'TCP', 80, 'web')], address === undefined ? {} : { addresses: [address] });

test('addresses of nodes and gateways are not given away, and the reason is said', async () => {
  await using lab = await daemonLab({
    files: {
      'pool.yaml': [pool('public', ['192.168.50.0/24'])],
      'routes.yaml': [
        web('node', '192.168.50.11'),
        web('other', '192.168.50.12'),
        web('gateway', '192.168.50.2'),
        web('fine', VIP),
      ],
    },
    // The client plays the gateway.
    prepare: async ({ nodes, client }) => {
      for (const node of nodes) await node.namespace.ip(`route add default via ${client.v4}`);
    },
    settle: false,
  });
  const [first] = lab.speakers as [Speaker];
  const reasonOf = async (name: string) => conditionOf(await first.route(name), 'Programmed');
  await eventually(
    'the good route is programmed',
    () => reasonOf('fine'),
    (c) => c?.status === 'True',
    { within: 10_000 },
  );
  expect(await reasonOf('node')).toMatchObject({
    status: 'False',
    reason: 'AddressNotUsable',
    message: /is an address of node n1/,
  });
  expect(await reasonOf('other')).toMatchObject({
    status: 'False',
    reason: 'AddressNotUsable',
    message: /is an address of node n2/,
  });
  expect(await reasonOf('gateway')).toMatchObject({
    status: 'False',
    reason: 'AddressNotUsable',
    message: /is the address of a gateway/,
  });
});

test('an address that a stranger answers for is not taken, and another is where none was asked for', async () => {
  const taken = '192.168.50.105';
  await using lab = await daemonLab({
    files: {
      'pool.yaml': [pool('one', [taken], { autoAssign: false }), pool('two', [`192.168.50.106`])],
      'routes.yaml': [web('wanted', taken)],
    },
    // A host that is no member has the address.
    prepare: ({ client }) => client.namespace.ip(`address add ${taken}/24 dev eth0`),
    settle: false,
  });
  const [first] = lab.speakers as [Speaker];
  const mac = await lab.client.namespace.mac();
  await using capture = await lab.client.namespace.capture(`arp and host ${taken}`);
  const condition = await eventually(
    'the route says why',
    async () => conditionOf(await first.route('wanted'), 'Programmed'),
    (c) => c?.reason === 'AddressNotUsable',
    { within: 10_000 },
  );
  expect(condition?.message).toContain(mac);
  expect(conditionOf(await first.route('wanted'), 'Conflicted')).toMatchObject({
    status: 'True',
    reason: 'ForeignAnswer',
  });
  await sleep(1500);
  const said = (await capture.stop()).filter(({ text }) =>
    new RegExp(`Reply ${taken} is-at|who-has ${taken} .*tell ${taken}`).test(text),
  );
  expect(said.filter(({ text }) => !text.includes(mac))).toEqual([]);
});

test('a stranger that takes a served VIP is answered once in 10 s and named, and never fought', async () => {
  await using lab = await daemonLab();
  const leader = await leaderOf(lab.speakers, VIP);
  const mac = await lab.client.namespace.mac();
  await using capture = await lab.client.namespace.capture(`arp and host ${VIP}`);
  // The announcements of the take-over are over, so that each that follows is a defence.
  await sleep(5000);
  const before = Date.now();
  using stranger = await rawArp(lab.client.namespace, () => undefined);
  for (let i = 0; i < 5; i++) {
    stranger.send(gratuitousArp('request', must(parseMac(mac)), must(parseIpV4(VIP))));
    await sleep(200);
  }
  await eventually(
    'the conflict is reported with the MAC address',
    async () => conditionOf(await leader.route('web'), 'Conflicted'),
    (c) => c?.message.includes(mac) === true,
  );
  await sleep(2000);
  const own = (await capture.stop()).filter(
    ({ at, text }) => at >= before && !text.includes(mac) && /is-at|Announcement|tell 192.168.50.100/.test(text),
  );
  expect(own.length).toBeLessThanOrEqual(2);
});

test('heartbeats that a firewall drops are named', async () => {
  await using lab = await daemonLab();
  const [first, second] = lab.speakers as [Speaker, Speaker];
  const drop =
    'table inet firewall { chain input { type filter hook input priority 0; ip saddr 192.168.50.12 udp dport 7947 drop; }; }';
  await first.node.namespace.run(['nft', drop]);
  await second.node.namespace.run(['nft', drop.replace('50.12', '50.11')]);
  const blocked = await eventually(
    'HeartbeatsBlocked',
    async () => (await first.status()).conditions.find(({ type }) => type === 'HeartbeatsBlocked'),
    undefined,
    { within: 15_000 },
  );
  expect(blocked?.message).toContain('n2');
});

test('a second speaker under a name that is taken gets nothing and is named', async () => {
  await using lab = await daemonLab();
  const [first, , third] = lab.speakers as [Speaker, Speaker, Speaker];
  await third.stop();
  const leader = await leaderOf([first, lab.speakers[1] as Speaker], VIP);
  const impostor = await Speaker.start(
    lab.lab,
    { ...third.node, name: 'n1' },
    { manifests: lab.manifests, peers: lab.nodes, keyFile: lab.keyFile },
  );
  const condition = await eventually(
    'n1 says that its name is taken',
    async () => (await first.status()).conditions.find(({ type }) => type === 'NameTaken'),
    undefined,
    { within: 10_000 },
  );
  expect(condition?.message).toContain('n1');
  await sleep(1000);
  expect((await leaderOf([first, lab.speakers[1] as Speaker], VIP)).name).toBe(leader.name);
  expect(impostor.log.join('\n')).not.toContain('answering for the VIP');
});

test('a gateway that does proxy ARP for everything does not make VIPs unusable', async () => {
  const proxies: Disposable[] = [];
  await using lab = await daemonLab({
    files: { 'pool.yaml': [POOL], 'routes.yaml': [web('web', VIP)] },
    prepare: async ({ client }) => {
      const mac = must(parseMac(await client.namespace.mac()));
      // Linux' own proxy ARP passes over probes; routers of other makes answer them.
      const proxy = await rawArp(client.namespace, (bytes) => {
        const asked = decodeArp(bytes);
        if (typeof asked === 'string' || asked.operation !== 'request' || asked.senderIp !== '0.0.0.0') return;
        const claim = {
          senderMac: mac,
          senderIp: asked.targetIp,
          targetMac: asked.senderMac,
          targetIp: asked.senderIp,
        };
        proxy.send(encodeArp({ operation: 'reply', source: mac, destination: asked.source, ...claim }));
      });
      proxies.push(proxy);
    },
  });
  const leader = await leaderOf(lab.speakers, VIP);
  expect(lab.speakers.flatMap((speaker) => speaker.log).join('\n')).toMatch(/a proxy answers/);
  expect(conditionOf(await leader.route('web'), 'Conflicted')).toBeUndefined();
  for (const proxy of proxies) proxy[Symbol.dispose]();
});
