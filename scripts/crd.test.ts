import { describe, expect, test } from 'vitest';
import { formatProblem } from '../net/result.ts';
import { checkObject } from '../src/api/validate.ts';
import { BEYOND_CEL, objectOf, RULE_CASES, SCHEMA_CASES } from '../test/cluster/crd-cases.ts';
import { CRDS, celRules, customResourceDefinition, type JsonSchema, structuralSchema } from './crd.ts';

/** Every schema in a schema, with its path. */
function schemasOf(schema: JsonSchema, path: string): [string, JsonSchema][] {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>);
  const items = schema['items'] as JsonSchema | undefined;
  return [
    [path, schema],
    ...properties.flatMap(([name, child]) => schemasOf(child, path === '' ? name : `${path}.${name}`)),
    ...(items === undefined ? [] : schemasOf(items, `${path}[]`)),
  ];
}

const pathsWhere = (kind: (typeof CRDS)[number]['kind'], wrong: (schema: JsonSchema) => boolean) =>
  schemasOf(structuralSchema(kind), '')
    .filter(([path, schema]) => /^(spec|status)/.test(path) && wrong(schema))
    .map(([path]) => path);

describe.each(CRDS)('the schema of $kind', ({ kind }) => {
  test('explains every field', () => {
    const mute = pathsWhere(kind, (schema) => schema['description'] === undefined);
    expect(mute.filter((path) => !path.endsWith('[]'))).toEqual([]);
  });

  test('bounds every list, so that the cost of rules is bounded', () => {
    expect(pathsWhere(kind, (schema) => schema['type'] === 'array' && schema['maxItems'] === undefined)).toEqual([]);
  });

  test('is structural: a type everywhere, no unions, no extra properties beside named ones', () => {
    const wrong = (schema: JsonSchema) =>
      schema['type'] === undefined ||
      ['anyOf', 'oneOf', 'allOf', 'not', 'propertyNames', '$ref'].some((word) => word in schema) ||
      ('properties' in schema && 'additionalProperties' in schema);
    expect(pathsWhere(kind, wrong)).toEqual([]);
  });

  test('says in every rule what is wrong and what to do', () => {
    for (const { message } of celRules(structuralSchema(kind), '')) expect(message).toMatch(/^\S.*[^.]; \S.*[^.]$/);
  });
});

test('status is a subresource of every kind', () => {
  for (const crd of CRDS) {
    const { versions } = customResourceDefinition(crd)['spec'] as { versions: { subresources: unknown }[] };
    expect(versions.map(({ subresources }) => subresources)).toEqual([{ status: {} }]);
  }
});

/** Without the values that were got: those are ours alone. */
const verdict = (object: unknown) =>
  (checkObject(object).problem ?? []).map((each) => formatProblem({ ...each, value: undefined })).join('\n');

describe.each(RULE_CASES)('$kind $at: $words', ({ kind, accept, reject, words }) => {
  test.each(accept)('takes %j', (change) => expect(verdict(objectOf(kind, change))).toBe(''));
  test.each(reject)('refuses %j', (change) => expect(verdict(objectOf(kind, change))).toContain(words));
});

test.each(SCHEMA_CASES)('$kind refuses $reject', ({ kind, reject }) => {
  expect(verdict(objectOf(kind, reject))).not.toBe('');
});

test.each(BEYOND_CEL)('$kind refuses $change, which CEL cannot', ({ kind, change, words }) => {
  expect(verdict(objectOf(kind, change))).toContain(words);
});
