import { describe, expect, test } from 'vitest';
import { ForeignChanges } from './foreign-changes.ts';

function kernel() {
  const state = { generation: 7 as number | undefined };
  const changes = new ForeignChanges(() => state.generation);
  const own = (commits: number, failed = false) =>
    changes.during(() => {
      if (state.generation !== undefined) state.generation += commits;
      return Promise.resolve(failed ? { problem: 'refused' } : {});
    });
  return { state, changes, own };
}

describe('foreign changes', () => {
  test('none are seen after own transactions', async () => {
    const { changes, own } = kernel();
    changes.forget();
    await own(1);
    await own(0, true);
    await own(1);
    expect(changes.seen).toBe(false);
  });

  test('are seen before, between and amid own transactions, until forgotten', async () => {
    const { state, changes, own } = kernel();
    expect(changes.seen).toBe(true);
    changes.forget();
    state.generation = 9;
    expect(changes.seen).toBe(true);
    await own(1);
    expect(changes.seen).toBe(true);
    changes.forget();
    expect(changes.seen).toBe(false);
    await own(2);
    expect(changes.seen).toBe(true);
    changes.forget();
    await own(1, true);
    expect(changes.seen).toBe(true);
  });

  test('cannot be excluded where the kernel does not tell', async () => {
    const { state, changes, own } = kernel();
    state.generation = undefined;
    changes.forget();
    await own(1);
    expect(changes.seen).toBe(true);
  });
});
