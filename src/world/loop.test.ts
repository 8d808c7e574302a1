import { expect, test } from 'vitest';
import { Loop } from './loop.ts';

function loopOfSums() {
  const seen: number[] = [];
  const deferred: (() => void)[] = [];
  const loop = new Loop<number, number>({
    initial: 0,
    reduce: (sum, n) => sum + n,
    onChange: (sum) => seen.push(sum),
    defer: (callback) => deferred.push(callback),
  });
  const run = () => {
    for (const callback of deferred.splice(0)) callback();
  };
  return { loop, seen, run };
}

test('a burst of events is one change', () => {
  const { loop, seen, run } = loopOfSums();
  [1, 2, 3].forEach(loop.dispatch);
  expect(loop.state).toBe(6);
  expect(seen).toEqual([]);
  run();
  expect(seen).toEqual([6]);
});

test('events that leave the state as it was tell nobody', () => {
  const { loop, seen, run } = loopOfSums();
  loop.dispatch(0);
  run();
  [5, -5].forEach(loop.dispatch);
  run();
  expect(seen).toEqual([]);
});

test('an event dispatched while telling is told next', () => {
  const seen: number[] = [];
  const deferred: (() => void)[] = [];
  const loop: Loop<number, number> = new Loop<number, number>({
    initial: 0,
    reduce: (sum, n) => sum + n,
    onChange: (sum) => {
      seen.push(sum);
      if (sum === 1) loop.dispatch(1);
    },
    defer: (callback) => deferred.push(callback),
  });
  loop.dispatch(1);
  while (deferred.length > 0) deferred.shift()?.();
  expect(seen).toEqual([1, 2]);
});
