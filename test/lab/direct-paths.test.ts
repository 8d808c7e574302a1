import { afterAll, beforeAll, expect, test } from 'vitest';
import { askHttp } from '../harness/clients.ts';
import { programmed } from '../harness/speaker.ts';
import { VIP, VIP6 } from './daemon-fixture.ts';
import { type DirectLab, directLab } from './direct-fixture.ts';

let lab: DirectLab;

beforeAll(async () => {
  lab = await directLab();
  await Promise.all(lab.speakers.map((speaker) => programmed(speaker)));
});
afterAll(() => lab[Symbol.asyncDispose]());

const FAMILIES = [
  ['IPv4', VIP],
  ['IPv6', VIP6],
] as const;

test.each(FAMILIES)('%s: each node has its share of new connections, and pods see the client', async (family, vip) => {
  const answers = await Promise.all(
    Array.from({ length: 120 }, () => askHttp(lab.client.namespace, vip, 80, { timeout: 5000 })),
  );
  const client = family === 'IPv4' ? lab.client.v4 : lab.client.v6;
  expect(new Set(answers.map((answer) => answer.client))).toEqual(new Set([client]));
  for (const pod of lab.pods) {
    expect(answers.filter(({ backend }) => backend === pod.name).length).toBeGreaterThan(20);
  }
});
