import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ForwardingPlan } from '../../src/decide/types.ts';
import { httpBackend, tcpBackend } from '../harness/backends.ts';
import { askHttp, EchoConnection } from '../harness/clients.ts';
import { Lab } from '../harness/lab.ts';
import { type Node, type NodeLan, nodeLan, type Pod } from '../harness/nodes.ts';
import { applied, entry, forwardingOf, plan, pointAt } from './forwarding-fixture.ts';

const VIP = '192.168.50.100';

let lab: Lab;
let lan: NodeLan;
let node: Node;
let pods: readonly Pod[];

beforeAll(async () => {
  lab = await Lab.open();
  lan = await nodeLan(lab, { nodes: 1, podsPerNode: 3 });
  [node] = lan.nodes as [Node];
  pods = node.pods;
  for (const { namespace } of pods) {
    await httpBackend(lab, namespace, 8080);
    await tcpBackend(lab, namespace, 7);
  }
  await pointAt(lan.client.namespace, VIP, node.namespace);
});
afterAll(() => lab[Symbol.asyncDispose]());

/** Endpoints come, go and change weight, and other VIP:ports with them; each pod goes on serving. */
function version(i: number): ForwardingPlan {
  const weights: number[] = pods.map((_, pod) => ((i >> pod) & 1) + ((i + pod) % 3));
  if (!weights.some((weight) => weight > 0)) weights[0] = 1;
  const at = (port: number) =>
    pods.flatMap(({ v4 }, pod) => (weights[pod] === 0 && i % 2 ? [] : [`${v4}:${port}*${weights[pod]}`]));
  const others = Array.from({ length: i % 5 }, (_, k) => entry(VIP, 'TCP', 9_000 + k, at(8080)));
  return plan([entry(VIP, 'TCP', 80, at(8080)), entry(VIP, 'TCP', 7, at(7)), ...others]);
}

test('no connection is lost nor reset while endpoints, weights, entries and the daemon itself change', async () => {
  let forwarding = forwardingOf(lab, node.namespace);
  await applied(forwarding, version(1));
  const open = await Promise.all(Array.from({ length: 100 }, () => EchoConnection.open(lan.client.namespace, VIP, 7)));
  let running = true;
  const count = { connections: 0, exchanges: 0, failures: [] as unknown[] };
  const repeat = async (work: () => Promise<unknown>, key: 'connections' | 'exchanges') => {
    while (running) {
      await work().then(
        () => count[key]++,
        (error: unknown) => count.failures.push(error),
      );
    }
  };
  const clients = [
    ...Array.from({ length: 8 }, () =>
      repeat(() => askHttp(lan.client.namespace, VIP, 80, { timeout: 5_000 }), 'connections'),
    ),
    ...open.map((connection) =>
      repeat(() => connection.exchange('still here', 5_000).then(() => sleep(20)), 'exchanges'),
    ),
  ];
  for (let i = 1; i < 60; i++) {
    await applied(forwarding, version(i));
    await sleep(10);
    if (i % 20 > 0) continue;
    await forwarding[Symbol.asyncDispose]();
    forwarding = forwardingOf(lab, node.namespace);
  }
  running = false;
  await Promise.all(clients);
  for (const connection of open) connection.close();
  expect(count.failures).toEqual([]);
  expect(count.connections).toBeGreaterThan(100);
  expect(count.exchanges).toBeGreaterThan(500);
});
