import { GROUP, VERSION } from '../src/api/fields.ts';
import { KINDS } from '../src/api/kinds.ts';
import { CRDS, type CrdDefinition, celRules, type JsonSchema, structuralSchema } from './crd.ts';

/** Text of docs/api.md. */
export function apiReference(): string {
  const intro = [
    '# API reference',
    '',
    '<!-- Generated from src/api by `npm run generate`. -->',
    '',
    `Group \`${GROUP}\`, version \`${VERSION}\`. The same text is in \`kubectl explain\`. Rules are checked by the API server, by`,
    '`signpost validate` and by the daemon in the same words; conditions and their reasons are in [conditions.md](conditions.md).',
    '',
  ];
  return [...intro, ...CRDS.flatMap(kindReference)].join('\n');
}

function kindReference(crd: CrdDefinition): string[] {
  const schema = structuralSchema(crd.kind);
  const { spec, status } = schema['properties'] as Record<string, JsonSchema>;
  const scope = KINDS[crd.kind].namespaced ? 'Namespaced' : 'Cluster-scoped';
  const short = crd.shortNames.map((name) => `, short \`${name}\``).join('');
  return [
    `## ${crd.kind}`,
    '',
    `${String(schema['description'])} ${scope}; \`kubectl get ${crd.plural}\`${short}.`,
    '',
    ...fieldTable(spec, 'spec'),
    ...ruleList(spec, 'spec'),
    ...fieldTable(status, 'status'),
  ];
}

function fieldTable(schema: JsonSchema | undefined, at: string): string[] {
  if (schema === undefined) return [];
  const rows = fieldsOf(schema, at).map(
    ({ path, field, required }) =>
      `| \`${path}\` | ${typeOf(field)}${required ? ', required' : ''} | ${defaultOf(field)} | ${cell(field['description'])} |`,
  );
  return [
    `### ${at}`,
    '',
    String(schema['description']),
    '',
    '| field | type | default | meaning |',
    '|---|---|---|---|',
    ...rows,
    '',
  ];
}

interface Field {
  readonly path: string;
  readonly field: JsonSchema;
  readonly required: boolean;
}

function fieldsOf(schema: JsonSchema, at: string): Field[] {
  const required = (schema['required'] ?? []) as readonly string[];
  return Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>).flatMap(([name, field]) => {
    const path = `${at}.${name}`;
    const item = field['items'] as JsonSchema | undefined;
    const children = item === undefined ? fieldsOf(field, path) : fieldsOf(item, `${path}[]`);
    return [{ path, field, required: required.includes(name) }, ...children];
  });
}

function typeOf(field: JsonSchema): string {
  const values = field['enum'] as readonly string[] | undefined;
  if (values !== undefined) return values.map((value) => (value === '' ? '`""`' : `\`${value}\``)).join(' \\| ');
  switch (field['type']) {
    case 'array':
      return `list of ${typeOf(field['items'] as JsonSchema)}${bounds(field['minItems'], field['maxItems'])}`;
    case 'object':
      return field['additionalProperties'] === undefined ? 'object' : 'map of strings';
    case 'integer':
      return `integer${bounds(field['minimum'], field['maximum'])}`;
    default:
      return String(field['type']);
  }
}

/** Bounds of zod's own for whole numbers say nothing. */
function bounds(least: unknown, most: unknown): string {
  const says = (bound: unknown) => bound !== undefined && Math.abs(Number(bound)) < Number.MAX_SAFE_INTEGER;
  if (says(least) && says(most)) return ` (${String(least)} to ${String(most)})`;
  if (says(most)) return ` (at most ${String(most)})`;
  return says(least) ? ` (at least ${String(least)})` : '';
}

function defaultOf(field: JsonSchema): string {
  return field['default'] === undefined ? '' : `\`${JSON.stringify(field['default'])}\``;
}

function cell(text: unknown): string {
  return typeof text === 'string' ? text.replaceAll('|', '\\|') : '';
}

function ruleList(schema: JsonSchema | undefined, at: string): string[] {
  const rules = schema === undefined ? [] : celRules(schema, at);
  if (rules.length === 0) return [];
  return ['Refused, and what to do:', '', ...rules.map(({ path, message }) => `- \`${path}\`: ${message}`), ''];
}
