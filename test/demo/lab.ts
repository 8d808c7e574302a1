import { parseArgs } from 'node:util';
import { Report } from './report.ts';

/** The stories that `npm run lab -- NAME` can tell. */
const STORIES: Readonly<Record<string, () => Promise<{ tell(report: Report, keep: boolean): Promise<void> }>>> = {
  main: () => import('./main-job.ts'),
  failover: () => import('./failover-job.ts'),
  kubernetes: () => import('./kubernetes-job.ts'),
  bgp: () => import('./bgp-job.ts'),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { keep: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
});
const [name = 'main'] = positionals;
const load = STORIES[name];
if (load === undefined) {
  process.stderr.write(`no story ${name}; there are ${Object.keys(STORIES).join(', ')}\n`);
  process.exit(2);
}
if (process.getuid?.() !== 0) {
  process.stderr.write('the lab makes network namespaces: run it as root\n');
  process.exit(2);
}
const report = new Report(values.json);
const story = await load();
await story.tell(report, values.keep);
process.exit(report.failed > 0 ? 1 : 0);
