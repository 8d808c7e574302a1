import { Random } from './random.ts';
import { randomSchedule, run, shrink } from './schedule.ts';

/**
 * `npm run hunt -- [--seconds N] [--seed S]`: random schedules until the time is over, or the one of a seed alone.
 * A seed that breaks a property is shrunk and printed with its timeline.
 */
function main(args: readonly string[]): void {
  const option = (name: string) => {
    const i = args.indexOf(name);
    return i < 0 ? undefined : Number(args[i + 1]);
  };
  const only = option('--seed');
  if (only !== undefined) {
    process.exitCode = replay(only) ? 0 : 1;
    return;
  }
  const until = Date.now() + 1000 * (option('--seconds') ?? 60);
  const first = option('--from') ?? Math.floor(Date.now() / 1000) * 1000;
  const limit = option('--failures') ?? 5;
  let seed = first;
  let clusterSeconds = 0;
  let failures = 0;
  const began = Date.now();
  for (; Date.now() < until && failures < limit; seed++) {
    const outcome = run(randomSchedule(new Random(seed), seed));
    clusterSeconds += outcome.clusterSeconds;
    if (outcome.violations.length === 0) continue;
    failures++;
    console.log(
      `seed ${seed}: ${outcome.violations[0]?.what} at ${((outcome.violations[0]?.at ?? 0) / 1e6).toFixed(1)} ms`,
    );
    console.log(`  replay: npm run hunt -- --seed ${seed}`);
  }
  const took = (Date.now() - began) / 1000;
  console.log(
    `${seed - first} schedules, ${Math.round(clusterSeconds)} cluster-seconds in ${took.toFixed(1)} s, ${failures} failed`,
  );
  process.exitCode = failures === 0 ? 0 : 1;
}

function replay(seed: number): boolean {
  const schedule = randomSchedule(new Random(seed), seed);
  if (run(schedule).violations.length === 0) {
    console.log(`seed ${seed} breaks nothing`);
    return true;
  }
  const small = shrink(schedule);
  console.log(JSON.stringify(small, undefined, 1));
  const { timeline, violations } = run(small, true);
  console.log(timeline.join('\n'));
  console.log(violations.map(({ what }) => what).join('\n'));
  return false;
}

main(process.argv.slice(2));
