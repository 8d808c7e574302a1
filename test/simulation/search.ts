import { Random } from './random.ts';
import { randomSchedule, run } from './schedule.ts';

/** Seeds whose schedule breaks a property, of those that fill `clusterSeconds` from `seed` on in steps of `stride`. */
export function search(seed: number, stride: number, clusterSeconds: number): string[] {
  const broken: string[] = [];
  for (let spent = 0; spent < clusterSeconds && broken.length < 5; seed += stride) {
    const outcome = run(randomSchedule(new Random(seed), seed));
    spent += outcome.clusterSeconds;
    const [first] = outcome.violations;
    if (first !== undefined) broken.push(`npm run hunt -- --seed ${seed}: ${first.what}`);
  }
  return broken;
}
