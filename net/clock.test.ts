import { expect, test } from 'vitest';
import { ManualClock, monotonicClock, ms } from './clock.ts';

test('clocks', () => {
  const manual = new ManualClock(5);
  manual.advance(ms(2));
  expect(manual.now()).toBe(2_000_005);
  const first = monotonicClock.now();
  expect(monotonicClock.now()).toBeGreaterThanOrEqual(first);
});
