import { expect, test } from 'vitest';
import { ManualClock, ms } from '../net/clock.ts';
import type { Ip, IpV4, IpV6 } from '../net/ip.ts';
import type { Mac } from '../net/mac.ts';
import { type ProbeOutcome, Prober } from './prober.ts';

const mac = '02:00:00:00:00:01' as Mac;
const stranger = '02:00:00:00:00:99' as Mac;
const vip = '203.0.113.10' as IpV4;
const control = '203.0.113.77' as IpV4;

function run(heard: (prober: Prober, at: number) => void, ip: Ip = vip) {
  const clock = new ManualClock();
  const prober = new Prober(mac);
  prober.start(ip, control, 2, ms(20), clock.now());
  let frames = 0;
  const outcomes: { at: number; outcome: ProbeOutcome }[] = [];
  for (let at = 0; at <= 100; at += 5) {
    const tick = prober.tick(clock.now());
    frames += tick.frames.length;
    outcomes.push(...tick.outcomes.map(({ outcome }) => ({ at, outcome })));
    heard(prober, at);
    clock.advance(ms(5));
  }
  expect(prober.nextAt()).toBeUndefined();
  return { frames, outcomes };
}

test('two probes and the control beside, silence after 40 ms', () => {
  expect(run(() => undefined)).toEqual({ frames: 4, outcomes: [{ at: 40, outcome: { type: 'silence' } }] });
});

test('an answer is told with its MAC address', () => {
  const { outcomes } = run((prober, at) => at === 10 && prober.heard(vip, stranger));
  expect(outcomes.map(({ outcome }) => outcome)).toEqual([{ type: 'answered', mac: stranger }]);
});

test('who answers for the unused address too is a proxy', () => {
  const { outcomes } = run((prober, at) => {
    if (at === 10) for (const ip of [vip, control]) prober.heard(ip, stranger);
  });
  expect(outcomes.map(({ outcome }) => outcome)).toEqual([{ type: 'proxy', mac: stranger }]);
});

test('answers for other addresses count for nothing', () => {
  const { outcomes } = run((prober) => prober.heard('203.0.113.11' as IpV4, stranger));
  expect(outcomes.map(({ outcome }) => outcome)).toEqual([{ type: 'silence' }]);
});

test('IPv6 is probed as duplicate address detection does', () => {
  const prober = new Prober(mac);
  const clock = new ManualClock();
  prober.start('2001:db8::10' as IpV6, undefined, 1, ms(20), clock.now());
  const [frame] = prober.tick(clock.now()).frames;
  expect(frame?.subarray(22, 38)).toEqual(new Uint8Array(16));
});
