import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineSplitter } from './lines.ts';

test('the lines are the same however the stream was cut', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: fc.constantFrom('a', 'é', '\n'), maxLength: 5 })), (chunks) => {
      const splitter = new LineSplitter(1_000);
      const lines = chunks.flatMap((chunk) => splitter.push(chunk));
      const whole = chunks.join('').split('\n').slice(0, -1);
      expect(lines).toEqual(whole.filter((line) => line !== ''));
    }),
  );
});

test('a line without end breaks the stream', () => {
  const splitter = new LineSplitter(10);
  splitter.push('12345');
  expect(() => splitter.push('678901')).toThrow('more than 10 characters');
});
