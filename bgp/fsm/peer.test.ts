import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { IpV4 } from '../../net/ip.ts';
import { survivingOrigin } from './collision.ts';
import {
  type ConnectionEvent,
  type ConnectionId,
  leading,
  type PeerAction,
  type PeerEnvironment,
  type PeerFsm,
  type PeerInput,
  peerSendProgressed,
  peerWakeAt,
  STOPPED_PEER,
  stepPeer,
} from './peer.ts';
import { at, environment } from './testing/settings.ts';
import type { FsmSettings } from './types.ts';

const LOW = '192.0.2.1' as IpV4;
const OURS = '192.0.2.5' as IpV4;
const HIGH = '192.0.2.9' as IpV4;

/** A peer whose inputs are written down one after another. */
class Rig {
  peer: PeerFsm = STOPPED_PEER;
  seconds = 0;
  readonly #environment: PeerEnvironment;

  constructor(change: Partial<FsmSettings> = {}) {
    this.#environment = { ...environment(change), local: { identifier: OURS, asn: 65_001 } };
  }

  /** `connect 1`, `notify 1 6/7`, ... */
  input(input: PeerInput): string[] {
    const { peer, actions } = stepPeer(this.peer, input, at(this.seconds), this.#environment);
    this.peer = peer;
    return actions.map(wordsOf);
  }

  event(connection: ConnectionId, event: ConnectionEvent): string[] {
    return this.input({ kind: 'event', connection, event });
  }

  open(connection: ConnectionId, identifier: IpV4, gracefulRestart = false): string[] {
    return this.event(connection, {
      kind: 'BGPOpen',
      holdTime: 9,
      remote: { identifier, asn: 65_000, gracefulRestart },
    });
  }

  /** Our connection 1 has its OPEN sent. */
  static opened(change?: Partial<FsmSettings>): Rig {
    const rig = new Rig(change);
    rig.input({ kind: 'start' });
    rig.event(1, { kind: 'Tcp_CR_Acked' });
    return rig;
  }

  static established(identifier: IpV4, gracefulRestart: boolean): Rig {
    const rig = Rig.opened();
    rig.open(1, identifier, gracefulRestart);
    rig.event(1, { kind: 'KeepAliveMsg' });
    return rig;
  }

  get states(): string {
    const { main, second } = this.peer;
    const words = [main, second].map((slot) => slot && `${slot.fsm.state} ${slot.connection ?? '-'}`);
    return words.filter(Boolean).join(', ');
  }
}

function wordsOf(action: PeerAction): string {
  if (action.kind === 'refuse') return 'refuse';
  if (action.kind === 'send-notification') {
    return `notify ${action.connection} ${action.notification.code}/${action.notification.subcode}`;
  }
  return `${action.kind.replace('send-', '')} ${action.connection}`;
}

describe('one connection', () => {
  test('from nothing to Established and to its end', () => {
    const rig = new Rig();
    expect(rig.input({ kind: 'start' })).toEqual(['connect 1']);
    expect(rig.event(1, { kind: 'Tcp_CR_Acked' })).toEqual(['open 1']);
    expect(rig.open(1, LOW)).toEqual(['keepalive 1']);
    expect(rig.event(1, { kind: 'KeepAliveMsg' })).toEqual([]);
    expect(rig.states).toBe('Established 1');
    rig.seconds = 3;
    expect(rig.input({ kind: 'wake' })).toEqual(['keepalive 1']);
    rig.seconds = 9;
    expect(rig.input({ kind: 'wake' })).toEqual(['notify 1 4/0', 'close 1']);
    expect(rig.states).toBe('Idle -');
    rig.seconds = 10;
    expect(rig.input({ kind: 'wake' })).toEqual(['connect 2']);
  });

  test('is numbered anew at each attempt, so that late words of an old one are not heard', () => {
    const rig = new Rig();
    rig.input({ kind: 'start' });
    rig.seconds = 5;
    expect(rig.input({ kind: 'wake' })).toEqual(['close 1', 'connect 2']);
    expect(rig.event(1, { kind: 'Tcp_CR_Acked' })).toEqual([]);
    expect(rig.event(1, { kind: 'TcpConnectionFails' })).toEqual([]);
    expect(rig.states).toBe('Connect 2');
  });

  test('stops for good, and starts again', () => {
    const rig = Rig.established(LOW, false);
    expect(rig.input({ kind: 'stop' })).toEqual(['close 1']);
    expect(peerWakeAt(rig.peer)).toBeUndefined();
    expect(rig.input({ kind: 'accepted' })).toEqual(['refuse']);
    expect(rig.input({ kind: 'start' })).toEqual(['connect 2']);
  });

  test('comes back by itself after a reset', () => {
    const rig = Rig.established(LOW, false);
    expect(rig.input({ kind: 'reset' })).toEqual(['close 1']);
    rig.seconds = 1;
    expect(rig.input({ kind: 'wake' })).toEqual(['connect 2']);
  });
});

describe('a connection of the peer', () => {
  test('is taken while we wait', () => {
    const rig = new Rig({ passive: true });
    expect(rig.input({ kind: 'start' })).toEqual([]);
    expect(rig.input({ kind: 'accepted' })).toEqual(['adopt 1', 'open 1']);
    expect(rig.states).toBe('OpenSent 1');
  });

  test('is taken in the pause after one failure, or where we did not reach the peer; refused after more', () => {
    const rig = new Rig();
    rig.input({ kind: 'start' });
    rig.event(1, { kind: 'TcpConnectionFails' });
    expect(rig.states).toBe('Idle -');
    expect(rig.input({ kind: 'accepted' })).toEqual(['adopt 2', 'open 2']);
    rig.event(2, { kind: 'NotifMsg' });
    expect(rig.input({ kind: 'accepted' })).toEqual(['refuse']);

    const once = Rig.opened();
    once.event(1, { kind: 'NotifMsg' });
    expect(once.input({ kind: 'accepted' })).toEqual(['adopt 2', 'open 2']);
  });

  test('replaces an older one of its own that has not come far', () => {
    const rig = Rig.opened();
    expect(rig.input({ kind: 'accepted' })).toEqual(['adopt 2', 'open 2']);
    expect(rig.input({ kind: 'accepted' })).toEqual(['notify 2 6/7', 'close 2', 'adopt 3', 'open 3']);
    expect(rig.states).toBe('OpenSent 1, OpenSent 3');
  });

  test('that ends leaves the other alone', () => {
    const rig = Rig.opened();
    rig.input({ kind: 'accepted' });
    expect(rig.event(2, { kind: 'TcpConnectionFails' })).toEqual(['close 2']);
    expect(rig.states).toBe('OpenSent 1');
  });

  test('is heard while our own attempt hangs', () => {
    const rig = new Rig();
    rig.input({ kind: 'start' });
    rig.input({ kind: 'accepted' });
    expect(rig.states).toBe('Connect 1, OpenSent 2');
    rig.open(2, LOW);
    expect(rig.event(2, { kind: 'KeepAliveMsg' })).toEqual(['close 1']);
    expect(rig.states).toBe('Established 2');
  });
});

describe('collision (RFC 4271 section 6.8)', () => {
  test('the peer with the higher identifier keeps its connection', () => {
    const rig = Rig.opened();
    rig.input({ kind: 'accepted' });
    rig.open(1, HIGH);
    expect(rig.open(2, HIGH)).toEqual(['notify 1 6/7', 'close 1', 'keepalive 2']);
    expect(rig.states).toBe('OpenConfirm 2');
  });

  test('with the higher identifier we keep ours', () => {
    const rig = Rig.opened();
    rig.input({ kind: 'accepted' });
    rig.open(1, LOW);
    expect(rig.open(2, LOW)).toEqual(['notify 2 6/7', 'close 2']);
    expect(rig.states).toBe('OpenConfirm 1');
  });

  test('in whatever order the OPENs come', () => {
    const rig = Rig.opened();
    rig.input({ kind: 'accepted' });
    rig.open(2, LOW);
    expect(rig.open(1, LOW)).toEqual(['notify 2 6/7', 'close 2', 'keepalive 1']);
    const other = Rig.opened();
    other.input({ kind: 'accepted' });
    other.open(2, HIGH);
    expect(other.open(1, HIGH)).toEqual(['notify 1 6/7', 'close 1']);
    expect(other.states).toBe('OpenConfirm 2');
  });

  test('one that is up ends the other', () => {
    const rig = Rig.opened();
    rig.input({ kind: 'accepted' });
    rig.open(1, HIGH);
    expect(rig.event(1, { kind: 'KeepAliveMsg' })).toEqual(['notify 2 6/7', 'close 2']);
    expect(rig.states).toBe('Established 1');
  });

  test('a session that is up wins', () => {
    const rig = Rig.established(HIGH, false);
    rig.input({ kind: 'accepted' });
    expect(rig.event(1, { kind: 'KeepAliveMsg' })).toEqual([]);
    expect(rig.states).toBe('Established 1, OpenSent 2');
    expect(rig.open(2, HIGH)).toEqual(['notify 2 6/7', 'close 2']);
    expect(rig.states).toBe('Established 1');
  });

  test('but a peer of graceful restart has restarted, and the old session is dead (RFC 4724 section 5)', () => {
    const rig = Rig.established(LOW, true);
    rig.input({ kind: 'accepted' });
    expect(rig.open(2, LOW, true)).toEqual(['close 1', 'keepalive 2']);
    expect(rig.states).toBe('OpenConfirm 2');
  });

  test('of two connections of the peer the newer stays', () => {
    const rig = new Rig({ passive: true });
    rig.input({ kind: 'start' });
    rig.input({ kind: 'accepted' });
    rig.input({ kind: 'accepted' });
    rig.open(1, LOW);
    expect(rig.open(2, LOW)).toEqual(['notify 1 6/7', 'close 1', 'keepalive 2']);
  });

  test('equal identifiers: the larger AS number decides (RFC 6286 section 2.3)', () => {
    expect(survivingOrigin({ identifier: OURS, asn: 1 }, { identifier: OURS, asn: 2 })).toBe('remote');
    expect(survivingOrigin({ identifier: OURS, asn: 2 }, { identifier: OURS, asn: 1 })).toBe('local');
    expect(survivingOrigin({ identifier: '9.0.0.0' as IpV4, asn: 1 }, { identifier: '10.0.0.0' as IpV4, asn: 1 })).toBe(
      'remote',
    );
  });

  test('both ends decide alike', () => {
    const octet = fc.integer({ min: 1, max: 254 });
    const identity = fc.record({
      identifier: fc.tuple(octet, octet, octet, octet).map((octets) => octets.join('.') as IpV4),
      asn: fc.integer({ min: 1, max: 0xffff_ffff }),
    });
    fc.assert(
      fc.property(identity, identity, (one, other) => {
        fc.pre(one.identifier !== other.identifier || one.asn !== other.asn);
        expect(survivingOrigin(one, other)).not.toBe(survivingOrigin(other, one));
      }),
    );
  });
});

describe('whatever happens', () => {
  const events: readonly ConnectionEvent[] = [
    { kind: 'Tcp_CR_Acked' },
    { kind: 'TcpConnectionFails' },
    { kind: 'BGPOpen', holdTime: 9, remote: { identifier: HIGH, asn: 65_000, gracefulRestart: false } },
    { kind: 'BGPOpen', holdTime: 9, remote: { identifier: LOW, asn: 65_000, gracefulRestart: true } },
    { kind: 'KeepAliveMsg' },
    { kind: 'UpdateMsg', messageType: 2 },
    { kind: 'NotifMsg' },
  ];
  const input: fc.Arbitrary<PeerInput> = fc.oneof(
    fc.constantFrom<PeerInput>({ kind: 'start' }, { kind: 'stop' }, { kind: 'reset' }, { kind: 'wake' }),
    fc.constant<PeerInput>({ kind: 'accepted' }),
    fc.record({
      kind: fc.constant('event' as const),
      connection: fc.integer({ min: 1, max: 6 }),
      event: fc.constantFrom(...events),
    }),
  );

  test('every connection is opened once, used while open, and closed', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(input, fc.integer({ min: 0, max: 5 })), { maxLength: 40 }), (inputs) => {
        const rig = new Rig();
        const open = new Set<string>();
        for (const [next, pause] of inputs) {
          rig.seconds += pause;
          for (const action of rig.input(next)) {
            const [kind = '', id = ''] = action.split(' ');
            if (kind === 'connect' || kind === 'adopt') {
              expect(open.has(id)).toBe(false);
              open.add(id);
            } else if (kind === 'close') {
              expect(open.delete(id)).toBe(true);
            } else if (kind !== 'refuse') {
              expect(open.has(id)).toBe(true);
            }
          }
          const held = [rig.peer.main, rig.peer.second].flatMap((slot) => slot?.connection ?? []);
          expect(held.map(String).sort()).toEqual([...open].sort());
          expect([rig.peer.main, rig.peer.second].filter((s) => s?.fsm.state === 'Established').length).toBeLessThan(2);
          const due = peerWakeAt(rig.peer);
          if (leading(rig.peer).fsm.state === 'Connect') expect(due).toBeDefined();
        }
      }),
    );
  });
});

test('what the peer takes is counted for the connection that it took it on', () => {
  const rig = Rig.established(LOW, false);
  const settings: PeerEnvironment = { ...environment(), local: { identifier: OURS, asn: 65_001 } };
  const later = peerSendProgressed(rig.peer, 1, at(100), settings);
  expect(later.main.fsm.deadlines.sendHold).toBe(at(580));
  expect(peerSendProgressed(rig.peer, 7, at(100), settings)).toBe(rig.peer);
});
