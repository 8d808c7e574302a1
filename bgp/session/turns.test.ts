import { expect, test } from 'vitest';
import { Turns } from './turns.ts';

/** Begins each next turn when the test says so. */
function manual() {
  const scheduled: (() => void)[] = [];
  const turns = new Turns((_, run) => {
    scheduled.push(run);
    return { [Symbol.dispose]: () => undefined };
  });
  return { turns, next: () => scheduled.shift()?.() };
}

test('all have their share before one has its second', () => {
  const { turns, next } = manual();
  const order: string[] = [];
  const left = new Map([
    ['a', 3],
    ['b', 2],
    ['c', 1],
  ]);
  const writers = [...left.keys()].map((name) => {
    const write = (): void => {
      if (turns.isOver()) {
        turns.wait(write);
        return;
      }
      order.push(name);
      const more = (left.get(name) ?? 0) - 1;
      left.set(name, more);
      turns.spend(65_536);
      if (more > 0) turns.wait(write);
    };
    return write;
  });
  for (const write of writers) write();
  expect(order).toEqual(['a']);
  for (let turn = 0; turn < 5; turn++) next();
  expect(order).toEqual(['a', 'a', 'b', 'c', 'a', 'b']);
});

test('one that writes little does not end the turn of others, and one that is forgotten is not called', () => {
  const { turns, next } = manual();
  const order: string[] = [];
  turns.spend(100);
  expect(turns.isOver()).toBe(false);
  turns.spend(65_436);
  expect(turns.isOver()).toBe(true);
  const [a, b, c] = ['a', 'b', 'c'].map((name) => () => void order.push(name));
  for (const run of [a, b, c, a]) if (run !== undefined) turns.wait(run);
  if (b !== undefined) turns.forget(b);
  next();
  expect(order).toEqual(['a', 'c']);
  expect(turns.isOver()).toBe(false);
});
