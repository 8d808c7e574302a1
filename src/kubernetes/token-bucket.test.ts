import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type MonotonicNs, ms } from '../../net/clock.ts';
import { TokenBucket } from './token-bucket.ts';

const at = (milliseconds: number) => ms(milliseconds) as MonotonicNs;

test('gives a burst, then its rate', () => {
  const bucket = new TokenBucket({ perSecond: 10, burst: 2 }, at(0));
  expect([bucket.take(at(0)), bucket.take(at(0)), bucket.take(at(0))]).toEqual([0, 0, 100]);
  expect(bucket.take(at(50))).toBe(50);
  expect(bucket.take(at(100))).toBe(0);
});

test('who waits as long as it says gets a token, and nobody gets more than the rate allows', () => {
  const rate = fc.record({ perSecond: fc.integer({ min: 1, max: 500 }), burst: fc.integer({ min: 1, max: 50 }) });
  fc.assert(
    fc.property(rate, fc.array(fc.nat(500)), (limits, pauses) => {
      const bucket = new TokenBucket(limits, at(0));
      let [now, taken] = [0, 0];
      for (const pause of pauses) {
        now += pause;
        const wait = bucket.take(at(now));
        if (wait > 0) {
          now += wait;
          expect(bucket.take(at(now))).toBe(0);
        }
        taken++;
        expect(taken).toBeLessThanOrEqual(limits.burst + (now / 1000) * limits.perSecond + 1e-6);
      }
    }),
  );
});
