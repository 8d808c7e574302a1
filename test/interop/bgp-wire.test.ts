import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { frame } from '../../bgp/codec/header.ts';
import { encodeUpdates } from '../../bgp/codec/index.ts';
import type { Speaker, SpeakerEvent } from '../../bgp/index.ts';
import type { Ip, IpV4 } from '../../net/ip.ts';
import type { Prefix } from '../../net/prefix.ts';
import { eventually } from '../harness/eventually.ts';
import { PLAIN } from './bgp-fixture.ts';
import { PEER, wireSettings, wireSpeaker } from './wire-fixture.ts';
import { openOf, PEER_ASN, SPEAKER_ASN, WireListener, WirePeer } from './wire-peer.ts';

const ROUTES = new Map([['203.0.113.1/32' as Prefix, PLAIN]]);

function stateOf(speaker: Speaker, peer = 'peer'): string | undefined {
  return speaker.status(peer)[0]?.state;
}

function transitions(events: readonly SpeakerEvent[]): string[] {
  return events.flatMap((event) => (event.kind === 'state' ? [`${event.from} -> ${event.to}`] : []));
}

/** Brings the scripted peer as far as this state of the speaker. */
const TO: Readonly<Record<'OpenSent' | 'OpenConfirm' | 'Established', (peer: WirePeer) => Promise<void>>> = {
  OpenSent: async (peer) => {
    await peer.expect('OPEN');
  },
  OpenConfirm: async (peer) => {
    await peer.expect('OPEN');
    peer.send(openOf());
    await peer.expect('KEEPALIVE');
  },
  Established: async (peer) => {
    await peer.establish();
    await peer.dump();
  },
};

describe.each(['OpenSent', 'OpenConfirm', 'Established'] as const)('in %s', (state) => {
  const settings = wireSettings({ holdTime: 3, keepaliveTime: 1 });

  test('an RST ends the connection, and the next one comes up', async () => {
    await using wire = await wireSpeaker();
    const { speaker, port } = wire;
    speaker.setPeer('peer', settings);
    speaker.setRoutes('peer', ROUTES);
    const peer = await WirePeer.dial(port, PEER);
    await TO[state](peer);
    await eventually(
      'the state',
      () => stateOf(speaker),
      (now) => now === state,
    );
    peer.reset();
    await eventually(
      'it is noticed',
      () => stateOf(speaker),
      (now) => now !== state,
    );
    const next = await WirePeer.dial(port, PEER);
    await next.establish();
    expect(await next.dump()).toHaveLength(1);
    next.close();
  });

  test.each([
    ['OPEN', openOf(), { OpenSent: undefined, OpenConfirm: '5/2', Established: '5/3' }],
    ['KEEPALIVE', { type: 'KEEPALIVE' }, { OpenSent: '5/1', OpenConfirm: undefined, Established: undefined }],
    [
      'ROUTE-REFRESH',
      { type: 'ROUTE-REFRESH', family: 'IPv4', subtype: 'request' },
      { OpenSent: '5/1', OpenConfirm: '5/2', Established: undefined },
    ],
    [
      'UPDATE',
      { type: 'UPDATE', withdrawn: [], announced: [], attributes: {} },
      { OpenSent: '5/1', OpenConfirm: '5/2', Established: undefined },
    ],
  ] as const)('%s', async (_, message, answers) => {
    await using wire = await wireSpeaker();
    const { speaker, port } = wire;
    speaker.setPeer('peer', settings);
    const peer = await WirePeer.dial(port, PEER);
    await TO[state](peer);
    peer.send(message);
    const expected = answers[state];
    if (expected === undefined) {
      await sleep(50);
      expect(peer.isOpen).toBe(true);
    } else {
      const { how, notification } = await peer.ending();
      expect({ how, code: `${notification?.code}/${notification?.subcode}` }).toEqual({ how: 'FIN', code: expected });
    }
    peer.close();
  });

  test('a NOTIFICATION is not answered', async () => {
    await using wire = await wireSpeaker();
    wire.speaker.setPeer('peer', settings);
    const peer = await WirePeer.dial(wire.port, PEER);
    await TO[state](peer);
    peer.send({ type: 'NOTIFICATION', code: 6, subcode: 2, data: new Uint8Array() });
    expect(await peer.ending()).toEqual({ how: 'FIN', notification: undefined });
  });

  test('stopping says Cease', async () => {
    await using wire = await wireSpeaker();
    wire.speaker.setPeer('peer', settings);
    const peer = await WirePeer.dial(wire.port, PEER);
    await TO[state](peer);
    wire.speaker.deletePeer('peer');
    expect((await peer.ending()).notification).toMatchObject({ code: 6, subcode: 3 });
  });
});

describe('a peer that', () => {
  test('accepts and never speaks waits in OpenSent, and no other waits for it', async () => {
    await using wire = await wireSpeaker();
    await using listener = await WireListener.open(PEER);
    const { speaker } = wire;
    speaker.setPeer('peer', wireSettings({ passive: false, port: listener.port, ttlSecurity: 255 }));
    const peer = await listener.accepted();
    await peer.expect('OPEN');
    // OpenSent has four minutes (RFC 4271 section 8.2.2); others do not wait for it.
    speaker.setPeer('other', wireSettings({ remote: { address: '127.0.9.3' as Ip } }));
    const other = await WirePeer.dial(wire.port, '127.0.9.3');
    await other.establish();
    await eventually(
      'the other is up',
      () => stateOf(speaker, 'other'),
      (state) => state === 'Established',
    );
    expect(stateOf(speaker)).toBe('OpenSent');
    other.close();
  });

  test('falls silent is told of its hold time', async () => {
    await using wire = await wireSpeaker();
    wire.speaker.setPeer('peer', wireSettings({ holdTime: 3, keepaliveTime: 1 }));
    const peer = await WirePeer.dial(wire.port, PEER);
    await peer.establish();
    const started = performance.now();
    expect((await peer.ending()).notification).toMatchObject({ code: 4, subcode: 0 });
    const taken = performance.now() - started;
    expect(taken).toBeGreaterThan(2_900);
    expect(taken).toBeLessThan(3_300);
  });

  test('sends one octet at a time is understood', async () => {
    await using wire = await wireSpeaker();
    const { speaker, port } = wire;
    speaker.setPeer('peer', wireSettings());
    const peer = await WirePeer.dial(port, PEER);
    await peer.expect('OPEN');
    peer.socket.setNoDelay(true);
    const whole = Buffer.concat([encoded(openOf()), encoded({ type: 'KEEPALIVE' })]);
    for (const octet of whole) {
      peer.socket.write(Uint8Array.of(octet));
      await sleep(1);
    }
    await eventually(
      'it is up',
      () => stateOf(speaker),
      (state) => state === 'Established',
    );
    peer.close();
  });

  test('begins a message and does not end it loses its hold time', async () => {
    await using wire = await wireSpeaker();
    wire.speaker.setPeer('peer', wireSettings({ holdTime: 3, keepaliveTime: 1 }));
    const peer = await WirePeer.dial(wire.port, PEER);
    await peer.establish();
    const half = frame(2, new Uint8Array(2_000)).subarray(0, 1_000);
    for (let i = 0; i < half.length && peer.isOpen; i += 10) {
      peer.socket.write(half.subarray(i, i + 10));
      await sleep(50);
    }
    expect((await peer.ending()).notification).toMatchObject({ code: 4, subcode: 0 });
  });

  test('stops reading is given up by the send hold timer, its KEEPALIVEs notwithstanding (RFC 9687)', async () => {
    await using wire = await wireSpeaker();
    const { speaker, port, events } = wire;
    speaker.setPeer('peer', wireSettings({ holdTime: 30, keepaliveTime: 1, sendHoldTime: 2 }));
    const peer = await WirePeer.dial(port, PEER);
    await peer.establish();
    await peer.dump();
    peer.socket.pause();
    // More than the buffers of both kernels hold.
    speaker.setRoutes('peer', manyRoutes(200_000, 'wide'));
    const speaking = setInterval(() => peer.send({ type: 'KEEPALIVE' }), 500);
    const started = performance.now();
    await eventually(
      'it is given up',
      () => stateOf(speaker),
      (state) => state !== 'Established',
      { within: 6_000 },
    );
    clearInterval(speaking);
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(transitions(events)).toContain('Established -> Idle');
    const status = speaker.status('peer')[0];
    expect(status?.lastError?.text).toMatch(/Send Hold Timer Expired \(8\/0\)|ETIMEDOUT/);
    peer.close();
  });

  test('floods UPDATEs costs bounded memory, and others have their KEEPALIVEs in time', async () => {
    await using wire = await wireSpeaker();
    const { speaker, port } = wire;
    speaker.setPeer('peer', wireSettings());
    speaker.setPeer('quiet', wireSettings({ remote: { address: '127.0.9.3' as Ip }, holdTime: 3, keepaliveTime: 1 }));
    const quiet = await WirePeer.dial(port, '127.0.9.3');
    await quiet.establish(openOf({ identifier: '10.9.9.78' as IpV4 }));
    await quiet.dump();
    const keeping = setInterval(() => quiet.send({ type: 'KEEPALIVE' }), 500);
    const flood = await WirePeer.dial(port, PEER);
    await flood.establish();
    await flood.dump();
    const block = Buffer.concat(updatesOf(20_000));
    const before = process.memoryUsage().rss;
    let sent = 0;
    let most = 0;
    const gaps: number[] = [];
    let last = performance.now();
    quiet.socket.on('data', () => {
      gaps.push(performance.now() - last);
      last = performance.now();
    });
    const until = performance.now() + 3_000;
    while (performance.now() < until) {
      await new Promise<void>((resolve) => flood.socket.write(block, () => resolve()));
      sent += block.length;
      most = Math.max(most, process.memoryUsage().rss - before);
    }
    clearInterval(keeping);
    // Every 750 to 1,000 ms, with what two processes' worth of work in one thread adds.
    expect(Math.max(...gaps)).toBeLessThan(1_300);
    expect(gaps.length).toBeGreaterThan(2);
    expect(sent).toBeGreaterThan(20e6);
    expect(most).toBeLessThan(64e6);
    expect(stateOf(speaker)).toBe('Established');
    expect(stateOf(speaker, 'quiet')).toBe('Established');
    quiet.close();
    flood.close();
  });
});

describe('two connections at once', () => {
  test.each([
    ['ours stays where our identifier is higher', '10.9.9.1', 'ours'],
    ['the peer’s stays where its is higher', '10.9.9.9', 'theirs'],
  ] as const)('%s', async (_, identifier, survivor) => {
    await using wire = await wireSpeaker();
    await using listener = await WireListener.open(PEER);
    const { speaker, port } = wire;
    speaker.setPeer('peer', wireSettings({ passive: false, port: listener.port, ttlSecurity: 255 }));
    speaker.setRoutes('peer', ROUTES);
    const ours = await listener.accepted();
    await ours.expect('OPEN');
    const theirs = await WirePeer.dial(port, PEER);
    await theirs.expect('OPEN');
    const open = openOf({ identifier: identifier as IpV4 });
    ours.send(open);
    await ours.expect('KEEPALIVE');
    theirs.send(open);
    const [winner, loser] = survivor === 'ours' ? [ours, theirs] : [theirs, ours];
    expect((await loser.ending()).notification).toMatchObject({ code: 6, subcode: 7 });
    if (survivor === 'theirs') await winner.expect('KEEPALIVE');
    winner.send({ type: 'KEEPALIVE' });
    expect(await winner.dump()).toHaveLength(1);
    expect(stateOf(speaker)).toBe('Established');
  });

  test('a half-open session gives way to the new one of a peer with graceful restart', async () => {
    await using wire = await wireSpeaker();
    const { speaker, port } = wire;
    speaker.setPeer('peer', wireSettings());
    speaker.setRoutes('peer', ROUTES);
    const open = openOf();
    const restarting = openOf({
      capabilities: [
        ...open.capabilities,
        {
          kind: 'graceful-restart',
          restarting: true,
          notification: false,
          restartTime: 120,
          families: [{ afi: 1, safi: 1, forwarding: true }],
        },
      ],
    });
    const lost = await WirePeer.dial(port, PEER);
    await lost.establish(restarting);
    await lost.dump();
    const next = await WirePeer.dial(port, PEER);
    await next.establish(restarting);
    expect(await next.dump()).toHaveLength(1);
    expect(await lost.ending()).toEqual({ how: 'FIN', notification: undefined });
  });
});

test('a peer that is not there: refused, told, and found when it comes', async () => {
  await using wire = await wireSpeaker();
  const { speaker } = wire;
  const place = createServer();
  await new Promise<void>((resolve) => place.listen(0, PEER, resolve));
  const address = place.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  await new Promise((resolve) => place.close(resolve));
  speaker.setPeer('peer', wireSettings({ passive: false, port: address.port, ttlSecurity: 255, connectRetryTime: 1 }));
  await eventually(
    'it is told',
    () => speaker.status('peer')[0]?.lastError?.text,
    (text) => /refuses connections/.test(text ?? ''),
  );
  const server = createServer();
  const peers: WirePeer[] = [];
  server.on('connection', (socket) => peers.push(new WirePeer(socket)));
  await new Promise<void>((resolve) => server.listen(address.port, PEER, resolve));
  const peer = await eventually('it is found', () => peers[0]);
  await peer?.establish();
  await eventually(
    'it is up',
    () => stateOf(speaker),
    (state) => state === 'Established',
  );
  peer?.close();
  server.close();
});

function encoded(message: Parameters<WirePeer['send']>[0]): Uint8Array {
  const taken: Uint8Array[] = [];
  const sink = { write: (bytes: Uint8Array) => taken.push(bytes), on: () => undefined };
  new WirePeer(sink as never).send(message);
  return taken[0] ?? new Uint8Array();
}

function prefixes(count: number): Prefix[] {
  return Array.from({ length: count }, (_, i) => `${20 + (i >> 16)}.0.${(i >> 8) & 255}.${i & 255}/32` as Prefix);
}

/** Each with attributes of its own where they are `wide`, so that each is an UPDATE. */
function manyRoutes(count: number, kind: 'plain' | 'wide') {
  return new Map(
    prefixes(count).map((prefix, i) => [prefix, kind === 'plain' ? PLAIN : { ...PLAIN, key: `${i}`, med: i }]),
  );
}

function updatesOf(count: number): Uint8Array[] {
  const session = {
    fourOctetAs: true,
    extendedMessage: false,
    families: ['IPv4' as const],
    extendedNextHop: false,
    enhancedRouteRefresh: false,
    peering: 'external' as const,
    peerAsn: SPEAKER_ASN,
  };
  const group = {
    family: 'IPv4' as const,
    nextHop: { address: '192.0.2.1' as Ip },
    attributes: { origin: 'IGP' as const, asPath: [{ kind: 'AS_SEQUENCE' as const, asns: [PEER_ASN] }] },
  };
  return Array.from(encodeUpdates(group, prefixes(count), session), ({ bytes }) => bytes);
}
