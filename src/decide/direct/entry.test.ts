import { describe, expect, test } from 'vitest';
import type { Ip } from '../../../net/ip.ts';
import type { Mac } from '../../../net/mac.ts';
import type { Vip } from '../../../net/names.ts';
import { neighbourKey, routeKey } from '../../world/keys.ts';
import type { WorldEvent } from '../../world/reduce.ts';
import type { World } from '../../world/types.ts';
import { plan } from '../plan.ts';
import { routeStatus } from '../route-status.ts';
import { after, freshWorld, links, pool, put, route, slice, WEB } from '../testing/worlds.ts';
import { explain, parseQuestion } from './explain.ts';

const VIP = '203.0.113.100' as Vip;
const MAC = '02:00:00:00:00:02' as Mac;
const KEY = routeKey('default', 'r1');

function world(spec: object, ...more: readonly WorldEvent[]): World {
  return after(
    freshWorld(),
    { type: 'links', links: links() },
    put(pool('p', ['203.0.113.100-203.0.113.103'])),
    put(WEB),
    put(slice('s1', ['10.0.1.1', '10.0.1.2'], 'n1')),
    put(slice('s2', ['10.0.2.1'], 'n2')),
    put(route('r1', 80, { addresses: [VIP], ...spec })),
    { type: 'neighbours', neighbours: new Map([[neighbourKey(2, '203.0.113.12' as Ip), MAC]]) },
    ...more,
  );
}

const direct = { forwarding: 'Direct' };
const memberIs = (node: string, alive: boolean): WorldEvent => ({
  type: 'wire',
  message: {
    type: 'report',
    segment: 'eth0' as never,
    report: { kind: 'member', node: node as never, alive, draining: false, witness: false },
  },
});

const outcome = (made: ReturnType<typeof plan>) => {
  const [entry] = made.forwarding.entries.values();
  const planned = made.routes.get(KEY);
  return {
    shares: entry?.direct?.shares.map(({ node, weight }) => `${node}=${weight}`).join(' '),
    own: entry?.direct?.own.map(({ address }) => address),
    ...planned?.forwarding[0],
    condition: planned && routeStatus(planned, made).conditions.find(({ type }) => type === 'Direct'),
  };
};

test('each node has the share of its endpoints, and translates to its own', () => {
  expect(outcome(plan(world(direct)))).toMatchObject({
    mode: 'Direct',
    shares: 'n1=2 n2=1',
    own: ['10.0.1.1', '10.0.1.2'],
    condition: { status: 'True', reason: 'InForce' },
  });
});

test('Auto is Direct where it can be, and says nothing where it cannot', () => {
  expect(outcome(plan(world({ forwarding: 'Auto' })))).toMatchObject({ mode: 'Direct', condition: undefined });
  const elsewhere = put(slice('s2', ['10.0.2.1'], 'n9'));
  expect(outcome(plan(world({ forwarding: 'Auto' }, elsewhere)))).toMatchObject({
    mode: 'Endpoints',
    condition: undefined,
  });
});

describe('the route goes on in Endpoints mode', () => {
  test.each<[string, World, RegExp]>([
    [
      'an endpoint is on a node off the LAN',
      world(direct, put(slice('s2', ['10.0.2.1'], 'n9'))),
      /n9.*no IPv4 address/,
    ],
    [
      'an endpoint is on no node',
      world(direct, put({ ...slice('s2', ['10.0.2.1']), endpoints: [{ addresses: ['10.0.2.1'] }] })),
      /on no node/,
    ],
    [
      'the hardware address of a node is not known',
      world(direct, { type: 'neighbours', neighbours: new Map() }),
      /hardware address of n2/,
    ],
    ['traffic policy Local', world({ ...direct, trafficPolicy: 'Local' }), /trafficPolicy Local/],
    [
      'the kernel lacks what it needs',
      world(direct, {
        type: 'forwarding',
        forwarding: { applied: undefined, problem: undefined, direct: 'no netdev' },
      }),
      /no netdev/,
    ],
  ])('where %s', (_, at, why) => {
    const found = outcome(plan(at));
    expect(found).toMatchObject({ mode: 'Endpoints', condition: { status: 'False', reason: 'NotPossible' } });
    expect(found.condition?.message).toMatch(why);
    expect(found.shares).toBeUndefined();
  });
});

test('a node whose speaker is gone gets nothing new, unless there is no other', () => {
  const gone = plan(world(direct, memberIs('n2', false)));
  expect(outcome(gone).shares).toBe('n1=1');
  const back = plan(after(gone.world, memberIs('n2', true)), gone);
  expect(outcome(back).shares).toBe('n1=2 n2=1');
  const only = plan(world(direct, memberIs('n2', false), put(slice('s1', [], 'n1'))));
  expect(outcome(only).shares).toBe('n2=1');
});

describe('explain', () => {
  const ask = (made: ReturnType<typeof plan>, client: string) => {
    const question = parseQuestion({ client, vip: `${VIP}:80` });
    return question.ok && explain(question.ok, made);
  };

  test('names the node of the client, and its endpoints', () => {
    const made = plan(world(direct));
    const found = ask(made, '192.0.2.7:40000');
    const endpoints = { n1: ['10.0.1.1:8080', '10.0.1.2:8080'], n2: ['10.0.2.1:8080'] };
    expect(found).toMatchObject({ mode: 'Direct', endpoints: endpoints[found?.node as 'n1' | 'n2'] });
    const ports = Array.from({ length: 300 }, (_, i) => ask(made, `192.0.2.7:${40_000 + i}`)?.node);
    expect(ports.filter((node) => node === 'n1').length).toBeGreaterThan(150);
  });

  test('with client affinity the port does not matter', () => {
    const made = plan(world({ ...direct, sessionAffinity: { type: 'ClientIP' } }));
    const nodes = Array.from({ length: 50 }, (_, i) => ask(made, `192.0.2.7:${40_000 + i}`)?.node);
    expect(new Set(nodes).size).toBe(1);
  });

  test.each([
    [{ client: '192.0.2.7', vip: `${VIP}:80` }, 'client'],
    [{ client: '192.0.2.7:1', vip: '[2001:db8::1]:80' }, 'client'],
    [{ client: '192.0.2.7:1', vip: `${VIP}:80`, protocol: 'ICMP' }, 'protocol'],
    [{ client: '192.0.2.7:70000', vip: `${VIP}:80` }, 'client'],
  ])('%j is refused', (body, field) => {
    expect(parseQuestion(body).problem?.field).toBe(field);
  });
});
