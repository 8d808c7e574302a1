import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ManualClock, ms } from '../net/clock.ts';
import type { Ip, IpV4, IpV6 } from '../net/ip.ts';
import { MAC_BROADCAST, type Mac } from '../net/mac.ts';
import { Announcer } from './announcer.ts';
import { type ArpFrame, decodeArp } from './arp-frame.ts';

const mac = '02:00:00:00:00:01' as Mac;
const vips = Array.from({ length: 100 }, (_, i) => `203.0.113.${i}` as IpV4);
const vip = vips[10] as IpV4;

function announcer(random = () => 0) {
  const clock = new ManualClock(ms(1000));
  return { clock, announcer: new Announcer(mac, random, clock.now()) };
}

/** Milliseconds at which something is sent within `forMs`, going from one `nextAt` to the next. */
function timesOf({ clock, announcer: machine }: ReturnType<typeof announcer>, forMs: number): number[] {
  const start = clock.now();
  const times: number[] = [];
  for (;;) {
    if (machine.due(clock.now()).length > 0) times.push(Math.round((clock.now() - start) / ms(1)));
    const next = machine.nextAt(clock.now());
    if (next === undefined || next - start > ms(forMs)) return times;
    clock.advance(next - clock.now());
  }
}

test('the schedule: soon and often, then every minute', () => {
  const made = announcer();
  made.announcer.start(vip, made.clock.now());
  expect(timesOf(made, 130_000)).toEqual([0, 50, 200, 1100, 2200, 5000, 65_000, 125_000]);
});

test('the repeat is jittered', () => {
  const made = announcer(() => 1);
  made.announcer.start(vip, made.clock.now());
  expect(timesOf(made, 60_000).at(-1)).toBe(53_000);
});

test('both ARP forms, one of every VIP before the second of any, gateways first by unicast', () => {
  const { clock, announcer: machine } = announcer();
  const gateway = { ip: '203.0.113.254' as Ip, mac: '02:00:00:00:00:fe' as Mac };
  machine.setGateways([gateway]);
  for (const ip of vips.slice(0, 2)) machine.start(ip, clock.now());
  const sent = machine.due(clock.now()).map(({ frame }) => decodeArp(frame) as ArpFrame);
  expect(
    sent.map(
      ({ destination, operation, senderIp }) =>
        `${destination === MAC_BROADCAST ? 'all' : 'gateway'} ${operation} ${senderIp}`,
    ),
  ).toEqual([
    'gateway request 203.0.113.0',
    'gateway reply 203.0.113.0',
    'gateway request 203.0.113.1',
    'gateway reply 203.0.113.1',
    'all request 203.0.113.0',
    'all request 203.0.113.1',
    'all reply 203.0.113.0',
    'all reply 203.0.113.1',
  ]);
});

test('IPv6 has one form', () => {
  const { clock, announcer: machine } = announcer();
  machine.start('2001:db8::1' as IpV6, clock.now());
  expect(machine.due(clock.now())).toHaveLength(1);
});

describe('the budget of broadcasts', () => {
  test('at most 200 a second, and none is forgotten', () => {
    const made = announcer();
    for (const ip of vips) made.announcer.start(ip, made.clock.now());
    const perSecond = new Map<number, number>();
    const start = made.clock.now();
    let total = 0;
    for (let i = 0; i < 1000; i++) {
      const sent = made.announcer.due(made.clock.now()).length;
      const second = Math.floor((made.clock.now() - start) / ms(1000));
      perSecond.set(second, (perSecond.get(second) ?? 0) + sent);
      total += sent;
      made.clock.advance(ms(10));
    }
    for (const count of perSecond.values()) expect(count).toBeLessThanOrEqual(221);
    expect(total).toBe(100 * 6 * 2);
  });
});

test('after stop nothing of the address leaves, not even what was queued', () => {
  fc.assert(
    fc.property(fc.nat(99), fc.nat(2000), (index, at) => {
      const { clock, announcer: machine } = announcer();
      for (const ip of vips) machine.start(ip, clock.now());
      clock.advance(ms(at));
      machine.due(clock.now());
      const stopped = vips[index] as IpV4;
      machine.stop(stopped);
      for (let i = 0; i < 100; i++) {
        expect(machine.due(clock.now()).filter(({ ip }) => ip === stopped)).toEqual([]);
        clock.advance(ms(50));
      }
    }),
    { numRuns: 10 },
  );
});

test('a changed MAC address is announced anew', () => {
  const { clock, announcer: machine } = announcer();
  machine.start(vip, clock.now());
  machine.due(clock.now());
  clock.advance(ms(60_000));
  machine.due(clock.now());
  clock.advance(ms(1000));
  const changed = '02:00:00:00:00:09' as Mac;
  machine.setMac(changed, clock.now());
  expect(machine.due(clock.now()).map(({ frame }) => (decodeArp(frame) as ArpFrame).senderMac)).toEqual([
    changed,
    changed,
  ]);
});
