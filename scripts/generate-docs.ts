/** Writes the reference pages of docs from src/api; `--check` fails where they are not fresh. */
import { apiReference } from './api-reference.ts';
import { conditionsReference } from './conditions-reference.ts';
import { writeGenerated } from './generated.ts';
import { metricsReference } from './metrics-reference.ts';

const pages = new Map([
  ['docs/api.md', apiReference()],
  ['docs/conditions.md', conditionsReference()],
  ['docs/metrics.md', await metricsReference()],
]);

process.exitCode = writeGenerated(pages, process.argv);
