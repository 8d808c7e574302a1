import { parseArgs } from 'node:util';
import { fuzzBgp } from './bgp.ts';
import { readCorpus, writeCorpus } from './corpus.ts';
import type { FuzzTarget } from './target.ts';

const TARGETS: Readonly<Record<string, FuzzTarget>> = { bgp: fuzzBgp };
const USAGE = `usage: npm run fuzz -- ${Object.keys(TARGETS).join('|')} [--runs N] [--seed N] [--save]`;

function main(args: readonly string[]): number {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      runs: { type: 'string', default: '1000000' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      save: { type: 'boolean', default: false },
    },
  });
  const [name = ''] = positionals;
  const target = TARGETS[name];
  const [runs, seed] = [Number(values.runs), Number(values.seed)];
  if (target === undefined || !Number.isSafeInteger(runs) || !Number.isSafeInteger(seed)) {
    console.error(USAGE);
    return 2;
  }

  console.log(`${name}: ${runs} runs, seed ${seed}`);
  const started = performance.now();
  const rate = (done: number) => `${Math.round(done / (performance.now() - started))} k/s`;
  const progress = (done: number, kinds: number) => {
    if (done % 1_000_000 === 0) console.log(`${done} runs, ${kinds} kinds of outcome, ${rate(done)}`);
  };
  const report = target({ seed, runs, corpus: readCorpus(name), progress });
  if (values.save) writeCorpus(name, report.corpus);
  if (report.failure === undefined) {
    console.log(`${report.runs} runs at ${rate(report.runs)}, ${report.corpus.length} kinds of outcome, no failure`);
    return 0;
  }
  const { run, input, context, error } = report.failure;
  console.error(`run ${run} failed: ${String(error)}\n${Buffer.from(input).toString('hex')}\n${context}`);
  return 1;
}

process.exitCode = main(process.argv.slice(2));
