import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readConfig, variableOf } from '../src/config.ts';
import { createMetrics } from '../src/observability/metrics.ts';

const read = (file: string) => readFileSync(`daemonset/${file}`, 'utf8');

test.each(['monitoring/prometheus-rule.yaml', 'monitoring/dashboard.json'])('%s names metrics that there are', (file) => {
  const { registry } = createMetrics();
  const known = new Set(registry.getMetricsAsArray().map(({ name }) => name));
  const named = new Set(read(file).match(/\bsignpost_[a-z_]+\b/g));
  const unknown = [...named].filter((name) => !known.has(name) && !known.has(name.replace(/_(bucket|sum|count)$/, '')));
  expect(named.size).toBeGreaterThan(5);
  expect(unknown).toEqual([]);
});

test('the chart gives the rights that the manifests give', () => {
  const namespace = 'namespace: signpost\n';
  expect(read('chart/templates/rbac.yaml').replaceAll('namespace: {{ .Release.Namespace }}\n', namespace)).toBe(
    read('base/rbac.yaml'),
  );
});

test('what is set in the environment is a setting, with the default that the chart takes for granted', () => {
  const metrics = '[192.0.2.11]:7946';
  const others = { SIGNPOST_MANIFESTS: '/', SIGNPOST_DAEMONSET: 'signpost' };
  const config = readConfig({}, { SIGNPOST_NODE: 'n1', SIGNPOST_METRICS: metrics, ...others }).ok;
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  const settings = new Map(Object.entries(config ?? {}).map(([key, value]) => [variableOf(key), text(value)]));
  expect(config?.metrics).toEqual({ host: '192.0.2.11', port: 7946 });
  const variables = read('base/daemonset.yaml').match(/SIGNPOST_\w+/g) ?? [];
  expect(variables.filter((name) => !settings.has(name))).toEqual([]);
  const defaults = [...read('chart/templates/_settings.tpl').matchAll(/"([A-Z_]+)" "([^"]*)"/g)];
  expect(defaults.length).toBeGreaterThan(5);
  expect(defaults.map(([, name, value]) => [name, value === '' ? '[]' : value])).toEqual(
    defaults.map(([, name]) => [name, settings.get(`SIGNPOST_${name}`)]),
  );
});
