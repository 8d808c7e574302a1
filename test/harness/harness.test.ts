import { describe, expect, test } from 'vitest';
import { claimFirst, claimPorts } from './claim.ts';
import { eventually } from './eventually.ts';

describe('claims', () => {
  test('a name is handed out once, and again after its release', async () => {
    const names = ['harness-a', 'harness-b'];
    const first = await claimFirst(names);
    const second = await claimFirst(names);
    expect([first.name, second.name]).toEqual(names);
    await expect(claimFirst(names)).rejects.toThrow('every name is taken');
    first.release();
    await expect(eventually('the name is free', () => claimFirst(['harness-a']))).resolves.toMatchObject({
      name: 'harness-a',
    });
    second.release();
  });

  test('blocks of ports do not overlap', async () => {
    const blocks = await Promise.all([claimPorts(), claimPorts()]);
    expect(Math.abs(blocks[0].first - blocks[1].first)).toBeGreaterThanOrEqual(10);
    for (const block of blocks) block.release();
  });
});

test('a condition that never holds fails with the last state', async () => {
  const look = () => ({ leader: 'n2' });
  await expect(eventually('n1 leads', look, (s) => s.leader === 'n1', { within: 30, every: 5 })).rejects.toThrow(
    /n1 leads\nlast state: .*n2/,
  );
});
