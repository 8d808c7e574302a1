import { expect, test } from 'vitest';
import { parseDuration } from './duration.ts';

test.each([
  ['300ms', 300],
  ['9s', 9000],
  ['1.5m', 90_000],
  ['2h', 7_200_000],
  ['0s', 0],
])('%s is %d ms', (text, milliseconds) => expect(parseDuration(text).ok).toBe(milliseconds));

test.each(['', '9', 's', '-1s', '1 s', '1m30s', '1e3s', '9S', '1.s'])('%j is not a duration', (text) => {
  expect(parseDuration(text, 'spec.holdTime').problem).toMatchObject({ field: 'spec.holdTime', value: text });
});
