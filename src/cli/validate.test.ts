import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { validate } from './validate.ts';

const API = 'apiVersion: signpost.dev/v1alpha1';
const pool = (name: string, addresses: string, more = '') =>
  `${API}\nkind: AddressPool\nmetadata: {name: ${name}}\nspec: {addresses: [${addresses}], l2: {}${more}}\n`;
const route = (name: string, address: string, port = 80, more = '') =>
  `${API}\nkind: ServiceRoute\nmetadata: {name: ${name}, namespace: web}\nspec:\n  addresses: [${address}]\n` +
  `  rules: [{name: a, protocol: TCP, port: ${port}, backendRefs: [{name: shop, port: 80}]}]\n${more}`;
const service = (name: string) =>
  `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}, namespace: web}\nspec: {ports: [{port: 80}]}\n`;

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'signpost-validate-'));
});
afterAll(() => rm(root, { recursive: true }));

/** Runs the command on a folder of these files. @returns its exit code and its lines, with paths from the folder on. */
async function run(files: Readonly<Record<string, string>>, format: 'table' | 'json' = 'table', stdin = '') {
  const folder = await mkdtemp(join(root, 'case-'));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  let out = '';
  const output = { out: (text: string) => (out += text), err: () => undefined, colour: false };
  const paths = stdin === '' ? [folder] : ['-'];
  const code = await validate(paths, { format, readStdin: () => Promise.resolve(stdin) }, output);
  return {
    code,
    text: out.replaceAll(`${folder}/`, ''),
    lines: out.replaceAll(`${folder}/`, '').trimEnd().split('\n'),
  };
}

test('valid files are counted', async () => {
  const files = { 'pool.yaml': pool('a', '203.0.113.0/28'), 'deep/route.yaml': route('shop', '203.0.113.1') };
  expect(await run(files)).toMatchObject({ code: 0, text: '2 objects in 2 files: valid\n' });
});

test('every problem is listed, with file, line, document, object, field, value and what would be right', async () => {
  const broken = route('shop', '203.0.113.300')
    .replace('protocol: TCP', 'protocol: tcp')
    .replace('name: shop, port: 80', 'nam: shop');
  const { code, lines } = await run({ 'a.yaml': `${pool('a', '203.0.113.0/28')}---\n${broken}`, 'b.yaml': 'kind: [' });
  expect(code).toBe(1);
  expect(lines).toEqual([
    'a.yaml:10 (document 2): ServiceRoute web/shop: spec.addresses[0]: is not an IP address (got "203.0.113.300"); ' +
      'write an address such as 203.0.113.10 or 2001:db8::10',
    'a.yaml:11 (document 2): ServiceRoute web/shop: spec.rules[0].protocol: is not one of its values (got "tcp"); ' +
      'write TCP, UDP or SCTP',
    'a.yaml:11 (document 2): ServiceRoute web/shop: spec.rules[0].backendRefs[0].name: is missing; ' +
      'write a value of type string',
    'a.yaml:11 (document 2): ServiceRoute web/shop: spec.rules[0].backendRefs[0].nam: is not a field (got "shop"); ' +
      'did you mean name',
    expect.stringMatching(/^b\.yaml:1: is not YAML \(.+\); mend its syntax$/),
    '1 object in 2 files: 5 problems',
  ]);
});

test('JSON holds the same for programs', async () => {
  const { code, text } = await run({ 'a.yaml': pool('a', '203.0.113.0'), 'b.yaml': pool('a', '203.0.113.1') }, 'json');
  expect(code).toBe(1);
  expect(JSON.parse(text)).toEqual({
    files: 2,
    objects: 2,
    problems: [expect.objectContaining({ file: 'b.yaml', line: 1, object: 'AddressPool a', field: 'metadata.name' })],
  });
});

test('standard input is read for -', async () => {
  expect(await run({}, 'table', pool('a', '203.0.113.0/28'))).toMatchObject({ code: 0 });
  const { code, lines } = await run({}, 'table', 'hello');
  expect([code, lines[0]]).toEqual([
    1,
    '-:1: is not an object (got "hello"); write apiVersion, kind, metadata and spec',
  ]);
});

test('a folder may lie in a hidden one or above', async () => {
  const folder = join(root, '.hidden', 'manifests');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'a.yaml'), pool('a', '203.0.113.0/28'));
  let out = '';
  const output = { out: (text: string) => (out += text), err: () => undefined, colour: false };
  const options = { format: 'table', readStdin: () => Promise.resolve('') } as const;
  const paths = [folder, relative(process.cwd(), folder)];
  for (const path of paths) expect(await validate([path], options, output)).toBe(0);
  expect(out).toBe('1 object in 1 file: valid\n'.repeat(2));
});

test('a folder without manifests and a file that does not exist are problems', async () => {
  expect((await run({ 'notes.txt': '' })).lines[0]).toContain('holds no manifest that can be read');
  let out = '';
  const output = { out: (text: string) => (out += text), err: () => undefined, colour: false };
  const options = { format: 'table', readStdin: () => Promise.resolve('') } as const;
  expect(await validate([join(root, 'nowhere.yaml')], options, output)).toBe(1);
  expect(out).toContain('nowhere.yaml: cannot be read (it does not exist)');
});

describe('objects that are right one by one', () => {
  test('pools must not overlap', async () => {
    const { lines } = await run({
      'a.yaml': pool('a', '203.0.113.0/28'),
      'b.yaml': pool('b', '203.0.113.8-203.0.113.20'),
    });
    expect(lines).toEqual([
      'b.yaml:1: AddressPool b: spec.addresses 203.0.113.8-203.0.113.20 overlaps 203.0.113.0-203.0.113.15 of AddressPool a; ' +
        'remove it from one of them',
      '2 objects in 2 files: 1 problem',
    ]);
  });

  test('routes must not want the same port of one VIP, with their pool or without', async () => {
    const routes = {
      'a.yaml': route('a', '203.0.113.1'),
      'b.yaml': route('b', '203.0.113.1'),
      'c.yaml': route('c', '203.0.113.1', 81),
    };
    const told = 'b.yaml:1: ServiceRoute web/b: web/a is older and has 80/TCP; use another port or address';
    expect((await run(routes)).lines).toEqual([told, '3 objects in 3 files: 1 problem']);
    expect((await run({ ...routes, 'pool.yaml': pool('p', '203.0.113.0/28') })).lines[0]).toEqual(told);
  });

  test('addresses are looked for in the pools where there are pools', async () => {
    const files = { 'a.yaml': route('a', '198.51.100.1') };
    expect((await run(files)).code).toBe(0);
    expect((await run({ ...files, 'pool.yaml': pool('p', '203.0.113.0/28') })).lines[0]).toBe(
      'a.yaml:1: ServiceRoute web/a: 198.51.100.1 is in no accepted AddressPool; add it to one or ask for another address',
    );
  });

  test('backends are looked for among the Services where there are Services', async () => {
    const files = { 'a.yaml': route('a', '203.0.113.1') };
    expect((await run({ ...files, 's.yaml': service('shop') })).code).toBe(0);
    expect((await run({ ...files, 's.yaml': service('chop') })).lines[0]).toContain('Service web/shop does not exist');
  });

  test('values that exclude each other are told', async () => {
    const { lines } = await run({
      'a.yaml': route('a', '203.0.113.1', 80, '  forwarding: ClusterIP\n  trafficPolicy: Local\n'),
    });
    expect(lines[0]).toContain('spec.trafficPolicy Local needs it; use Endpoints');
  });
});
