import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { failedFiles, failuresOf, type Report, replaceFiles, totalsOf } from './test-report.ts';

interface Project {
  /** Minutes that it takes at most on two cores of its own. One that takes twice as long fails. */
  readonly minutes: number;
  /** Depends on the kernel, on routers and on how busy the machine is: what fails is run once more, by itself. */
  readonly real: boolean;
}

const PROJECTS: Readonly<Record<string, Project>> = {
  unit: { minutes: 1, real: false },
  simulation: { minutes: 3, real: false },
  lab: { minutes: 5, real: true },
  interop: { minutes: 4, real: true },
  cluster: { minutes: 4, real: true },
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in PROJECTS));
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(' ')}; the projects are ${Object.keys(PROJECTS).join(', ')}`);
  process.exit(2);
}

const folder = await mkdtemp(join(tmpdir(), 'signpost-test-'));
const total = { passed: 0, failed: 0, skipped: 0 };
const unsteady: string[] = [];
try {
  // One after another: timed tests must not compete with each other for the processor.
  for (const [name, { minutes, real }] of Object.entries(PROJECTS)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    const started = Date.now();
    let { report, code } = await runTests(name);
    const files = failedFiles(report);
    if (real && files.length > 0) {
      console.log(`${name}: once more, by themselves: ${files.join(' ')}\n`);
      const again = await runTests(name, ['--maxWorkers=1', ...files]);
      unsteady.push(...failuresOf(report));
      report = replaceFiles(report, again.report);
      code = again.code;
    }
    const { passed, failed, skipped } = totalsOf(report);
    const seconds = Math.round((Date.now() - started) / 1000);
    const overBudget = seconds > minutes * 60 * 2;
    total.passed += passed;
    total.skipped += skipped;
    // A leaked error, or a run without a report, fails without a failed test.
    total.failed += (failed === 0 && code !== 0 ? 1 : failed) + (overBudget ? 1 : 0);
    console.log(`${name}: ${seconds} s of ${minutes * 60} s${overBudget ? ': TWICE ITS BUDGET' : ''}\n`);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
for (const failure of unsteady) console.log(`failed at first: ${failure}`);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(total.failed > 0 ? 1 : 0);

async function runTests(project: string, args: readonly string[] = []): Promise<{ report: Report; code: number }> {
  const file = join(folder, `${project}.json`);
  await rm(file, { force: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const code = await run('npx', ['vitest', 'run', '--project', project, ...reporters, '--passWithNoTests', ...args]);
  const text = await readFile(file, 'utf8').catch(() => '{"testResults":[]}');
  return { report: JSON.parse(text) as Report, code };
}

function run(command: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit' });
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
