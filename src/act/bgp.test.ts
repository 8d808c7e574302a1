import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { SessionSpec } from '../../bgp/bfd/speaker.ts';
import type { BfdEvent } from '../../bgp/bfd/status.ts';
import type { Ip, IpV4 } from '../../net/ip.ts';
import type { Vip } from '../../net/names.ts';
import type { Prefix } from '../../net/prefix.ts';
import { ok, problem, type Result } from '../../net/result.ts';
import { Table } from '../../net/table.ts';
import { type BgpRoute, bgpRouteKey, type RouteAttributes, type SessionPlan } from '../decide/bgp/types.ts';
import { type BgpPlan, emptyBgpPlan } from '../decide/bgp.ts';
import { NO_LINKS } from '../world/links.ts';
import { readPassword } from './bgp/password.ts';
import type { BgpSpeaker } from './bgp/speaker.ts';
import { BgpActuator } from './bgp.ts';

const PLAIN: RouteAttributes = {
  key: 'plain',
  localPreference: undefined,
  med: undefined,
  prepend: 0,
  communities: [],
  extendedCommunities: [],
  largeCommunities: [],
};

function session(peer: string, change: Partial<SessionPlan> = {}): SessionPlan {
  return {
    peer,
    localAsn: 65001,
    remoteAsn: 65000,
    remote: { kind: 'address', address: '192.0.2.1' as Ip, connected: true, interface: undefined },
    port: 179,
    sourceAddress: undefined,
    sourceInterface: undefined,
    routerId: '192.0.2.11' as IpV4,
    holdTime: 9,
    keepaliveTime: 3,
    connectRetryTime: 5,
    password: undefined,
    ttlSecurity: undefined,
    multiHop: undefined,
    passive: false,
    families: ['IPv4', 'IPv6'],
    gracefulRestart: { restartTime: 30 },
    bfd: undefined,
    extendedNextHop: false,
    role: undefined,
    ...change,
  };
}

/** The same object for the same route, as plans have it. */
const known = new Map<string, BgpRoute>();
function route(peer: string, prefix: Prefix): BgpRoute {
  const key = bgpRouteKey(peer, prefix);
  const found = known.get(key) ?? { peer, prefix, attributes: PLAIN };
  known.set(key, found);
  return found;
}

function plan(
  sessions: readonly SessionPlan[],
  routes: readonly (readonly [string, string])[] = [],
  change: Partial<BgpPlan> = {},
): BgpPlan {
  const rows = routes.map(([peer, prefix]) => route(peer, prefix as Prefix));
  return {
    ...emptyBgpPlan(NO_LINKS),
    sessions: Table.from(sessions.map((one) => [one.peer, one] as const)),
    routes: Table.from(rows.map((row) => [bgpRouteKey(row.peer, row.prefix), row] as const)),
    ...change,
  };
}

function rig({ password = ok('s3cret'), drainWait = 1_000 }: { password?: Result<string>; drainWait?: number } = {}) {
  const calls: string[] = [];
  const sent = new Set<string>();
  let bfd = Table.empty<string, SessionSpec>();
  let onRouter: (address: Ip | undefined) => void = () => undefined;
  const speaker: BgpSpeaker = {
    set: (peer, { address, password: secret }) =>
      calls.push(`set ${peer} ${address}${secret === undefined ? '' : ' with password'}`),
    delete: (peer) => calls.push(`delete ${peer}`),
    edit: (peer, edits) =>
      calls.push(
        `edit ${peer} ${edits.map(({ prefix, attributes }) => `${attributes ? '+' : '-'}${prefix}`).join(' ')}`,
      ),
    bfdDown: (peer, reason) => calls.push(`bfdDown ${peer}: ${reason}`),
    view: () => undefined,
    routes: () => [
      { prefix: '203.0.113.0/24' as Prefix, nextHop: '192.0.2.11', asPath: [], communities: [], advertised: true },
    ],
    isSent: (peer, prefix) => sent.has(`${peer}|${prefix}`),
    close: (ending) => {
      calls.push(`close ${ending}`);
      return Promise.resolve();
    },
  };
  const actuator = new BgpActuator({
    node: 'n1',
    speaker,
    setBfd: (table) => (bfd = table),
    readPassword: () => Promise.resolve(password),
    findRouter: (device, callback) => {
      calls.push(`find router on ${device}`);
      onRouter = callback;
      return { [Symbol.dispose]: () => void calls.push(`stop looking on ${device}`) };
    },
    drainWait,
    now: () => new Date(0),
    onChange: () => undefined,
  });
  const take = () => calls.splice(0);
  return { actuator, take, sent, bfd: () => bfd, router: (address: Ip | undefined) => onRouter(address) };
}

describe('what differs is done, and nothing else', () => {
  test('sessions before routes; a changed route alone; a deleted session', async () => {
    const { actuator, take } = rig();
    const [a, b] = [session('a'), session('b')];
    await actuator.apply(
      plan(
        [a, b],
        [
          ['a', '203.0.113.1/32'],
          ['b', '203.0.113.1/32'],
        ],
      ),
    );
    expect(take().sort()).toEqual([
      'edit a +203.0.113.1/32',
      'edit b +203.0.113.1/32',
      'set a 192.0.2.1',
      'set b 192.0.2.1',
    ]);
    await actuator.apply(
      plan(
        [a, b],
        [
          ['a', '203.0.113.1/32'],
          ['b', '203.0.113.2/32'],
        ],
      ),
    );
    expect(take()).toEqual(['edit b -203.0.113.1/32 +203.0.113.2/32']);
    await actuator.apply(plan([b], [['b', '203.0.113.2/32']]));
    expect(take()).toEqual(['delete a']);
  });

  test('the latest of several plans wins', async () => {
    const { actuator, take } = rig();
    const a = session('a');
    await Promise.all([
      actuator.apply(plan([a], [['a', '203.0.113.1/32']])),
      actuator.apply(plan([a], [['a', '203.0.113.2/32']])),
      actuator.apply(plan([a], [['a', '203.0.113.3/32']])),
    ]);
    expect(take().at(-1)).toMatch(/\+203.0.113.3\/32/);
    await actuator.apply(plan([a], [['a', '203.0.113.3/32']]));
    expect(take()).toEqual([]);
  });
});

describe('a password', () => {
  test('that cannot be had keeps the session down, with the reason', async () => {
    const { actuator, take } = rig({ password: problem('spec.passwordSecretRef', 'tor', 'has no file', 'write it') });
    const { problems } = await actuator.apply(plan([session('a', { password: { name: 'tor', key: 'password' } })]));
    expect(take()).toEqual([]);
    expect(problems.get('a')).toMatch(/has no file/);
    expect(actuator.status().withoutSession).toEqual([{ peer: 'a', reason: problems.get('a') }]);
  });

  test('ends a session that had none', async () => {
    const { actuator, take } = rig({ password: problem('', 'tor', 'has no file', '') });
    await actuator.apply(plan([session('a')]));
    await actuator.apply(plan([session('a', { password: { name: 'tor', key: 'password' } })]));
    expect(take()).toEqual(['set a 192.0.2.1', 'delete a']);
  });

  test('is handed to the speaker and shown nowhere', async () => {
    const { actuator, take } = rig();
    await actuator.apply(plan([session('a', { password: { name: 'tor', key: 'password' } })]));
    expect(take()).toEqual(['set a 192.0.2.1 with password']);
    expect(JSON.stringify(actuator.status())).not.toContain('s3cret');
  });

  test('is read from a mounted Secret or a file, of nobody else', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'signpost-password-'));
    const ref = (name: string) => ({ name, key: 'password' });
    await mkdir(join(folder, 'mounted'));
    await writeFile(join(folder, 'mounted', 'password'), 'one\n', { mode: 0o600 });
    await writeFile(join(folder, 'plain'), 'two', { mode: 0o600 });
    await writeFile(join(folder, 'open'), 'three', { mode: 0o644 });
    await writeFile(join(folder, 'long'), 'x'.repeat(81), { mode: 0o600 });
    expect(await readPassword(folder, ref('mounted'))).toEqual(ok('one'));
    expect(await readPassword(folder, ref('plain'))).toEqual(ok('two'));
    expect((await readPassword(folder, ref('open'))).problem?.message).toMatch(/read by others/);
    expect((await readPassword(folder, ref('long'))).problem?.message).toMatch(/1 to 80 bytes/);
    expect((await readPassword(folder, ref('none'))).problem?.message).toMatch(/has no file/);
    await rm(folder, { recursive: true });
  });
});

describe('BFD', () => {
  const BFD = { desiredMinTx: 300_000, requiredMinRx: 300_000, detectMultiplier: 3 };
  const down = (change: Partial<BfdEvent> = {}): BfdEvent => ({
    key: 'a',
    from: 'Up',
    to: 'Down',
    diagnostic: 1,
    remoteState: 'Down',
    ...change,
  });

  test('is asked of the wire for peers that want it: one hop where connected, else several', async () => {
    const { actuator, bfd } = rig();
    const far = { kind: 'address', address: '198.51.100.1' as Ip, connected: false, interface: undefined } as const;
    await actuator.apply(plan([session('a', { bfd: BFD }), session('b', { bfd: BFD, remote: far }), session('c')]));
    expect(Object.fromEntries(bfd())).toEqual({
      a: { path: { remote: '192.0.2.1', hops: 'single' }, parameters: BFD },
      b: { path: { remote: '198.51.100.1', hops: 'multi' }, parameters: BFD },
    });
    const before = bfd().get('a');
    await actuator.apply(plan([session('a', { bfd: BFD, holdTime: 30 })]));
    expect([bfd().size, bfd().get('a')]).toEqual([1, before]);
    expect(bfd().get('a')).toBe(before);
  });

  test('that falls takes the session down; that the peer ended does not', async () => {
    const { actuator, take } = rig();
    await actuator.apply(plan([session('a', { bfd: BFD })]));
    take();
    actuator.onBfd(down({ remoteState: 'AdminDown', diagnostic: 3 }));
    actuator.onBfd(down({ from: 'Init' }));
    expect(take()).toEqual([]);
    actuator.onBfd(down());
    expect(take()).toEqual(['bfdDown a: control detection time expired']);
    expect(actuator.status().events.map(({ text }) => text)).toEqual([
      'BFD Up -> Down',
      'BFD Init -> Down',
      'BFD Up -> Down: control detection time expired',
    ]);
  });

  test('says AdminDown at a shutdown and nothing at a restart', async () => {
    for (const [ending, left] of [
      ['restart', 1],
      ['shutdown', 0],
    ] as const) {
      const { actuator, take, bfd } = rig();
      await actuator.apply(plan([session('a', { bfd: BFD })]));
      await actuator.close(ending, AbortSignal.timeout(1_000));
      expect(take().at(-1)).toBe(`close ${ending}`);
      expect(bfd().size).toBe(left);
    }
  });
});

test('an unnumbered peer starts with its router, gets all routes then, and goes with it', async () => {
  const { actuator, take, router } = rig();
  const a = session('a', { remote: { kind: 'interface', interface: 'eth1' } });
  await actuator.apply(plan([a], [['a', '203.0.113.1/32']]));
  expect(take()).toEqual(['find router on eth1']);
  expect(actuator.status().withoutSession).toEqual([{ peer: 'a', reason: 'no router advertisement heard on eth1' }]);
  router('fe80::1' as Ip);
  expect(take()).toEqual(['set a fe80::1', 'edit a +203.0.113.1/32']);
  router(undefined);
  router('fe80::2' as Ip);
  expect(take()).toEqual(['delete a', 'set a fe80::2', 'edit a +203.0.113.1/32']);
  await actuator.apply(plan([]));
  expect(take()).toEqual(['stop looking on eth1', 'delete a']);
});

test('a leaving node withdraws after the wait, and announces again when it stays', async () => {
  vi.useFakeTimers();
  try {
    const { actuator, take } = rig();
    const [sessions, routes] = [[session('a')], [['a', '203.0.113.1/32']] as const];
    await actuator.apply(plan(sessions, routes));
    take();
    await actuator.apply(plan(sessions, routes, { draining: true, leaving: new Set(['a']) }));
    expect(actuator.status().draining).toBe('announced');
    vi.advanceTimersByTime(999);
    expect(take()).not.toContain('edit a -203.0.113.1/32');
    vi.advanceTimersByTime(1);
    expect(take()).toEqual(['edit a -203.0.113.1/32']);
    expect(actuator.status().draining).toBe('withdrawn');
    await actuator.apply(plan(sessions, routes));
    expect(take()).toContain('edit a +203.0.113.1/32');
    expect(actuator.status().draining).toBe('no');
  } finally {
    vi.useRealTimers();
  }
});

test('routes of one peer go, and come back; those of another stay', async () => {
  vi.useFakeTimers();
  try {
    const { actuator, take } = rig();
    const sessions = [session('a'), session('b')];
    const routes = [
      ['a', '203.0.113.1/32'],
      ['b', '203.0.113.1/32'],
    ] as const;
    await actuator.apply(plan(sessions, routes));
    await actuator.apply(plan(sessions, routes, { leaving: new Set(['a']) }));
    take();
    vi.advanceTimersByTime(1_000);
    expect(take()).toEqual(['edit a -203.0.113.1/32']);
    expect(actuator.status().draining).toBe('no');
    await actuator.apply(plan(sessions, routes));
    expect(take()).toEqual(['edit a +203.0.113.1/32']);
  } finally {
    vi.useRealTimers();
  }
});

test('a shutdown waits for routes that say that they leave, and no longer than it may', async () => {
  vi.useFakeTimers();
  try {
    const { actuator, take } = rig();
    await actuator.apply(plan([session('a')], [['a', '203.0.113.1/32']], { draining: true, leaving: new Set(['a']) }));
    take();
    const closed = actuator.close('shutdown', new AbortController().signal);
    await vi.advanceTimersByTimeAsync(999);
    expect(take()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await closed;
    expect(take()).toEqual(['edit a -203.0.113.1/32', 'close shutdown']);
  } finally {
    vi.useRealTimers();
  }
});

test('a route counts as sent when the peer was told, and no longer than its session', async () => {
  vi.useFakeTimers();
  try {
    const { actuator, sent } = rig();
    const shown = () => [...actuator.sent.keys()].sort();
    await actuator.apply(plan([session('a')], [['a', '203.0.113.1/32']]));
    sent.add('a|203.0.113.1/32');
    vi.advanceTimersByTime(5_000);
    expect(shown()).toEqual([]);
    actuator.onState('a', 'Established');
    vi.advanceTimersByTime(10);
    expect(shown()).toEqual(['a|203.0.113.1/32']);
    const both = [
      ['a', '203.0.113.1/32'],
      ['a', '203.0.113.2/32'],
    ] as const;
    await actuator.apply(plan([session('a')], both));
    vi.advanceTimersByTime(5_000);
    expect(shown()).toEqual(['a|203.0.113.1/32']);
    sent.add('a|203.0.113.2/32');
    vi.advanceTimersByTime(2_000);
    expect(shown()).toEqual(['a|203.0.113.1/32', 'a|203.0.113.2/32']);
    await actuator.apply(plan([session('a')], [['a', '203.0.113.2/32']]));
    expect(shown()).toEqual(['a|203.0.113.2/32']);
    actuator.onState('a', 'Idle');
    expect(shown()).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});

test('routes name the VIPs that they stand for', async () => {
  const { actuator } = rig();
  const ask = (n: number) => [`203.0.113.${n}` as Vip, [{ peer: 'a', prefix: '203.0.113.0/24' }]] as const;
  const asked = Table.from([ask(1), ask(2)]) as unknown as BgpPlan['asked'];
  await actuator.apply(plan([session('a')], [], { asked }));
  expect(actuator.routes('a')?.routes).toMatchObject([
    { prefix: '203.0.113.0/24', vips: ['203.0.113.1', '203.0.113.2'] },
  ]);
  expect(actuator.routes('b')).toBeUndefined();
});
