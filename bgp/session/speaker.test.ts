import { describe, expect, test } from 'vitest';
import type { Ip, IpV4 } from '../../net/ip.ts';
import type { Prefix } from '../../net/prefix.ts';
import { hardReset } from '../codec/messages/notification.ts';
import { decodeMessage } from '../codec/messages/table.ts';
import { capability, UNNEGOTIATED } from '../codec/negotiate.ts';
import { nlriOf, prefixesOf } from '../codec/nlri.ts';
import type { Capability, Message, Open, Update } from '../codec/types.ts';
import type { RouteAttributes } from '../rib/types.ts';
import { describeSpeakerEvent, type SpeakerEvent } from './events.ts';
import type { PeerSettings } from './settings.ts';
import { Speaker, type SpeakerOptions } from './speaker.ts';
import { FakeConnection, FakeNetwork } from './testing/fake-network.ts';
import { VirtualTime } from './testing/virtual-time.ts';

const PEER = '192.0.2.1' as Ip;
const NEVER = new AbortController().signal;

const FULL: readonly Capability[] = [
  { kind: 'multiprotocol', afi: 1, safi: 1 },
  { kind: 'multiprotocol', afi: 2, safi: 1 },
  { kind: 'route-refresh' },
  { kind: 'enhanced-route-refresh' },
  { kind: 'four-octet-as', asn: 65_000 },
];

const RESTARTABLE: Capability = {
  kind: 'graceful-restart',
  restarting: false,
  notification: true,
  restartTime: 120,
  families: [],
};

function openOf(change: Partial<Open> = {}): Open {
  return { type: 'OPEN', asn: 65_000, holdTime: 90, identifier: '192.0.2.1' as IpV4, capabilities: FULL, ...change };
}

function settings(change: Partial<PeerSettings> = {}): PeerSettings {
  return {
    localAsn: 65_001,
    remoteAsn: 65_000,
    remote: { address: PEER },
    port: 179,
    identifier: '192.0.2.10' as IpV4,
    holdTime: 9,
    keepaliveTime: 3,
    connectRetryTime: 5,
    passive: false,
    families: ['IPv4', 'IPv6'],
    extendedNextHop: false,
    ...change,
  };
}

const PLAIN: RouteAttributes = {
  key: 'plain',
  localPreference: undefined,
  med: undefined,
  prepend: 0,
  communities: [],
  extendedCommunities: [],
  largeCommunities: [],
};

function routes(...prefixes: readonly string[]): ReadonlyMap<Prefix, RouteAttributes> {
  return new Map(prefixes.map((prefix) => [prefix as Prefix, PLAIN]));
}

const KEEPALIVE: Message = { type: 'KEEPALIVE' };

class Rig {
  readonly network = new FakeNetwork();
  readonly time = new VirtualTime();
  readonly events: SpeakerEvent[] = [];
  readonly speaker: Speaker;

  constructor(options: Partial<SpeakerOptions> = {}) {
    this.speaker = new Speaker({
      network: this.network,
      listenPort: 179,
      onEvent: (event) => this.events.push(event),
      clock: this.time.clock,
      wallClock: this.time.wallClock,
      schedule: this.time.schedule,
      random: () => 0,
      ...options,
    });
  }

  /** Brings the connection that was last asked for up. */
  establish(open = openOf(), connection = this.network.last): FakeConnection {
    connection.answer();
    connection.say(open, KEEPALIVE);
    return connection;
  }

  static up(change: Partial<PeerSettings> = {}, open = openOf(), options: Partial<SpeakerOptions> = {}) {
    const rig = new Rig(options);
    rig.speaker.setPeer('tor', settings(change));
    const connection = rig.establish(open);
    return { rig, connection };
  }

  get state(): string | undefined {
    return this.speaker.status('tor')[0]?.state;
  }

  get log(): string[] {
    return this.events.map(describeSpeakerEvent);
  }

  dial(address: string): FakeConnection {
    const connection = this.network.dial({ address: address as Ip, port: 50_000 });
    if (!(connection instanceof FakeConnection)) throw new Error('refused');
    return connection;
  }
}

/** Prefixes of the UPDATEs, withdrawn ones with a minus. */
function tables(messages: readonly Message[]): string[] {
  const updates = messages.filter((message): message is Update => message.type === 'UPDATE');
  return updates.flatMap(({ withdrawn, announced }) => [
    ...withdrawn.flatMap((nlri) => [...prefixesOf(nlri)].map((prefix) => `-${prefix}`)),
    ...announced.flatMap(({ nlri }) => [...prefixesOf(nlri)]),
  ]);
}

describe('a session', () => {
  test('comes up, tells its routes and stays up by KEEPALIVEs', () => {
    const rig = new Rig();
    rig.speaker.setPeer('tor', settings());
    rig.speaker.setRoutes('tor', routes('203.0.113.1/32', '2001:db8:1::1/128'));
    expect(rig.network.last.options).toMatchObject({ remote: { address: PEER, port: 179 }, ttl: 1 });
    const connection = rig.establish();
    const heard = connection.heard();
    expect(heard.map(({ type }) => type)).toEqual(['OPEN', 'KEEPALIVE', ...Array.from({ length: 4 }, () => 'UPDATE')]);
    expect(tables(heard)).toEqual(['203.0.113.1/32', '2001:db8:1::1/128']);
    rig.time.pass(8);
    expect(connection.heardTypes()).toEqual(['KEEPALIVE', 'KEEPALIVE']);
    connection.say(KEEPALIVE);
    rig.time.pass(8);
    expect(rig.state).toBe('Established');
    expect(rig.speaker.status('tor')).toMatchObject([
      { established: 1, seconds: 16, remoteId: '192.0.2.1', localAddress: '192.0.2.10', timers: { holdTime: 9 } },
    ]);
  });

  test('ends where the peer falls silent, and begins anew', () => {
    const { rig, connection } = Rig.up();
    connection.heard();
    rig.time.pass(9);
    expect(connection.heardTypes()).toEqual(['KEEPALIVE', 'KEEPALIVE', 'KEEPALIVE', 'NOTIFICATION 4/0'].slice(-3));
    expect(connection.closed).toBe(true);
    expect(rig.state).toBe('Idle');
    expect(rig.log.at(-1)).toBe('Established -> Idle: NOTIFICATION sent: Hold Timer Expired (4/0)');
    rig.time.pass(1);
    expect(rig.state).toBe('Connect');
    rig.establish();
    expect(rig.state).toBe('Established');
  });

  test('with a hold time of 0 needs no KEEPALIVEs', () => {
    const { rig, connection } = Rig.up({}, openOf({ holdTime: 0 }));
    connection.heard();
    rig.time.pass(10_000);
    expect(connection.heardTypes()).toEqual([]);
    expect(rig.state).toBe('Established');
    expect(rig.time.pending).toBe(0);
  });

  test('is given up where the peer takes nothing for too long (RFC 9687)', () => {
    const { rig, connection } = Rig.up({ sendHoldTime: 20 });
    connection.reads = false;
    for (let i = 0; i < 10; i++) {
      connection.say(KEEPALIVE);
      rig.time.pass(3);
    }
    expect(rig.log).toContain('Established -> Idle: NOTIFICATION sent: Send Hold Timer Expired (8/0)');
  });

  test('is kept by a peer that takes a little at a time', () => {
    const { rig, connection } = Rig.up({ sendHoldTime: 20 });
    connection.reads = false;
    for (let i = 0; i < 40; i++) {
      connection.say(KEEPALIVE);
      rig.time.pass(3);
      connection.take();
    }
    expect(rig.state).toBe('Established');
  });

  test('hears messages cut anywhere', () => {
    const rig = new Rig();
    rig.speaker.setPeer('tor', settings());
    const connection = rig.network.last;
    connection.answer();
    const other = new FakeConnection(connection.options, {
      onConnect: () => undefined,
      onClose: () => undefined,
      onDrain: () => undefined,
      onData: (bytes) => {
        for (const byte of bytes) connection.sayBytes(Uint8Array.of(byte));
      },
    });
    other.say(openOf(), KEEPALIVE);
    expect(rig.state).toBe('Established');
  });

  test('a clock that jumps ends at most the session, once', () => {
    const { rig } = Rig.up();
    rig.time.clock.advance(1e12);
    rig.time.pass(0);
    rig.time.pass(1);
    expect(rig.events.filter((event) => event.kind === 'state' && event.to === 'Idle')).toHaveLength(1);
    expect(rig.state).toBe('Connect');
  });
});

describe('what fails is told in words', () => {
  const failing = (reason: string | undefined, change: Partial<PeerSettings> = {}): string | undefined => {
    const rig = new Rig();
    rig.speaker.setPeer('tor', settings(change));
    rig.network.last.end(reason);
    return rig.speaker.status('tor')[0]?.lastError?.text;
  };

  test.each([
    ['ECONNREFUSED', /192\.0\.2\.1 port 179 refuses connections/],
    ['EHOSTUNREACH', /cannot be reached: no route/],
    ['EADDRNOTAVAIL', /the source address 192\.0\.2\.77 is not on this node/],
    ['EPIPE', /no connection with 192\.0\.2\.1 port 179: EPIPE/],
    [undefined, /closed by the peer/],
  ])('%s', (reason, words) => {
    expect(failing(reason, { sourceAddress: '192.0.2.77' as Ip })).toMatch(words);
  });

  test('silence has its own causes with a password and TTL security', () => {
    const rig = new Rig();
    rig.speaker.setPeer('tor', settings({ password: 's3cret', ttlSecurity: 2 }));
    expect(rig.network.last.options).toMatchObject({ ttl: 255, minimumTtl: 254, password: 's3cret' });
    rig.time.pass(5);
    const text = rig.speaker.status('tor')[0]?.lastError?.text ?? '';
    expect(text).toMatch(/does not answer: its password may be another one or none; it may be more than 2 hops away/);
    expect(JSON.stringify([rig.speaker.status('tor'), rig.events])).not.toMatch(/s3cret/);
  });

  test.each([
    [{}, /192\.0\.2\.1 port 179 takes the connection and says nothing: it may require TTL security/],
    [{ ttlSecurity: 2 }, /says nothing: it may not use TTL security, be more than 2 hops away/],
  ])('a peer that takes the connection and says nothing: %o', (change, text) => {
    const rig = new Rig();
    rig.speaker.setPeer('tor', settings(change));
    rig.network.last.answer();
    rig.time.pass(4);
    expect(rig.speaker.status('tor')[0]?.lastError).toBeUndefined();
    rig.time.pass(2);
    expect(rig.speaker.status('tor')).toMatchObject([
      { state: 'OpenSent', lastError: { text: expect.stringMatching(text) as string } },
    ]);
    expect(rig.log.filter((line) => text.test(line))).toHaveLength(1);
    // It was only slow: that is no reason of what follows.
    rig.network.last.say(openOf(), KEEPALIVE);
    expect(rig.log.at(-1)).not.toMatch(text);
    expect(rig.state).toBe('Established');
  });

  test('a NOTIFICATION of the peer, with its words', () => {
    const { rig, connection } = Rig.up();
    connection.say({
      type: 'NOTIFICATION',
      code: 6,
      subcode: 2,
      data: Uint8Array.of(4, ...new TextEncoder().encode('noon')),
    });
    expect(rig.speaker.status('tor')).toMatchObject([
      {
        lastError: { text: 'NOTIFICATION received: Cease/Administrative Shutdown (6/2): "noon"' },
        lastNotificationReceived: { code: 6, subcode: 2, data: '046e6f6f6e' },
      },
    ]);
  });

  test('a peer of another AS', () => {
    const { rig, connection } = Rig.up({}, openOf({ asn: 64_999, capabilities: [] }));
    expect(connection.heardTypes()).toEqual(['OPEN', 'NOTIFICATION 2/2']);
    expect(rig.log).toContain('malformed message: the peer is AS 64999, configured is 65000');
  });

  test('a lost connection before the session was up', () => {
    const rig = new Rig();
    rig.speaker.setPeer('tor', settings());
    rig.network.last.answer();
    rig.network.last.end();
    expect(rig.state).toBe('Active');
    expect(rig.speaker.status('tor')[0]?.lastError?.text).toMatch(
      /in OpenSent, before the session was up: it may not know/,
    );
  });

  test('routes without a next hop', () => {
    const rig = new Rig();
    rig.network.beside = ['192.0.2.10' as Ip];
    rig.speaker.setPeer('tor', settings());
    rig.speaker.setRoutes('tor', routes('203.0.113.1/32', '2001:db8:1::1/128'));
    const connection = rig.establish();
    expect(tables(connection.heard())).toEqual(['203.0.113.1/32']);
    expect(rig.log).toContainEqual(
      expect.stringMatching(/^IPv6 routes cannot be told: the interface of 192\.0\.2\.10/),
    );
  });
});

describe('changes while a session runs', () => {
  test('other peers do not notice', () => {
    const { rig, connection } = Rig.up();
    connection.heard();
    rig.speaker.setPeer('other', settings({ remote: { address: '192.0.2.2' as Ip } }));
    rig.speaker.setRoutes('other', routes('203.0.113.9/32'));
    rig.speaker.deletePeer('other');
    expect(connection.heard()).toEqual([]);
    expect(rig.state).toBe('Established');
  });

  test('the same settings and live ones leave it up', () => {
    const { rig, connection } = Rig.up();
    connection.heard();
    rig.speaker.setPeer('tor', settings());
    rig.speaker.setPeer('tor', settings({ holdTime: 30, keepaliveTime: 1, connectRetryTime: 60, maximumPrefixes: 5 }));
    expect(connection.heard()).toEqual([]);
    rig.time.pass(3);
    connection.heard();
    rig.time.pass(3);
    expect(connection.heardTypes()).toEqual(['KEEPALIVE', 'KEEPALIVE', 'KEEPALIVE']);
  });

  test.each<[string, Partial<PeerSettings>]>([
    ['families', { families: ['IPv4'] }],
    ['password', { password: 'new' }],
    ['role', { role: 'customer' }],
    ['remoteAsn', { remoteAsn: 'external' }],
    ['ttlSecurity', { ttlSecurity: 1 }],
  ])('%s: this session alone begins anew, with its routes', (_, change) => {
    const { rig, connection } = Rig.up();
    rig.speaker.setRoutes('tor', routes('203.0.113.1/32'));
    connection.heard();
    rig.speaker.setPeer('tor', settings(change));
    expect(connection.heardTypes()).toEqual(['NOTIFICATION 6/6']);
    const next = rig.establish();
    expect(next).not.toBe(connection);
    expect(tables(next.heard())).toEqual(['203.0.113.1/32']);
  });

  test('another address is another session with the same routes', () => {
    const { rig, connection } = Rig.up();
    rig.speaker.setRoutes('tor', routes('203.0.113.1/32'));
    rig.speaker.setPeer('tor', settings({ remote: { address: '192.0.2.3' as Ip } }));
    expect(connection.closed).toBe(true);
    expect(rig.network.last.options).toMatchObject({ remote: { address: '192.0.2.3' } });
    expect(tables(rig.establish().heard())).toEqual(['203.0.113.1/32']);
  });

  test('setPeers() ends those that are gone with Cease/Peer De-configured', () => {
    const { rig, connection } = Rig.up();
    connection.heard();
    rig.speaker.setPeers(new Map([['other', settings({ remote: { address: '192.0.2.2' as Ip } })]]));
    expect(connection.heardTypes()).toEqual(['NOTIFICATION 6/3']);
    expect(rig.speaker.status().map(({ peer }) => peer)).toEqual(['other']);
  });

  test('routes are told as they change', () => {
    const { rig, connection } = Rig.up();
    connection.heard();
    rig.speaker.editRoutes('tor', [{ prefix: '203.0.113.1/32' as Prefix, attributes: PLAIN }]);
    expect(tables(connection.heard())).toEqual(['203.0.113.1/32']);
    rig.speaker.setRoutes('tor', routes('203.0.113.2/32'));
    expect(tables(connection.heard())).toEqual(['-203.0.113.1/32', '203.0.113.2/32']);
    expect(rig.speaker.routes('tor')).toEqual([
      { prefix: '203.0.113.2/32', nextHop: '192.0.2.10', asPath: [65_001], communities: [], advertised: true },
    ]);
    rig.speaker.setRoutes('nobody', routes('203.0.113.2/32'));
    rig.speaker.editRoutes('nobody', []);
  });
});

describe('a peer that does not read', () => {
  const many = routes(...Array.from({ length: 30_000 }, (_, i) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}/32`));

  test.each([
    ['4,096', FULL],
    ['65,535', [...FULL, { kind: 'extended-message' } as const]],
  ])('has less than 64 KB waiting, messages of %s octets', (_, capabilities) => {
    const { rig, connection } = Rig.up({}, openOf({ capabilities }));
    connection.heard();
    connection.reads = false;
    rig.speaker.setRoutes('tor', many);
    let most = 0;
    while (connection.unsent > 0) {
      most = Math.max(most, connection.unsent);
      connection.take();
      rig.time.pass(0);
    }
    expect(most).toBeLessThanOrEqual(65_536);
    expect(tables(connection.heard())).toHaveLength(30_000);
    expect(rig.speaker.status('tor')).toMatchObject([{ families: [{ wanted: 30_000, advertised: 30_000 }, {}] }]);
  });

  test('gives others their turn while it reads all', () => {
    const { rig, connection } = Rig.up();
    rig.speaker.setPeer('other', settings({ remote: { address: '192.0.2.2' as Ip } }));
    const other = rig.establish(openOf({ identifier: '192.0.2.2' as IpV4 }));
    rig.time.pass(0);
    connection.heard();
    other.heard();
    rig.speaker.setRoutes('tor', many);
    rig.speaker.setRoutes('other', routes('203.0.113.1/32'));
    const first = tables(connection.heard()).length;
    expect(first).toBeLessThan(30_000);
    expect(other.heard()).toEqual([]);
    rig.time.pass(0);
    expect(first + tables(connection.heard()).length).toBe(30_000);
    expect(tables(other.heard())).toEqual(['203.0.113.1/32']);
  });
});

describe('what a peer says', () => {
  const update = (count: number): Update => ({
    type: 'UPDATE',
    withdrawn: [],
    announced: [
      {
        nlri: nlriOf(
          'IPv4',
          Array.from({ length: count }, (_, i) => `10.0.0.${i}/32` as Prefix),
        ),
        nextHop: { address: PEER },
      },
    ],
    attributes: { origin: 'IGP', asPath: [{ kind: 'AS_SEQUENCE', asns: [65_000] }] },
  });

  test('is counted and not kept', () => {
    const { rig, connection } = Rig.up();
    connection.say(update(7), { ...update(0), announced: [], withdrawn: [nlriOf('IPv4', ['10.0.0.1/32' as Prefix])] });
    expect(rig.speaker.status('tor')).toMatchObject([{ families: [{ received: 6 }, { received: 0 }] }]);
    connection.end();
    expect(rig.speaker.status('tor')).toMatchObject([{ families: [{ received: 0 }, {}] }]);
  });

  test('ends the session beyond a limit', () => {
    const { connection } = Rig.up({ maximumPrefixes: 5 });
    connection.heard();
    connection.say(update(5));
    expect(connection.heardTypes()).toEqual([]);
    connection.say(update(1));
    expect(connection.heardTypes()).toEqual(['NOTIFICATION 6/1']);
  });

  test('a request for all routes is answered between marks', () => {
    const { rig, connection } = Rig.up();
    rig.speaker.setRoutes('tor', routes('203.0.113.1/32'));
    connection.heard();
    connection.say({ type: 'ROUTE-REFRESH', family: 'IPv4', subtype: 'request' });
    expect(connection.heardTypes()).toEqual(['ROUTE-REFRESH', 'UPDATE', 'ROUTE-REFRESH']);
    connection.say({ type: 'ROUTE-REFRESH', family: 'IPv4', subtype: 'begin' });
    expect(connection.heardTypes()).toEqual([]);
  });

  test('that it knows no optional parameters: the next OPEN has none (RFC 5492 section 3)', () => {
    const rig = new Rig();
    rig.speaker.setPeer('tor', settings({ families: ['IPv4'] }));
    const first = rig.network.last;
    first.answer();
    first.say({ type: 'NOTIFICATION', code: 2, subcode: 4, data: new Uint8Array() });
    rig.time.pass(1);
    const next = rig.establish(openOf({ capabilities: [] }));
    expect(next).not.toBe(first);
    expect(next.heard()[0]).toMatchObject({ type: 'OPEN', capabilities: [] });
    expect(rig.state).toBe('Established');
  });
});

describe('graceful restart', () => {
  const restart = { gracefulRestart: { restartTime: 30, forwarding: true } };
  const capabilities = [...FULL, RESTARTABLE];

  test('R until the first session with the peer, F always', () => {
    const { rig, connection } = Rig.up(restart, openOf({ capabilities }), { restarted: true });
    const offered = (messages: readonly Message[]) =>
      messages.map((message) => message.type === 'OPEN' && capability(message, 'graceful-restart'))[0];
    const families = [
      { afi: 1, safi: 1, forwarding: true },
      { afi: 2, safi: 1, forwarding: true },
    ];
    expect(offered(connection.heard())).toMatchObject({ restarting: true, restartTime: 30, families });
    connection.end('ECONNRESET');
    rig.time.pass(1);
    expect(offered(rig.establish().heard())).toMatchObject({ restarting: false, families });
  });

  test('a restart says nothing', async () => {
    const { rig, connection } = Rig.up(restart, openOf({ capabilities }));
    rig.speaker.setRoutes('tor', routes('203.0.113.1/32'));
    connection.heard();
    await rig.speaker.close('restart', NEVER);
    expect(connection.closed).toBe(true);
    expect(connection.heard()).toEqual([]);
    expect(rig.time.pending).toBe(0);
    expect(rig.network.listensFor).toEqual([]);
  });

  test('an end for good is a hard reset, where NOTIFICATIONs alone keep routes (RFC 8538)', () => {
    const { rig, connection } = Rig.up(restart, openOf({ capabilities }));
    connection.heard();
    rig.speaker.deletePeer('tor');
    expect(connection.heard()).toEqual([
      hardReset({ type: 'NOTIFICATION', code: 6, subcode: 3, data: new Uint8Array() }),
    ]);
  });

  test('a change of the configuration keeps the routes', () => {
    const { rig, connection } = Rig.up(restart, openOf({ capabilities }));
    connection.heard();
    rig.speaker.setPeer('tor', settings({ ...restart, families: ['IPv4'] }));
    expect(connection.heardTypes()).toEqual(['NOTIFICATION 6/6']);
  });
});

describe('a shutdown', () => {
  /** Lets time pass until the promise is fulfilled. */
  async function settle(rig: Rig, closing: Promise<void>): Promise<void> {
    const done = closing.then(() => true);
    for (let i = 0; i < 500; i++) {
      if (await Promise.race([done, Promise.resolve(false)])) return;
      rig.time.pass(0.01);
      await Promise.resolve();
    }
    throw new Error('it does not end');
  }

  test('tells that routes go, waits, withdraws them and says why', async () => {
    const { rig, connection } = Rig.up({}, openOf(), { gracefulShutdownWait: 500 });
    rig.speaker.setRoutes('tor', routes('203.0.113.1/32'));
    connection.heard();
    const closing = rig.speaker.close('shutdown', NEVER, 'bye');
    expect(connection.heard()).toMatchObject([{ type: 'UPDATE', attributes: { communities: [0xffff_0000] } }]);
    rig.time.pass(0.4);
    await Promise.resolve();
    expect(connection.heard()).toEqual([]);
    await settle(rig, closing);
    const last = connection.heard();
    expect(tables(last)).toEqual(['-203.0.113.1/32']);
    expect(last.at(-1)).toMatchObject({ code: 6, subcode: 2, data: Uint8Array.of(3, 0x62, 0x79, 0x65) });
    expect(connection.closed).toBe(true);
  });

  test('does not wait for ever for a peer that does not read', async () => {
    const { rig, connection } = Rig.up();
    rig.speaker.setRoutes('tor', routes('203.0.113.1/32'));
    connection.reads = false;
    await settle(rig, rig.speaker.close('shutdown', NEVER));
    expect(connection.closed).toBe(true);
  });

  test('is cut short by its signal', async () => {
    const { rig, connection } = Rig.up({}, openOf(), { gracefulShutdownWait: 100_000 });
    const ending = new AbortController();
    const closing = rig.speaker.close('shutdown', ending.signal);
    ending.abort();
    rig.time.pass(0.01);
    await closing;
    expect(connection.closed).toBe(true);
  });
});

describe('BFD and the operator', () => {
  test('a path that is down ends the session, which tries again', () => {
    const { rig, connection } = Rig.up();
    connection.heard();
    rig.speaker.pathDown('tor', 'Control Detection Time Expired');
    expect(connection.heardTypes()).toEqual(['NOTIFICATION 6/10']);
    expect(rig.state).toBe('Idle');
    rig.time.pass(1);
    expect(rig.state).toBe('Connect');
  });

  test('a reset has words', () => {
    const { rig, connection } = Rig.up();
    connection.heard();
    rig.speaker.resetPeer('tor', 'maintenance');
    expect(connection.heardTypes()).toEqual(['NOTIFICATION 6/4']);
    expect(rig.log).toContainEqual('NOTIFICATION sent: Cease/Administrative Reset (6/4): "maintenance"');
  });
});

describe('listening', () => {
  test('one listener a family, shared by its peers', () => {
    const rig = new Rig();
    expect(rig.network.listensFor).toEqual([]);
    rig.speaker.setPeer('a', settings({ passive: true }));
    rig.speaker.setPeer('b', settings({ passive: true, remote: { address: '192.0.2.2' as Ip } }));
    rig.speaker.setPeer('c', settings({ passive: true, remote: { address: '2001:db8::1' as Ip } }));
    expect(rig.network.listensFor).toEqual(['IPv4', 'IPv6']);
    const connection = rig.dial('192.0.2.2');
    connection.say(openOf(), KEEPALIVE);
    expect(rig.speaker.status().map(({ peer, state }) => `${peer} ${state}`)).toEqual([
      'a Active',
      'b Established',
      'c Active',
    ]);
  });

  test('strangers are refused with Cease/Connection Rejected', () => {
    const rig = new Rig();
    rig.speaker.setPeer('tor', settings({ passive: true }));
    const refusal = rig.network.dial({ address: '192.0.2.99' as Ip, port: 50_000 });
    expect(refusal).toBeInstanceOf(Uint8Array);
    expect(decodeMessage(refusal as Uint8Array, UNNEGOTIATED)).toMatchObject({ message: { code: 6, subcode: 5 } });
  });

  test('a link-local peer is one of its interface', () => {
    const rig = new Rig();
    const remote = (device: string) => ({ address: 'fe80::1' as Ip, interface: device });
    rig.speaker.setPeer('left', settings({ passive: true, remote: remote('eth0') }));
    rig.speaker.setPeer('right', settings({ passive: true, remote: remote('eth1') }));
    rig.network.dial({ address: 'fe80::1' as Ip, port: 50_000, interface: 'eth1' });
    expect(rig.speaker.status().map(({ state }) => state)).toEqual(['Active', 'OpenSent']);
    expect(rig.speaker.status()[1]?.address).toBe('fe80::1%eth1');
  });

  test('collisions end with one session', () => {
    const rig = new Rig();
    rig.speaker.setPeer('tor', settings());
    const ours = rig.network.last;
    ours.answer();
    const theirs = rig.dial(PEER);
    ours.say(openOf());
    theirs.say(openOf());
    // 192.0.2.10 is above 192.0.2.1: ours stays.
    expect(theirs.heardTypes()).toEqual(['OPEN', 'NOTIFICATION 6/7']);
    ours.say(KEEPALIVE);
    expect(rig.state).toBe('Established');
    expect(rig.speaker.status('tor')).toMatchObject([{ established: 1 }]);
  });

  test('a session that was lost unnoticed gives way to the new one of a peer that restarts', () => {
    const names = [...FULL, { ...RESTARTABLE, families: [{ afi: 1, safi: 1, forwarding: true }] }];
    const { rig, connection } = Rig.up({}, openOf({ capabilities: names }));
    rig.speaker.setRoutes('tor', routes('203.0.113.1/32'));
    connection.heard();
    const next = rig.dial(PEER);
    next.say(openOf({ capabilities: names }), KEEPALIVE);
    expect(connection.closed).toBe(true);
    expect(connection.heard()).toEqual([]);
    expect(rig.state).toBe('Established');
    expect(tables(next.heard())).toEqual(['203.0.113.1/32']);
  });

  test('a port that another has is told of and waited for', () => {
    const rig = new Rig();
    rig.network.listenFails = 'bind(TCP port 179)';
    rig.speaker.setPeer('tor', settings());
    expect(rig.log).toContainEqual(expect.stringMatching(/^no IPv4 listener: bind\(TCP port 179\)/));
    rig.time.pass(5);
    expect(rig.events.filter(({ kind }) => kind === 'problem')).toHaveLength(1);
    rig.network.listenFails = undefined;
    rig.time.pass(5);
    expect(rig.network.listensFor).toEqual(['IPv4']);
  });

  test('without a port nobody listens', () => {
    const rig = new Rig({ listenPort: undefined });
    rig.speaker.setPeer('tor', settings());
    expect(rig.network.listensFor).toEqual([]);
    rig.establish();
    expect(rig.state).toBe('Established');
  });
});

describe('passwords', () => {
  test('are keys of the listener for as long as the peer is there', () => {
    const rig = new Rig();
    rig.speaker.setPeer('tor', settings({ password: 'one' }));
    expect([...rig.network.keys]).toEqual([[PEER, 'one']]);
    rig.speaker.setPeer('tor', settings({ password: 'two' }));
    expect([...rig.network.keys]).toEqual([[PEER, 'two']]);
    rig.speaker.deletePeer('tor');
    expect([...rig.network.keys]).toEqual([]);
  });

  test('that cannot be set close the door', () => {
    const rig = new Rig();
    rig.speaker.setPeer('open', settings({ passive: true, remote: { address: '192.0.2.2' as Ip } }));
    rig.network.keyFails = 'setsockopt(TCP_MD5SIG)';
    rig.speaker.setPeer('tor', settings({ password: 'one' }));
    expect(rig.network.attempts).toEqual([]);
    expect(rig.network.dial({ address: PEER, port: 50_000 })).toBeInstanceOf(Uint8Array);
    expect(rig.state).toBe('Idle');
    expect(rig.speaker.status('tor')[0]?.lastError?.text).toMatch(/^setsockopt\(TCP_MD5SIG\): failed/);
    // It is tried again, and others are not concerned.
    rig.network.keyFails = undefined;
    rig.time.pass(10);
    expect(rig.network.attempts.length).toBeGreaterThan(0);
    expect(rig.dial('192.0.2.2')).toBeInstanceOf(FakeConnection);
  });
});

describe('a range', () => {
  const range = (change: Partial<PeerSettings> = {}): PeerSettings =>
    settings({ remote: { range: '192.0.2.0/24' as Prefix, limit: 2 }, remoteAsn: 'external', ...change });

  test('makes each of its hosts a peer, up to a limit, and forgets those that have gone', () => {
    const rig = new Rig();
    rig.speaker.setPeer('rack', range({ password: 's3cret' }));
    expect([...rig.network.keys.keys()]).toEqual(['192.0.2.0/24']);
    rig.speaker.setRoutes('rack', routes('203.0.113.1/32'));
    const [one, two] = [rig.dial('192.0.2.1'), rig.dial('192.0.2.2')];
    for (const connection of [one, two]) connection.say(openOf(), KEEPALIVE);
    expect(tables(two.heard())).toEqual(['203.0.113.1/32']);
    expect(rig.network.dial({ address: '192.0.2.3' as Ip, port: 50_000 })).toBeInstanceOf(Uint8Array);
    expect(rig.network.dial({ address: '198.51.100.1' as Ip, port: 50_000 })).toBeInstanceOf(Uint8Array);
    expect(rig.speaker.status('rack').map(({ peer }) => peer)).toEqual(['rack/192.0.2.1', 'rack/192.0.2.2']);
    one.end();
    rig.dial('192.0.2.3');
    expect(rig.speaker.status('rack').map(({ peer }) => peer)).toEqual(['rack/192.0.2.2', 'rack/192.0.2.3']);
    rig.speaker.editRoutes('rack', [{ prefix: '203.0.113.1/32' as Prefix, attributes: undefined }]);
    expect(tables(two.heard())).toEqual(['-203.0.113.1/32']);
    rig.speaker.setRoutes('rack', routes('203.0.113.2/32'));
    expect(tables(two.heard())).toEqual(['203.0.113.2/32']);
  });

  test('changes with its settings, and ends as a whole', () => {
    const rig = new Rig();
    rig.speaker.setPeer('rack', range());
    const one = rig.dial('192.0.2.1');
    one.say(openOf(), KEEPALIVE);
    rig.speaker.setPeer('rack', range({ families: ['IPv4'] }));
    expect(one.closed).toBe(true);
    const again = rig.dial('192.0.2.1');
    again.say(openOf(), KEEPALIVE);
    again.heard();
    rig.speaker.deletePeer('rack');
    expect(again.heardTypes()).toEqual(['NOTIFICATION 6/3']);
  });
});

test('a wall clock that steps a day forth and back moves no timer', () => {
  let offset = 0;
  const { rig, connection } = Rig.up({}, openOf(), { wallClock: () => new Date(Date.UTC(2026, 0, 1) + offset) });
  const day = 86_400_000;
  for (const step of [day, -2 * day, day]) {
    offset += step;
    connection.heard();
    rig.time.pass(3);
    expect(connection.heardTypes()).toContain('KEEPALIVE');
    connection.say(KEEPALIVE);
    expect(rig.state).toBe('Established');
  }
  rig.time.pass(9);
  expect(rig.state).not.toBe('Established');
});
