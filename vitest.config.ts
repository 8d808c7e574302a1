import { defineConfig } from 'vitest/config';

const rooted = (name: string, include: string[]) => ({
  test: { name, include, pool: 'forks' as const, maxWorkers: 2, testTimeout: 60_000, hookTimeout: 120_000 },
});

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{net,sys,arp,bgp,src,daemonset,scripts}/**/*.test.ts', 'test/{harness,fuzz}/**/*.test.ts'],
          testTimeout: 30_000,
          setupFiles: ['test/seed.ts'],
        },
      },
      { test: { name: 'simulation', include: ['test/simulation/**/*.test.ts'], testTimeout: 180_000 } },
      rooted('lab', ['test/{lab,chaos}/**/*.test.ts']),
      rooted('interop', ['test/interop/**/*.test.ts']),
      rooted('cluster', ['test/cluster/**/*.test.ts']),
    ],
  },
});
