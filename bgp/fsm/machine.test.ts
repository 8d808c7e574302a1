import { describe, expect, test } from 'vitest';
import type { Notification } from '../codec/types.ts';
import { dueEvent, sendProgressed, step, wakeAt } from './machine.ts';
import { at, environment, SECOND } from './testing/settings.ts';
import {
  EVENT_NUMBER,
  type Fsm,
  type FsmEnvironment,
  type FsmEvent,
  type FsmEventKind,
  type FsmState,
  STOPPED,
  type TimerName,
} from './types.ts';

const NOW = at(1_000);
const CEASE: Notification = { type: 'NOTIFICATION', code: 6, subcode: 2, data: new Uint8Array() };
const HEADER: Notification = { type: 'NOTIFICATION', code: 1, subcode: 1, data: new Uint8Array() };
const OPEN: Notification = { type: 'NOTIFICATION', code: 2, subcode: 2, data: new Uint8Array() };
const UPDATE: Notification = { type: 'NOTIFICATION', code: 3, subcode: 10, data: new Uint8Array() };

function eventOf(kind: FsmEventKind): FsmEvent {
  switch (kind) {
    case 'ManualStop':
    case 'AutomaticStop':
      return { kind, notification: CEASE };
    case 'BGPOpen':
    case 'BGPOpen_with_DelayOpenTimer_running':
      return { kind, holdTime: 6 };
    case 'BGPHeaderErr':
      return { kind, notification: HEADER };
    case 'BGPOpenMsgErr':
      return { kind, notification: OPEN };
    case 'UpdateMsgErr':
      return { kind, notification: UPDATE };
    case 'UpdateMsg':
      return { kind, messageType: 2 };
    default:
      return { kind };
  }
}

function running(state: FsmState, timers: readonly TimerName[], change: Partial<Fsm> = {}): Fsm {
  const deadlines = Object.fromEntries(timers.map((timer) => [timer, at(2_000)]));
  return { ...STOPPED, state, deadlines, idleCause: 'failed', connectRetryCounter: 3, failures: 1, ...change };
}

const negotiated = { holdTime: 6 * SECOND, keepaliveTime: 2 * SECOND };
const STATES: Readonly<Record<FsmState, Fsm>> = {
  Idle: running('Idle', []),
  Connect: running('Connect', ['connectRetry']),
  Active: running('Active', ['connectRetry']),
  OpenSent: running('OpenSent', ['hold']),
  OpenConfirm: running('OpenConfirm', ['hold', 'keepalive'], negotiated),
  Established: running('Established', ['hold', 'keepalive', 'sendHold'], { ...negotiated, establishedAt: at(999) }),
};

/** State; actions; timers that run; ConnectRetryCounter. */
function summary(fsm: Fsm, event: FsmEvent, settings: FsmEnvironment = environment()): string {
  const { fsm: next, actions } = step(fsm, event, NOW, settings);
  const words = actions.map((action) =>
    action.kind === 'send-notification'
      ? `${action.notification.code}/${action.notification.subcode}${Buffer.from(action.notification.data).toString('hex') && `:${Buffer.from(action.notification.data).toString('hex')}`}`
      : action.kind.replace('send-', ''),
  );
  const timers = Object.entries(next.deadlines)
    .filter(([, deadline]) => deadline !== undefined)
    .map(([timer]) => timer)
    .sort();
  return `${next.state}; ${words.join(' ')}; ${timers.join(' ')}; ${next.connectRetryCounter}`;
}

const STAYS_IDLE = 'Idle; ; ; 3';
const CONNECTS = 'Connect; connect; connectRetry; 3';
const STOPS = 'Idle; close; ; 0';
/** Released, counted and damped, after what was sent. */
const fails = (sent = ''): string => `Idle; ${sent === '' ? '' : `${sent} `}close; idleHold; 4`;
const IN_CONNECT = 'Connect; ; connectRetry; 3';
const IN_ACTIVE = 'Active; ; connectRetry; 3';
const IN_OPEN_SENT = 'OpenSent; ; hold; 3';
const IN_OPEN_CONFIRM = 'OpenConfirm; ; hold keepalive; 3';
const IN_ESTABLISHED = 'Established; ; hold keepalive sendHold; 3';
const OPENS = 'OpenSent; open; hold; 3';

/** RFC 4271 section 8.2.2, state by state, and RFC 9687 for event 29. */
const EXPECTED: Readonly<Record<FsmState, Readonly<Record<FsmEventKind, string>>>> = {
  Idle: {
    ManualStart: 'Connect; connect; connectRetry; 0',
    ManualStop: STAYS_IDLE,
    AutomaticStart: 'Connect; connect; connectRetry; 0',
    ManualStart_with_PassiveTcpEstablishment: 'Active; ; ; 0',
    AutomaticStart_with_PassiveTcpEstablishment: 'Active; ; ; 0',
    AutomaticStart_with_DampPeerOscillations: CONNECTS,
    AutomaticStart_with_DampPeerOscillations_and_PassiveTcpEstablishment: 'Active; ; ; 3',
    AutomaticStop: STAYS_IDLE,
    ConnectRetryTimer_Expires: STAYS_IDLE,
    HoldTimer_Expires: STAYS_IDLE,
    KeepaliveTimer_Expires: STAYS_IDLE,
    DelayOpenTimer_Expires: STAYS_IDLE,
    IdleHoldTimer_Expires: CONNECTS,
    TcpConnection_Valid: STAYS_IDLE,
    Tcp_CR_Invalid: STAYS_IDLE,
    Tcp_CR_Acked: STAYS_IDLE,
    TcpConnectionConfirmed: STAYS_IDLE,
    TcpConnectionFails: STAYS_IDLE,
    BGPOpen: STAYS_IDLE,
    BGPOpen_with_DelayOpenTimer_running: STAYS_IDLE,
    BGPHeaderErr: STAYS_IDLE,
    BGPOpenMsgErr: STAYS_IDLE,
    OpenCollisionDump: STAYS_IDLE,
    NotifMsgVerErr: STAYS_IDLE,
    NotifMsg: STAYS_IDLE,
    KeepAliveMsg: STAYS_IDLE,
    UpdateMsg: STAYS_IDLE,
    UpdateMsgErr: STAYS_IDLE,
    SendHoldTimer_Expires: STAYS_IDLE,
  },
  Connect: {
    ManualStart: IN_CONNECT,
    ManualStop: STOPS,
    AutomaticStart: IN_CONNECT,
    ManualStart_with_PassiveTcpEstablishment: IN_CONNECT,
    AutomaticStart_with_PassiveTcpEstablishment: IN_CONNECT,
    AutomaticStart_with_DampPeerOscillations: IN_CONNECT,
    AutomaticStart_with_DampPeerOscillations_and_PassiveTcpEstablishment: IN_CONNECT,
    AutomaticStop: fails(),
    ConnectRetryTimer_Expires: 'Connect; close connect; connectRetry; 3',
    HoldTimer_Expires: fails(),
    KeepaliveTimer_Expires: fails(),
    DelayOpenTimer_Expires: OPENS,
    IdleHoldTimer_Expires: fails(),
    TcpConnection_Valid: IN_CONNECT,
    Tcp_CR_Invalid: IN_CONNECT,
    Tcp_CR_Acked: OPENS,
    TcpConnectionConfirmed: OPENS,
    TcpConnectionFails: 'Idle; close; idleHold; 3',
    BGPOpen: fails(),
    BGPOpen_with_DelayOpenTimer_running: 'OpenConfirm; open keepalive; hold keepalive; 3',
    BGPHeaderErr: fails(),
    BGPOpenMsgErr: fails(),
    OpenCollisionDump: fails(),
    NotifMsgVerErr: fails(),
    NotifMsg: fails(),
    KeepAliveMsg: fails(),
    UpdateMsg: fails(),
    UpdateMsgErr: fails(),
    SendHoldTimer_Expires: fails(),
  },
  Active: {
    ManualStart: IN_ACTIVE,
    ManualStop: STOPS,
    AutomaticStart: IN_ACTIVE,
    ManualStart_with_PassiveTcpEstablishment: IN_ACTIVE,
    AutomaticStart_with_PassiveTcpEstablishment: IN_ACTIVE,
    AutomaticStart_with_DampPeerOscillations: IN_ACTIVE,
    AutomaticStart_with_DampPeerOscillations_and_PassiveTcpEstablishment: IN_ACTIVE,
    AutomaticStop: fails(),
    ConnectRetryTimer_Expires: 'Connect; connect; connectRetry; 3',
    HoldTimer_Expires: fails(),
    KeepaliveTimer_Expires: fails(),
    DelayOpenTimer_Expires: OPENS,
    IdleHoldTimer_Expires: fails(),
    TcpConnection_Valid: IN_ACTIVE,
    Tcp_CR_Invalid: IN_ACTIVE,
    Tcp_CR_Acked: OPENS,
    TcpConnectionConfirmed: OPENS,
    TcpConnectionFails: fails(),
    BGPOpen: fails(),
    BGPOpen_with_DelayOpenTimer_running: 'OpenConfirm; open keepalive; hold keepalive; 3',
    BGPHeaderErr: fails(),
    BGPOpenMsgErr: fails(),
    OpenCollisionDump: fails(),
    NotifMsgVerErr: fails(),
    NotifMsg: fails(),
    KeepAliveMsg: fails(),
    UpdateMsg: fails(),
    UpdateMsgErr: fails(),
    SendHoldTimer_Expires: fails(),
  },
  OpenSent: {
    ManualStart: IN_OPEN_SENT,
    ManualStop: 'Idle; 6/2 close; ; 0',
    AutomaticStart: IN_OPEN_SENT,
    ManualStart_with_PassiveTcpEstablishment: IN_OPEN_SENT,
    AutomaticStart_with_PassiveTcpEstablishment: IN_OPEN_SENT,
    AutomaticStart_with_DampPeerOscillations: IN_OPEN_SENT,
    AutomaticStart_with_DampPeerOscillations_and_PassiveTcpEstablishment: IN_OPEN_SENT,
    AutomaticStop: fails('6/2'),
    ConnectRetryTimer_Expires: fails('5/0'),
    HoldTimer_Expires: fails('4/0'),
    KeepaliveTimer_Expires: fails('5/0'),
    DelayOpenTimer_Expires: fails('5/0'),
    IdleHoldTimer_Expires: fails('5/0'),
    TcpConnection_Valid: IN_OPEN_SENT,
    Tcp_CR_Invalid: IN_OPEN_SENT,
    Tcp_CR_Acked: IN_OPEN_SENT,
    TcpConnectionConfirmed: IN_OPEN_SENT,
    TcpConnectionFails: 'Active; close; connectRetry; 3',
    BGPOpen: 'OpenConfirm; keepalive; hold keepalive; 3',
    BGPOpen_with_DelayOpenTimer_running: fails('5/1:01'),
    BGPHeaderErr: fails('1/1'),
    BGPOpenMsgErr: fails('2/2'),
    OpenCollisionDump: fails('6/7'),
    NotifMsgVerErr: 'Idle; close; idleHold; 3',
    NotifMsg: fails(),
    KeepAliveMsg: fails('5/1:04'),
    UpdateMsg: fails('5/1:02'),
    UpdateMsgErr: fails('5/1:02'),
    SendHoldTimer_Expires: fails('5/0'),
  },
  OpenConfirm: {
    ManualStart: IN_OPEN_CONFIRM,
    ManualStop: 'Idle; 6/2 close; ; 0',
    AutomaticStart: IN_OPEN_CONFIRM,
    ManualStart_with_PassiveTcpEstablishment: IN_OPEN_CONFIRM,
    AutomaticStart_with_PassiveTcpEstablishment: IN_OPEN_CONFIRM,
    AutomaticStart_with_DampPeerOscillations: IN_OPEN_CONFIRM,
    AutomaticStart_with_DampPeerOscillations_and_PassiveTcpEstablishment: IN_OPEN_CONFIRM,
    AutomaticStop: fails('6/2'),
    ConnectRetryTimer_Expires: fails('5/0'),
    HoldTimer_Expires: fails('4/0'),
    KeepaliveTimer_Expires: 'OpenConfirm; keepalive; hold keepalive; 3',
    DelayOpenTimer_Expires: fails('5/0'),
    IdleHoldTimer_Expires: fails('5/0'),
    TcpConnection_Valid: IN_OPEN_CONFIRM,
    Tcp_CR_Invalid: IN_OPEN_CONFIRM,
    Tcp_CR_Acked: IN_OPEN_CONFIRM,
    TcpConnectionConfirmed: IN_OPEN_CONFIRM,
    TcpConnectionFails: fails(),
    BGPOpen: fails('5/2:01'),
    BGPOpen_with_DelayOpenTimer_running: fails('5/2:01'),
    BGPHeaderErr: fails('1/1'),
    BGPOpenMsgErr: fails('2/2'),
    OpenCollisionDump: fails('6/7'),
    NotifMsgVerErr: 'Idle; close; idleHold; 3',
    NotifMsg: fails(),
    KeepAliveMsg: 'Established; ; hold keepalive sendHold; 3',
    UpdateMsg: fails('5/2:02'),
    UpdateMsgErr: fails('5/2:02'),
    SendHoldTimer_Expires: fails('5/0'),
  },
  Established: {
    ManualStart: IN_ESTABLISHED,
    ManualStop: 'Idle; 6/2 close; ; 0',
    AutomaticStart: IN_ESTABLISHED,
    ManualStart_with_PassiveTcpEstablishment: IN_ESTABLISHED,
    AutomaticStart_with_PassiveTcpEstablishment: IN_ESTABLISHED,
    AutomaticStart_with_DampPeerOscillations: IN_ESTABLISHED,
    AutomaticStart_with_DampPeerOscillations_and_PassiveTcpEstablishment: IN_ESTABLISHED,
    AutomaticStop: fails('6/2'),
    ConnectRetryTimer_Expires: fails('5/0'),
    HoldTimer_Expires: fails('4/0'),
    KeepaliveTimer_Expires: 'Established; keepalive; hold keepalive sendHold; 3',
    DelayOpenTimer_Expires: fails('5/0'),
    IdleHoldTimer_Expires: fails('5/0'),
    TcpConnection_Valid: IN_ESTABLISHED,
    Tcp_CR_Invalid: IN_ESTABLISHED,
    Tcp_CR_Acked: IN_ESTABLISHED,
    TcpConnectionConfirmed: IN_ESTABLISHED,
    TcpConnectionFails: fails(),
    BGPOpen: fails('5/3:01'),
    BGPOpen_with_DelayOpenTimer_running: fails('5/3:01'),
    BGPHeaderErr: fails('1/1'),
    BGPOpenMsgErr: fails('2/2'),
    OpenCollisionDump: fails('6/7'),
    NotifMsgVerErr: 'Idle; close; idleHold; 3',
    NotifMsg: fails(),
    KeepAliveMsg: IN_ESTABLISHED,
    UpdateMsg: IN_ESTABLISHED,
    UpdateMsgErr: fails('3/10'),
    SendHoldTimer_Expires: fails('8/0'),
  },
};

const KINDS = Object.entries(EVENT_NUMBER) as [FsmEventKind, number][];

test('events have the numbers 1 to 29', () => {
  expect(KINDS.map(([, number]) => number).sort((a, b) => a - b)).toEqual(Array.from({ length: 29 }, (_, i) => i + 1));
});

describe.each(Object.keys(STATES) as FsmState[])('%s', (state) => {
  test.each(KINDS)('%s (%i)', (kind) => {
    expect(summary(STATES[state], eventOf(kind))).toBe(EXPECTED[state][kind]);
  });
});

describe('stopping', () => {
  test.each(['OpenSent', 'OpenConfirm', 'Established'] as const)('in silence from %s', (state) => {
    expect(summary(STATES[state], { kind: 'ManualStop' })).toBe(STOPS);
    expect(summary(STATES[state], { kind: 'AutomaticStop' })).toBe(fails());
  });

  test('ends the pause of a peer that failed', () => {
    expect(summary(running('Idle', ['idleHold']), { kind: 'ManualStop' })).toBe('Idle; ; ; 3');
  });
});

describe('DelayOpen', () => {
  const delaying = environment({ delayOpenTime: 4 * SECOND });
  const connected = running('Connect', ['delayOpen']);

  test('holds our OPEN back', () => {
    for (const kind of ['Tcp_CR_Acked', 'TcpConnectionConfirmed'] as const) {
      expect(summary(STATES.Connect, { kind }, delaying)).toBe('Connect; ; delayOpen; 3');
      expect(summary(STATES.Active, { kind }, delaying)).toBe('Active; ; delayOpen; 3');
    }
  });

  test('ends by its timer or by the peer', () => {
    expect(summary(connected, { kind: 'DelayOpenTimer_Expires' }, delaying)).toBe(OPENS);
    expect(summary(connected, eventOf('BGPOpen_with_DelayOpenTimer_running'), delaying)).toBe(
      'OpenConfirm; open keepalive; hold keepalive; 3',
    );
  });

  test('a lost connection is waited for anew, a version error is not counted', () => {
    expect(summary(connected, { kind: 'TcpConnectionFails' }, delaying)).toBe('Active; close; connectRetry; 3');
    expect(summary(connected, { kind: 'NotifMsgVerErr' }, delaying)).toBe('Idle; close; idleHold; 3');
  });
});

describe('a passive peer', () => {
  const passive = environment({ passive: true });

  test('is waited for without trying', () => {
    expect(summary(running('Idle', ['idleHold']), { kind: 'IdleHoldTimer_Expires' }, passive)).toBe('Active; ; ; 3');
    expect(summary(STATES.OpenSent, { kind: 'TcpConnectionFails' }, passive)).toBe('Active; close; ; 3');
  });
});

describe('hold time', () => {
  const open = (holdTime: number): FsmEvent => ({ kind: 'BGPOpen', holdTime });

  test('is the smaller of both, KEEPALIVEs come three times as often', () => {
    const { fsm } = step(STATES.OpenSent, open(6), NOW, environment());
    expect(fsm).toMatchObject({ holdTime: 6 * SECOND, keepaliveTime: 2 * SECOND });
    expect(fsm.deadlines).toMatchObject({ hold: at(1_006), keepalive: at(1_002) });
    expect(step(STATES.OpenSent, open(90), NOW, environment()).fsm.holdTime).toBe(9 * SECOND);
  });

  test('of 0 on either side: no timer at all', () => {
    for (const [remote, settings] of [
      [0, environment()],
      [90, environment({ holdTime: 0 })],
    ] as const) {
      const confirmed = step(STATES.OpenSent, open(remote), NOW, settings);
      expect(confirmed.actions).toEqual([{ kind: 'send-keepalive' }]);
      expect(wakeAt(confirmed.fsm)).toBeUndefined();
      const { fsm } = step(confirmed.fsm, { kind: 'KeepAliveMsg' }, NOW, settings);
      expect(fsm.state).toBe('Established');
      expect(wakeAt(fsm)).toBeUndefined();
    }
  });

  test('a shorter keepalive interval applies to a session that is up', () => {
    const { fsm } = step(
      STATES.Established,
      { kind: 'KeepaliveTimer_Expires' },
      NOW,
      environment({ keepaliveTime: SECOND }),
    );
    expect(fsm.deadlines.keepalive).toBe(at(1_001));
  });

  test('every message of the peer restarts it', () => {
    for (const kind of ['KeepAliveMsg', 'UpdateMsg'] as const) {
      const { fsm } = step(STATES.Established, eventOf(kind), NOW, environment());
      expect(fsm.deadlines.hold).toBe(at(1_006));
    }
  });
});

describe('damping', () => {
  const fail = (fsm: Fsm, settings = environment()): Fsm => {
    const session: Fsm = { ...STATES.OpenSent, failures: fsm.failures };
    return step(session, { kind: 'NotifMsg' }, NOW, settings).fsm;
  };

  test('doubles the pause up to its limit', () => {
    let fsm: Fsm = { ...STOPPED, failures: 0 };
    const pauses = Array.from({ length: 9 }, () => {
      fsm = fail(fsm);
      return ((fsm.deadlines.idleHold ?? 0) - NOW) / SECOND;
    });
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  test('a peer that cannot be reached is tried at least every ConnectRetryTime', () => {
    const { fsm } = step({ ...STATES.Connect, failures: 20 }, { kind: 'TcpConnectionFails' }, NOW, environment());
    expect(fsm).toMatchObject({ idleCause: 'unreachable', deadlines: { idleHold: at(1_005) } });
  });

  test('a session that was up for long begins anew', () => {
    const long: Fsm = { ...STATES.Established, failures: 6, establishedAt: at(900) };
    expect(step(long, { kind: 'NotifMsg' }, NOW, environment()).fsm).toMatchObject({ failures: 1 });
    const short: Fsm = { ...long, establishedAt: at(990) };
    expect(step(short, { kind: 'NotifMsg' }, NOW, environment()).fsm).toMatchObject({ failures: 7 });
  });

  test('no start cuts the pause short but the operator', () => {
    const pausing = running('Idle', ['idleHold']);
    for (const kind of [
      'AutomaticStart_with_DampPeerOscillations',
      'AutomaticStart_with_DampPeerOscillations_and_PassiveTcpEstablishment',
    ] as const) {
      expect(summary(pausing, { kind })).toBe('Idle; ; idleHold; 3');
    }
    expect(summary(pausing, { kind: 'ManualStart' })).toBe('Connect; connect; connectRetry; 0');
  });
});

describe('timers', () => {
  test('are shortened by up to a quarter', () => {
    const shortest = environment({}, 0.999_999);
    const { fsm } = step(STATES.OpenSent, eventOf('BGPOpen'), NOW, shortest);
    expect(((fsm.deadlines.keepalive ?? 0) - NOW) / SECOND).toBeCloseTo(1.5, 3);
    // Never the hold timer.
    expect(fsm.deadlines.hold).toBe(at(1_006));
  });

  test('are due at their deadline, the hold timer before all others', () => {
    const fsm = running('Established', ['keepalive', 'hold', 'sendHold'], negotiated);
    expect(dueEvent(fsm, at(1_999))).toBeUndefined();
    expect(dueEvent(fsm, at(2_000))).toEqual({ kind: 'HoldTimer_Expires' });
    expect(wakeAt(fsm)).toBe(at(2_000));
  });

  test('before the OPEN of the peer a hold time of four minutes holds', () => {
    expect(step(STATES.Connect, { kind: 'Tcp_CR_Acked' }, NOW, environment()).fsm.deadlines.hold).toBe(at(1_240));
  });

  test('the send hold timer begins anew when the peer takes something', () => {
    expect(sendProgressed(STATES.Established, NOW, environment()).deadlines.sendHold).toBe(at(1_480));
    expect(sendProgressed(STATES.OpenSent, NOW, environment())).toBe(STATES.OpenSent);
  });
});
