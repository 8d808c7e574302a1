import { expect, test } from 'vitest';
import { Backoff } from './backoff.ts';

test('back-off doubles to its maximum, less its jitter, and starts again', () => {
  const backoff = new Backoff({ initial: 100, maximum: 500, jitter: 0.5 }, () => 0.5);
  expect([backoff.next(), backoff.next(), backoff.next(), backoff.next()]).toEqual([75, 150, 300, 375]);
  backoff.reset();
  expect(backoff.next()).toBe(75);
  expect(backoff.failures).toBe(1);
});
