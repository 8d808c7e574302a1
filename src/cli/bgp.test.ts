import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BgpRoutesView, BgpSessionView, BgpStatus } from '../observability/bgp-status.ts';
import { formatUptime } from './bgp/format.ts';
import { type BgpOptions, bgpEvents, bgpNeighbor, bgpRoutes, bgpSummary } from './bgp.ts';
import type { Output } from './output.ts';

const COUNTS = { open: 1, update: 2, notification: 0, keepalive: 30, routeRefresh: 0 };

const BASE: BgpSessionView = {
  peer: 'tor-a',
  address: '10.201.1.1',
  localAsn: 65001,
  remoteAsn: 65000,
  localId: '10.201.1.10',
  localAddress: '10.201.1.10',
  state: 'Established',
  since: '2026-12-01T10:00:00.000Z',
  seconds: 93_784,
  established: 1,
  passive: false,
  password: true,
  timers: { holdTime: 9, keepaliveTime: 3, connectRetryTime: 5 },
  families: [
    {
      family: 'IPv4',
      negotiated: true,
      wanted: 2,
      advertised: 2,
      received: 5,
      gracefulRestart: true,
      endOfRibSent: true,
    },
  ],
  capabilities: [{ name: 'route refresh', sent: true, received: true }],
  sent: COUNTS,
  received: { ...COUNTS, update: 0 },
  unsentBytes: 0,
};

const UP: BgpSessionView = {
  ...BASE,
  remoteId: '10.201.1.1',
  bfd: {
    state: 'Up',
    remoteState: 'Up',
    diagnostic: 'no diagnostic',
    remoteDiagnostic: 'no diagnostic',
    hops: 'single',
    transmitInterval: 300,
    detectionTime: 900,
    multiplier: 3,
    sent: 10,
    received: 11,
    transitions: 2,
    seconds: 60,
  },
};

const DOWN: BgpSessionView = {
  ...BASE,
  peer: 'tor-b',
  address: '10.201.2.1',
  state: 'Active',
  established: 0,
  lastError: { at: '2026-12-01T10:00:01.000Z', text: 'no answer: the password is not the same at both ends' },
  lastNotificationReceived: { at: '2026-12-01T09:00:00.000Z', text: 'Cease (6/2)', code: 6, subcode: 2, data: '00ff' },
};

const STATUS: BgpStatus = {
  node: 'n1',
  sessions: [UP, DOWN],
  withoutSession: [{ peer: 'tor-c', reason: 'spec.nodeSelector does not select this node' }],
  withheld: [{ vip: '203.0.113.9', reason: 'no ready endpoint' }],
  events: [
    { at: '2026-12-01T10:00:00.000Z', peer: 'tor-a', text: 'Established' },
    { at: '2026-12-01T10:00:01.000Z', peer: 'tor-b', text: 'Connect -> Active' },
  ],
  draining: 'no',
};

const ROUTES: BgpRoutesView = {
  peer: 'tor-a',
  routes: [
    {
      prefix: '203.0.113.0/24',
      nextHop: '10.201.1.10',
      med: 10,
      asPath: [65001, 65001],
      communities: ['no-export'],
      advertised: true,
      vips: ['203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4'],
    },
    {
      prefix: '203.0.113.1/32',
      nextHop: '10.201.1.10',
      asPath: [65001],
      communities: [],
      advertised: false,
      vips: ['203.0.113.1'],
    },
  ],
};

let folder = '';
let socket = '';
const server = createServer((request, response) => {
  const body =
    request.url === '/bgp' ? STATUS : { ...ROUTES, peer: new URLSearchParams(request.url?.split('?')[1]).get('peer') };
  response.end(JSON.stringify(body));
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signpost-cli-'));
  socket = join(folder, 'control.sock');
  await new Promise<void>((resolve) => server.listen(socket, resolve));
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

async function run(
  command: (options: BgpOptions, output: Output) => Promise<number>,
  options: Partial<BgpOptions> = {},
): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ['', ''];
  const output: Output = { out: (text) => (out += text), err: (text) => (err += text), colour: false };
  const code = await command({ socket, format: 'table', ...options }, output);
  return { code, out, err };
}

describe('summary', () => {
  test('a line a session and what is wrong', async () => {
    const { code, out } = await run(bgpSummary);
    expect(code).toBe(0);
    const lines = out.split('\n').map((line) => line.replace(/ {2,}/g, ' | '));
    expect(lines).toEqual([
      'BGP router identifier 10.201.1.10, local AS number 65001',
      'Neighbor | V | AS | MsgRcvd | MsgSent | OutQ | Up/Down | State/PfxRcd | PfxSnt | BFD | Desc',
      '10.201.1.1 | 4 | 65000 | 31 | 33 | 0 | 1d02h03m | 5 | 2 | Up | tor-a',
      '10.201.2.1 | 4 | 65000 | 31 | 33 | 0 | never | Active | - | - | tor-b',
      '! tor-b: no answer: the password is not the same at both ends',
      '! tor-c: spec.nodeSelector does not select this node',
      '! 203.0.113.9 is not announced by BGP: no ready endpoint',
      '',
    ]);
  });

  test('as JSON it is the document', async () => {
    expect(JSON.parse((await run(bgpSummary, { format: 'json' })).out)).toEqual(STATUS);
  });
});

describe('neighbor', () => {
  test('everything of one, named by address', async () => {
    const { out } = await run(bgpNeighbor, { peer: '10.201.1.1' });
    for (const line of [
      'BGP neighbor is 10.201.1.1, remote AS 65000, local AS 65001, external link',
      '  BGP state = Established, up for 1d02h03m',
      '  Transport: local address 10.201.1.10, TCP MD5 password',
      '    route refresh: advertised and received',
      '    Total:                  33         31',
      '    2 of 2 routes advertised, End-of-RIB sent',
      '    Status: Up, up for 00:01:00, remote Up',
      '    5 accepted prefixes, of which none is used; the peer keeps our routes while we restart',
    ]) {
      expect(out.split('\n')).toContain(line);
    }
    expect(out).not.toContain('tor-b');
  });

  test('that keeps the routes of a dead node, without BFD', async () => {
    const { out } = await run(bgpNeighbor, { peer: 'tor-b' });
    expect(out).toContain('the peer keeps our routes while we restart or, without BFD, die');
  });

  test('the last NOTIFICATION with its bytes', async () => {
    const { out } = await run(bgpNeighbor, { peer: 'tor-b' });
    expect(out).toContain('  Last NOTIFICATION received 2026-12-01T09:00:00.000Z: Cease (6/2), data 00ff');
  });

  test('a peer that has no session here says why; one that nobody knows is an error', async () => {
    expect((await run(bgpNeighbor, { peer: 'tor-c' })).out).toMatch(/no session on this node: spec.nodeSelector/);
    expect(await run(bgpNeighbor, { peer: 'tor-x' })).toEqual({
      code: 1,
      out: '',
      err: 'no BGPPeer tor-x on this node; known are tor-a, tor-b\n',
    });
  });
});

test('routes with what waits and what an aggregate stands for', async () => {
  const { out } = await run(bgpRoutes, { peer: 'tor-a' });
  const lines = out.split('\n').map((line) => line.replace(/ {2,}/g, ' | '));
  expect(lines).toEqual([
    'Routes to tor-a (10.201.1.1): 2',
    ' | Network | Next Hop | Metric | LocPrf | Path | Communities | VIPs',
    '* | 203.0.113.0/24 | 10.201.1.10 | 10 | 65001 65001 i | no-export | 203.0.113.1,203.0.113.2,203.0.113.3 and 1 more',
    '- | 203.0.113.1/32 | 10.201.1.10 | 65001 i | 203.0.113.1',
    '* advertised, - waiting',
    '',
  ]);
});

test('events of one peer', async () => {
  expect((await run(bgpEvents, { peer: 'tor-b' })).out).toBe('2026-12-01T10:00:01.000Z  tor-b  Connect -> Active\n');
});

test('a daemon that does not answer', async () => {
  const { code, err } = await run(bgpSummary, { socket: join(folder, 'none.sock') });
  expect(code).toBe(1);
  expect(err).toMatch(/is 'signpost run' running/);
});

test.each([
  [59, '00:00:59'],
  [86_399, '23:59:59'],
  [90_000, '1d01h00m'],
  [694_800, '01w1d01h'],
])('%i seconds up are %s', (seconds, text) => {
  expect(formatUptime(seconds)).toBe(text);
});
