import { readdir, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatProblem } from '../../net/result.ts';
import { CRDS, celRules, structuralSchema } from '../../scripts/crd.ts';
import { KINDS } from '../../src/api/kinds.ts';
import { checkObject } from '../../src/api/validate.ts';
import { ControlPlane } from '../harness/cluster/control-plane.ts';
import { describeOnCluster } from '../harness/cluster/programs.ts';
import { eventually } from '../harness/eventually.ts';
import { BEYOND_CEL, objectOf, RULE_CASES, type RuleCase, SCHEMA_CASES, VALID } from './crd-cases.ts';

const GROUP = '/apis/signpost.dev/v1alpha1';

function pathOf(kind: RuleCase['kind'], name = ''): string {
  const plural = CRDS.find((crd) => crd.kind === kind)?.plural ?? '';
  return `${GROUP}/${KINDS[kind].namespaced ? 'namespaces/default/' : ''}${plural}${name === '' ? '' : `/${name}`}`;
}

/** What we say of an object: nothing where it is valid. */
function ourVerdict(object: unknown): string {
  return (checkObject(object).problem ?? []).map(formatProblem).join('\n');
}

await describeOnCluster('the CRDs', (programs) => {
  let plane: ControlPlane;

  beforeAll(async () => {
    plane = await ControlPlane.start(programs, { controllers: false });
    for (const { plural } of CRDS) await plane.apply(await readFile(`daemonset/crds/${plural}.yaml`, 'utf8'));
    for (const { kind } of CRDS) {
      await eventually(`${kind} is served`, () => plane.send('GET', pathOf(kind)), Boolean, { within: 20_000 });
    }
  });
  afterAll(() => plane[Symbol.asyncDispose]());

  /** What the server says of an object: nothing where it would take it. */
  async function theirVerdict(object: Record<string, unknown>): Promise<string> {
    const path = `${pathOf(object['kind'] as RuleCase['kind'])}?dryRun=All&fieldValidation=Strict`;
    return plane.send('POST', path, object).then(
      () => '',
      (error: unknown) => (error as Error).message,
    );
  }

  test('are established without a complaint of the server', async () => {
    for (const { plural } of CRDS) {
      const crd = (await plane.send(
        'GET',
        `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.signpost.dev`,
      )) as {
        status: { conditions: { type: string; status: string; message: string }[] };
      };
      const conditions = new Map(
        crd.status.conditions.map(({ type, status, message }) => [type, `${status} ${message}`]),
      );
      expect(conditions.get('Established')).toMatch(/^True/);
      expect(conditions.get('NamesAccepted')).toMatch(/^True/);
      // Set where the schema is not structural.
      expect(conditions.has('NonStructuralSchema')).toBe(false);
    }
  });

  test('have a case for every rule that they say in CEL', () => {
    const rules = CRDS.flatMap(({ kind }) =>
      celRules(structuralSchema(kind), '').map(({ path, message }) => `${kind} ${path}: ${message}`),
    );
    const transitions = rules.filter((rule) => rule.includes('cannot be changed'));
    expect(transitions).toHaveLength(1);
    const covered = RULE_CASES.map(({ kind, at, words }) => `${kind} ${at}: ${words}`);
    const missing = rules.filter(
      (rule) => !transitions.includes(rule) && !covered.some((each) => rule.startsWith(each)),
    );
    expect(missing).toEqual([]);
  });

  describe.each(RULE_CASES)('$kind $at: $words', ({ kind, accept, reject, words }) => {
    test.each(accept)('accepts %j, as we do', async (change) => {
      const object = objectOf(kind, change);
      expect([await theirVerdict(object), ourVerdict(object)]).toEqual(['', '']);
    });

    test.each(reject)('refuses %j in our words', async (change) => {
      const object = objectOf(kind, change);
      expect(await theirVerdict(object)).toContain(words);
      expect(ourVerdict(object).replaceAll(/ \(got .*?\)(?=; )/g, '')).toContain(words);
    });
  });

  test.each(SCHEMA_CASES)('$kind refuses $reject, as we do', async ({ kind, reject }) => {
    const object = objectOf(kind, reject);
    expect(await theirVerdict(object)).not.toBe('');
    expect(ourVerdict(object)).not.toBe('');
  });

  test.each(BEYOND_CEL)(
    '$kind takes $change, of which only we know that it $words',
    async ({ kind, change, words }) => {
      const object = objectOf(kind, change);
      expect(await theirVerdict(object)).toBe('');
      expect(ourVerdict(object).replaceAll(/ \(got .*?\)(?=; )/g, '')).toContain(words);
    },
  );

  test('controllerName cannot be changed', async () => {
    const path = pathOf('ServiceRoute', 'case');
    await plane.send('POST', pathOf('ServiceRoute'), VALID.ServiceRoute);
    const patch = { spec: { controllerName: 'example.com/other' } };
    const change = plane.send('PATCH', path, patch, 'application/merge-patch+json');
    await expect(change).rejects.toThrow('controllerName cannot be changed; delete the object and create it anew');
    await plane.send('DELETE', path);
  });

  test.each(Object.values(VALID))('$kind gets the same defaults from the server as from us', async (object) => {
    const made = (await plane.send('POST', `${pathOf(object.kind)}?dryRun=All`, object)) as { spec: unknown };
    expect(made.spec).toEqual((checkObject(object).ok as { spec: unknown }).spec);
  });

  test('status is written apart from spec', async () => {
    await plane.send('POST', pathOf('AddressPool'), VALID.AddressPool);
    const patch = { spec: { autoAssign: false }, status: { total: 64, used: 1 } };
    const path = pathOf('AddressPool', 'case');
    await plane.send('PATCH', `${path}/status`, patch, 'application/merge-patch+json');
    const { stdout } = await plane.kubectl(['get', 'pool', 'case']);
    expect(stdout.split('\n').map((line) => line.split(/\s{2,}/).slice(0, 4))).toEqual([
      ['NAME', 'TOTAL', 'USED', 'AUTO'],
      ['case', '64', '1', 'true'],
      [''],
    ]);
  });

  test.each(CRDS)('$kind has its columns, the wide ones after those of every day', async ({ kind, columns }) => {
    await plane.send('POST', pathOf(kind), { ...VALID[kind], metadata: { ...VALID[kind].metadata, name: 'columns' } });
    const table = async (...options: string[]) => {
      const { stdout } = await plane.kubectl(['get', kind.toLowerCase(), 'columns', ...options]);
      return (stdout.split('\n')[0] ?? '').trim().split(/\s{2,}/);
    };
    const names = (wide: boolean) =>
      columns.filter((column) => column.wide === wide || !column.wide).map(({ name }) => name.toUpperCase());
    expect(await table()).toEqual(['NAME', ...names(false)]);
    expect(await table('-o', 'wide')).toEqual(['NAME', ...names(true)]);
  });

  test('every field explains itself', async () => {
    const { stdout } = await plane.kubectl(['explain', 'sr.spec.rules.backendRefs']);
    expect(stdout).toContain('Share of new connections');
    const { stdout: all } = await plane.kubectl(['get', 'signpost', '-A', '-o', 'name']);
    expect(all).toContain('addresspool.signpost.dev/columns');
  });

  test('take every sample as it stands', async () => {
    for (const file of await readdir('daemonset/samples')) {
      await plane.kubectl(['apply', '--server-side', '--validate=strict', '-f', `daemonset/samples/${file}`]);
    }
  });

  test('take every YAML of the documentation as it stands', async () => {
    const pages = (await readdir('docs')).filter((file) => file.endsWith('.md')).map((file) => `docs/${file}`);
    const texts = await Promise.all([...pages, 'README.md'].map((page) => readFile(page, 'utf8')));
    const examples = texts.flatMap((text) => [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, yaml]) => yaml));
    expect(examples.length).toBeGreaterThan(3);
    for (const input of examples) {
      const apply = ['apply', '--server-side', '--validate=strict', '-f', '-'];
      await plane.kubectl(apply, { input: input ?? '' });
    }
  });

  test('server-side apply merges rules by name', async () => {
    const route = (name: string, port: number) => ({
      ...VALID.ServiceRoute,
      metadata: { name: 'merged', namespace: 'default' },
      spec: { rules: [{ name, protocol: 'TCP', port, backendRefs: [{ name: 'web', port: 80 }] }] },
    });
    const apply = (manager: string, object: object) =>
      plane.send(
        'PATCH',
        `${pathOf('ServiceRoute', 'merged')}?fieldManager=${manager}`,
        object,
        'application/apply-patch+yaml',
      );
    await apply('first', route('a', 80));
    const merged = (await apply('second', route('b', 81))) as { spec: { rules: { name: string }[] } };
    expect(merged.spec.rules.map(({ name }) => name).sort()).toEqual(['a', 'b']);
  });
});
