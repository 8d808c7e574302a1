import { createMetrics } from '../src/observability/metrics.ts';

/** docs/metrics.md: every metric that is declared. */
export async function metricsReference(): Promise<string> {
  const declared = await createMetrics().registry.getMetricsAsJSON();
  const own = declared.filter(({ name }) => name.startsWith('signpost_')).sort((a, b) => (a.name < b.name ? -1 : 1));
  const rows = own.map(({ name, help, type }) => `| \`${name}\` | ${String(type)} | ${help} |`);
  return [
    '# Metrics',
    '',
    'Served at `/metrics` of `--metrics ADDRESS:PORT`, beside the default metrics of Node.js. Generated from `src/observability/metrics.ts`.',
    '',
    '| metric | type | meaning |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
