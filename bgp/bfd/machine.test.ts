import { describe, expect, test } from 'vitest';
import { after, type MonotonicNs, ms } from '../../net/clock.ts';
import { Diagnostic, SESSION_STATES, type SessionState } from './constants.ts';
import { type Action, openSession, type SessionEvent, step, wakeAt } from './machine.ts';
import type { ControlPacket } from './packet.ts';
import type { Parameters, Session } from './types.ts';

const FAST: Parameters = { desiredMinTx: 300_000, requiredMinRx: 300_000, detectMultiplier: 3 };
const T0 = 5_000_000_000 as MonotonicNs;
const at = (milliseconds: number) => after(T0, ms(milliseconds));

const PEER: ControlPacket = {
  diagnostic: Diagnostic.NONE,
  state: 'Down',
  poll: false,
  final: false,
  controlPlaneIndependent: false,
  demand: false,
  detectMultiplier: 3,
  myDiscriminator: 77,
  yourDiscriminator: 0,
  desiredMinTx: 1_000_000,
  requiredMinRx: 300_000,
  requiredMinEchoRx: 0,
};

/** Drives one session; `random` 0.5 unless told. */
class Driver {
  session: Session;
  actions: readonly Action[] = [];

  constructor(parameters = FAST) {
    this.session = openSession(11, parameters, T0);
  }

  on(event: SessionEvent, milliseconds: number, random = 0.5): this {
    const next = step(this.session, event, at(milliseconds), random);
    this.session = next.session;
    this.actions = next.actions;
    return this;
  }

  hear(packet: Partial<ControlPacket>, milliseconds: number): this {
    return this.on({ kind: 'packet', packet: { ...PEER, yourDiscriminator: 11, ...packet } }, milliseconds);
  }

  wake(milliseconds: number, random?: number): this {
    return this.on({ kind: 'wake' }, milliseconds, random);
  }

  get sent(): ControlPacket[] {
    return this.actions.flatMap((action) => (action.kind === 'send' ? [action.packet] : []));
  }

  /** Milliseconds after T0. */
  get wakesAt(): number {
    return ((wakeAt(this.session) ?? Number.NaN) - T0) / ms(1);
  }
}

/** Up since 100 ms; the peer's Final came; both ends at 300 ms x 3. */
function up(parameters = FAST, peer: Partial<ControlPacket> = {}): Driver {
  return new Driver(parameters)
    .wake(0)
    .hear({ state: 'Init', ...peer }, 100)
    .hear({ state: 'Up', desiredMinTx: 300_000, final: true, ...peer }, 101);
}

describe('state machine', () => {
  const NEXT: Readonly<Record<'Down' | 'Init' | 'Up', readonly SessionState[]>> = {
    // By what is heard: AdminDown, Down, Init, Up (RFC 5880 section 6.2).
    Down: ['Down', 'Init', 'Up', 'Down'],
    Init: ['Down', 'Init', 'Up', 'Up'],
    Up: ['Down', 'Down', 'Up', 'Up'],
  };
  const IN = {
    Down: () => new Driver().wake(0),
    Init: () => new Driver().wake(0).hear({ state: 'Down' }, 50),
    Up: () => up(),
  };
  for (const state of ['Down', 'Init', 'Up'] as const) {
    test.each(SESSION_STATES.map((heard, i) => [heard, NEXT[state][i]] as const))(
      `in ${state} hears %s: %s`,
      (heard, next) => {
        const driver = IN[state]();
        expect(driver.session.state).toBe(state);
        driver.hear({ state: heard }, 200);
        expect(driver.session.state).toBe(next);
        const transition = { kind: 'transition', from: state, to: next };
        expect(driver.actions.filter(({ kind }) => kind === 'transition')).toEqual(state === next ? [] : [transition]);
      },
    );
  }

  test('a peer that leaves Up is the reason why we leave it', () => {
    const down = up().hear({ state: 'Down' }, 200);
    expect(down.session.diagnostic).toBe(Diagnostic.NEIGHBOR_SIGNALED_DOWN);
    expect(down.sent).toMatchObject([{ state: 'Down', diagnostic: Diagnostic.NEIGHBOR_SIGNALED_DOWN }]);
  });

  test('Up clears the diagnostic', () => {
    const driver = up().hear({ state: 'Down' }, 200).hear({ state: 'Init' }, 250);
    expect(driver.session).toMatchObject({ state: 'Up', diagnostic: Diagnostic.NONE });
  });
});

describe('timers', () => {
  test('one packet a second before Up, whatever is configured', () => {
    const driver = new Driver().wake(0);
    expect(driver.sent).toMatchObject([{ state: 'Down', desiredMinTx: 1_000_000, requiredMinRx: 300_000 }]);
    expect(driver.wakesAt).toBe(875);
    expect(driver.wake(874).sent).toEqual([]);
    expect(driver.wake(875).sent).toHaveLength(1);
  });

  test('slower than a second where that is configured', () => {
    const slow = { ...FAST, desiredMinTx: 2_000_000 };
    expect(new Driver(slow).wake(0).wakesAt).toBe(1750);
  });

  test('a change of state does not wait for the timer', () => {
    const driver = new Driver().wake(0).hear({ state: 'Down' }, 10);
    expect(driver.sent).toMatchObject([{ state: 'Init', yourDiscriminator: 77 }]);
  });

  test.each([
    [3, 0, 225],
    [3, 0.999_999, 300],
    [1, 0, 225],
    [1, 0.999_999, 270],
  ])('jitter with multiplier %i and random %f: %i ms of 300', (detectMultiplier, random, expected) => {
    const driver = up({ ...FAST, detectMultiplier }).wake(500, random);
    expect(driver.sent).toHaveLength(1);
    expect(driver.wakesAt - 500).toBeCloseTo(expected, 0);
  });

  test('the slower of what we want and what the peer bears', () => {
    const driver = up(FAST, { requiredMinRx: 500_000 }).wake(600, 0);
    expect(driver.wakesAt).toBe(600 + 375);
  });

  test('a peer that bears more gets it at once', () => {
    const driver = up(FAST, { requiredMinRx: 10_000_000 });
    driver.hear({ state: 'Up', desiredMinTx: 300_000, requiredMinRx: 300_000 }, 900);
    expect(driver.sent).toHaveLength(1);
  });

  test("detection time is the peer's multiplier of the slower of its interval and ours", () => {
    const driver = up();
    expect(driver.session.detectAt).toBe(at(101 + 900));
    driver.hear({ state: 'Up', desiredMinTx: 400_000, detectMultiplier: 5 }, 300);
    expect(driver.session.detectAt).toBe(at(300 + 2000));
    driver.hear({ state: 'Up', desiredMinTx: 50_000, detectMultiplier: 5 }, 400);
    expect(driver.session.detectAt).toBe(at(400 + 1500));
  });

  test("silence for the detection time is Down, and the peer's discriminator is forgotten", () => {
    const driver = up().wake(1000);
    expect(driver.session.state).toBe('Up');
    driver.wake(1001);
    expect(driver.session).toMatchObject({ state: 'Down', diagnostic: Diagnostic.DETECTION_TIME_EXPIRED });
    expect(driver.sent).toMatchObject([
      { state: 'Down', diagnostic: Diagnostic.DETECTION_TIME_EXPIRED, yourDiscriminator: 0, desiredMinTx: 1_000_000 },
    ]);
  });
});

describe('Poll Sequences', () => {
  test('Up starts one that ends with the Final', () => {
    const driver = new Driver().wake(0).hear({ state: 'Init' }, 100);
    expect(driver.sent).toMatchObject([{ state: 'Up', poll: true, final: false, desiredMinTx: 300_000 }]);
    expect(driver.wake(400).sent).toMatchObject([{ poll: true }]);
    driver.hear({ state: 'Up', final: true }, 401);
    expect(driver.wake(800).sent).toMatchObject([{ poll: false }]);
  });

  test('a Poll is answered at once, with F and without P, and leaves the timer alone', () => {
    const driver = new Driver().wake(0).hear({ state: 'Init' }, 100);
    const due = driver.session.transmitAt;
    driver.hear({ state: 'Up', poll: true }, 150);
    expect(driver.sent).toMatchObject([{ final: true, poll: false }]);
    expect(driver.session.transmitAt).toBe(due);
  });

  test('a Poll is answered in every state but AdminDown', () => {
    expect(new Driver().wake(0).hear({ poll: true }, 10).sent).toMatchObject([{ state: 'Init', final: true }]);
    const disabled = up().on({ kind: 'disable' }, 200).hear({ poll: true }, 210);
    expect(disabled.actions).toEqual([{ kind: 'discard', reason: 'administratively-down' }]);
  });

  test('a longer transmit interval waits for the Final', () => {
    const driver = up().on({ kind: 'configure', parameters: { ...FAST, desiredMinTx: 1_000_000 } }, 200);
    expect(driver.sent).toMatchObject([{ poll: true, desiredMinTx: 1_000_000 }]);
    expect(driver.wakesAt).toBe(200 + 262.5);
    driver.hear({ state: 'Up', desiredMinTx: 300_000, final: true }, 210);
    expect(driver.session.transmitAt).toBe(at(200 + 875));
  });

  test('a shorter transmit interval does not', () => {
    const driver = up().on({ kind: 'configure', parameters: { ...FAST, desiredMinTx: 300_000 } }, 200);
    expect(driver.sent).toEqual([]);
    driver.on({ kind: 'configure', parameters: { ...FAST, desiredMinTx: 100_000 } }, 300);
    expect(driver.sent).toMatchObject([{ poll: true, desiredMinTx: 100_000 }]);
  });

  test('a shorter receive interval counts for detection after the Final', () => {
    const driver = up(FAST, { desiredMinTx: 100_000 });
    driver.on({ kind: 'configure', parameters: { ...FAST, requiredMinRx: 100_000 } }, 200);
    driver.hear({ state: 'Up', desiredMinTx: 100_000 }, 250);
    expect(driver.session.detectAt).toBe(at(250 + 900));
    driver.hear({ state: 'Up', desiredMinTx: 100_000, final: true }, 300);
    expect(driver.session.detectAt).toBe(at(300 + 300));
  });

  test('a change while one runs needs one of its own', () => {
    const driver = up().on({ kind: 'configure', parameters: { ...FAST, desiredMinTx: 400_000 } }, 200);
    driver.on({ kind: 'configure', parameters: { ...FAST, desiredMinTx: 500_000 } }, 210);
    driver.hear({ state: 'Up', final: true }, 220);
    expect(driver.session).toMatchObject({ poll: 'polling', applied: { desiredMinTx: 300_000 } });
    driver.hear({ state: 'Up', final: true }, 600);
    expect(driver.session).toMatchObject({ poll: 'idle', applied: { desiredMinTx: 500_000 } });
  });

  test('a new multiplier needs none', () => {
    const driver = up().on({ kind: 'configure', parameters: { ...FAST, detectMultiplier: 5 } }, 200);
    expect(driver.sent).toMatchObject([{ poll: false, detectMultiplier: 5 }]);
  });
});

describe('a peer in Demand mode', () => {
  test('gets no periodic packets once both ends are Up, and its Polls answered', () => {
    const driver = up(FAST, { demand: true });
    expect(driver.session.transmitAt).toBeUndefined();
    expect(driver.hear({ state: 'Up', demand: true, poll: true }, 300).sent).toMatchObject([{ final: true }]);
  });

  test('gets them again when it ends Demand mode, when we poll, and when the session falls', () => {
    expect(up(FAST, { demand: true }).hear({ state: 'Up' }, 300).session.transmitAt).toBeDefined();
    const polling = up(FAST, { demand: true }).on(
      { kind: 'configure', parameters: { ...FAST, requiredMinRx: 500_000 } },
      300,
    );
    expect(polling.sent).toMatchObject([{ poll: true, requiredMinRx: 500_000 }]);
    expect(polling.session.transmitAt).toBeDefined();
    const fallen = up(FAST, { demand: true }).hear({ state: 'Down', demand: true }, 300);
    expect(fallen.sent).toMatchObject([{ state: 'Down' }]);
  });

  test('we never ask for it', () => {
    expect(up().wake(400).sent).toMatchObject([
      { demand: false, controlPlaneIndependent: false, requiredMinEchoRx: 0 },
    ]);
  });
});

test('a peer that wants no periodic packets gets none, until it does', () => {
  const driver = up(FAST, { requiredMinRx: 0 });
  expect(driver.session.transmitAt).toBeUndefined();
  driver.hear({ state: 'Up', requiredMinRx: 300_000 }, 500);
  expect(driver.session.transmitAt).toBeDefined();
});

test('AdminDown is told at once, heeds nothing, and ends in Down', () => {
  const driver = up().on({ kind: 'disable' }, 200);
  expect(driver.sent).toMatchObject([{ state: 'AdminDown', diagnostic: Diagnostic.ADMINISTRATIVELY_DOWN }]);
  expect(driver.session.detectAt).toBeUndefined();
  driver.hear({ state: 'Down' }, 300);
  expect(driver.session.state).toBe('AdminDown');
  driver.on({ kind: 'enable' }, 400);
  expect(driver.sent).toMatchObject([{ state: 'Down', diagnostic: Diagnostic.NONE }]);
});

test('a packet with authentication changes nothing', () => {
  const driver = up();
  const before = driver.session;
  driver.hear({ state: 'Down', authenticationType: 2 }, 200);
  expect(driver.session).toBe(before);
  expect(driver.actions).toEqual([{ kind: 'discard', reason: 'authentication' }]);
});
