import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Minutes that each project takes at most on two cores of its own. One that takes twice as long fails. */
const BUDGETS = { unit: 1, simulation: 3, lab: 4, interop: 4, cluster: 3 } as const;
type Project = keyof typeof BUDGETS;

interface Summary {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numFailedTestSuites: number;
}

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in BUDGETS));
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(' ')}; the projects are ${Object.keys(BUDGETS).join(', ')}`);
  process.exit(2);
}
const projects = (asked.length > 0 ? asked : Object.keys(BUDGETS)) as Project[];

const folder = await mkdtemp(join(tmpdir(), 'signpost-test-'));
const total = { passed: 0, failed: 0, skipped: 0 };
try {
  // One after another: timed tests must not compete with each other for the processor.
  for (const project of projects) {
    const started = Date.now();
    const report = join(folder, `${project}.json`);
    const code = await run('npx', [
      'vitest',
      'run',
      '--project',
      project,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      '--passWithNoTests',
    ]);
    const seconds = Math.round((Date.now() - started) / 1000);
    const summary = await readSummary(report);
    total.passed += summary.numPassedTests;
    total.failed += summary.numFailedTests;
    total.skipped += summary.numPendingTests;
    // A file that does not load, or a leaked error, fails the run without a failed test.
    if (code !== 0 && summary.numFailedTests === 0) total.failed++;
    const overBudget = seconds > BUDGETS[project] * 60 * 2;
    if (overBudget) total.failed++;
    console.log(`${project}: ${seconds} s of ${BUDGETS[project] * 60} s${overBudget ? ': TWICE ITS BUDGET' : ''}\n`);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(total.failed > 0 ? 1 : 0);

function run(command: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit' });
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

async function readSummary(file: string): Promise<Summary> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Summary;
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numFailedTestSuites: 1 };
  }
}
