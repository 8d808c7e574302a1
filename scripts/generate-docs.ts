/** Writes the reference pages of docs, and the public faces of the libraries; `--check` fails where they are not fresh. */
import { apiReference } from './api-reference.ts';
import { apiReport } from './api-report.ts';
import { conditionsReference } from './conditions-reference.ts';
import { writeGenerated } from './generated.ts';
import { metricsReference } from './metrics-reference.ts';

const pages = new Map([
  ['arp/API.md', apiReport('arp', ['arp/index.ts'])],
  ['bgp/API.md', apiReport('bgp', ['bgp/index.ts', 'bgp/codec/index.ts'])],
  ['docs/api.md', apiReference()],
  ['docs/conditions.md', conditionsReference()],
  ['docs/metrics.md', await metricsReference()],
]);

process.exitCode = writeGenerated(pages, process.argv);
