import { describe, expect, test } from 'vitest';
import { readFileText } from './file.ts';
import { formatManifestProblem } from './problem.ts';

const pool = (name: string, address = '203.0.113.0/28') =>
  `apiVersion: signpost.dev/v1alpha1\nkind: AddressPool\nmetadata: { name: ${name} }\nspec:\n  addresses: [${address}]\n`;

const ids = (text: string) => readFileText('a.yaml', text).objects.map(({ id, line }) => `${line} ${id}`);
const problems = (text: string) => readFileText('a.yaml', text).problems.map(formatManifestProblem);

describe('objects', () => {
  test('are read from every document with the line on which they begin', () => {
    expect(ids(`# pools\n---\n${pool('a')}---\n${pool('b')}`)).toEqual(['3 AddressPool a', '9 AddressPool b']);
  });

  test('are the items of a List', () => {
    const item = (name: string) => `- {apiVersion: v1, kind: Namespace, metadata: {name: ${name}}}\n`;
    expect(ids(`apiVersion: v1\nkind: List\nitems:\n${item('a')}${item('b')}`)).toEqual([
      '4 Namespace a',
      '5 Namespace b',
    ]);
  });

  test('without a namespace are in default', () => {
    const service = 'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n';
    expect(ids(service)).toEqual(['1 Service default/web']);
    expect(readFileText('a.yaml', service).objects[0]?.object.metadata.namespace).toBe('default');
  });

  test('of documents that did not change are the same', () => {
    const before = readFileText('a.yaml', `${pool('a')}---\n${pool('b')}`);
    const after = readFileText('a.yaml', `${pool('a')}---\n${pool('b', '203.0.113.16/28')}`, before.readings);
    expect(after.objects[0]?.object).toBe(before.objects[0]?.object);
    expect(after.objects[1]?.object).not.toBe(before.objects[1]?.object);
  });

  test('beside a wrong one are there all the same', () => {
    expect(ids(`${pool('a')}---\nkind: [\n---\n${pool('b')}`)).toHaveLength(2);
  });
});

describe('problems', () => {
  test('name file, line, document, object, field, value and what would be right', () => {
    expect(problems(`${pool('a')}---\n${pool('b', '203.0.113.1/28')}`)).toEqual([
      'a.yaml:11 (document 2): AddressPool b: spec.addresses[0]: has bits set beyond its prefix length ' +
        '(got "203.0.113.1/28"); write 203.0.113.0/28',
    ]);
  });

  test('propose the nearest field on the line where it stands', () => {
    expect(problems(`${pool('a')}  autoAsign: false\n`)).toEqual([
      'a.yaml:6: AddressPool a: spec.autoAsign: is not a field (got false); did you mean autoAssign',
    ]);
  });

  test('of syntax count lines in the file', () => {
    expect(problems(`${pool('a')}---\na: 1\na: 2\n`)).toEqual([
      'a.yaml:8 (document 2): is not YAML (Map keys must be unique); mend its syntax',
    ]);
  });

  test('tell an object given twice', () => {
    expect(problems(`${pool('a')}---\n${pool('a')}# again\n`)).toEqual([
      'a.yaml:7 (document 2): AddressPool a: metadata.name: is given by line 1 already, which is the one in force; ' +
        'remove one of them',
    ]);
  });

  test('tell an empty file, but not one of comments', () => {
    expect(problems('')).toEqual(['a.yaml: is empty; write its objects, or delete the file to remove them']);
    expect(problems('\n')).toHaveLength(1);
    expect(problems('# none yet\n')).toEqual([]);
  });

  test.each([
    ['text', 'hello', 'is not an object'],
    ['bytes', '\0\u{1}\u{fffd}', ''],
    ['nesting', `a: ${'['.repeat(10_000)}`, 'is not YAML'],
    ['aliases', `a: &a [1]\nb: &b [${'*a,'.repeat(99)}]\nc: [${'*b,'.repeat(99)}]`, 'is not YAML'],
    ['an unknown kind', 'apiVersion: v1\nkind: Servise\n', 'did you mean Service'],
    ['an old version', 'apiVersion: extensions/v1\nkind: Service\n', 'write v1'],
  ])('tell %s', (_what, text, words) => {
    const told = problems(text);
    expect(told.length).toBeGreaterThan(0);
    expect(told[0]).toContain(words);
  });
});
