import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ControlPlane } from '../harness/cluster/control-plane.ts';
import { describeOnCluster } from '../harness/cluster/programs.ts';
import { run } from '../harness/command.ts';

const HELM = process.env['HELM'] ?? 'helm';
const hasHelm = await run([HELM, 'version']).then(
  () => true,
  () => false,
);

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
}

await describeOnCluster('an installation', (programs) => {
  let plane: ControlPlane;

  beforeAll(async () => {
    plane = await ControlPlane.start(programs);
  });

  afterAll(async () => {
    await plane[Symbol.asyncDispose]();
  });

  test('by kustomize is taken by the API server, with every opt-in, and removed without a trace', async () => {
    const { stdout } = await plane.kubectl(['apply', '-k', 'daemonset', '--warnings-as-errors']);
    expect(stdout.trim().split('\n')).toHaveLength(11);
    await plane.kubectl(['wait', '--for=condition=Established', 'crd', '--all']);
    const clusterIP = ['apply', '-k', 'daemonset/clusterip-forwarding', '--dry-run=server', '-o', 'yaml'];
    expect((await plane.kubectl(clusterIP)).stdout).toContain('mountPropagation: Bidirectional');
    await plane.kubectl(['delete', '-k', 'daemonset', '--wait']);
    const kinds = 'crd,clusterrole,clusterrolebinding,namespace';
    const left = await plane.kubectl(['get', kinds, '-l', 'app.kubernetes.io/name=signpost', '-o', 'name']);
    expect(left.stdout).toBe('');
  });

  test.runIf(hasHelm)('by Helm is the same, but for the namespace', async () => {
    await run([HELM, 'lint', '--strict', 'daemonset/chart']);
    const chart = await run([
      HELM,
      'template',
      'signpost',
      'daemonset/chart',
      '-n',
      'signpost',
      '--kube-version',
      '1.36.0',
    ]);
    const kustomized = objectsOf((await plane.kubectl(['kustomize', 'daemonset'])).stdout);
    kustomized.delete('Namespace signpost');
    expect(objectsOf(chart.stdout)).toEqual(kustomized);
    const refused = await run([HELM, 'template', 'signpost', 'daemonset/chart', '--set', 'nonsense=1'], {
      mayFail: true,
    });
    expect(refused.stderr).toContain("'nonsense' not allowed");
  });
});

/** Without what Helm alone needs: that CRDs stay when the release goes. */
function objectsOf(yaml: string): Map<string, Manifest> {
  const objects = parseAllDocuments(yaml)
    .map((document) => document.toJS() as Manifest | null)
    .filter((object) => object !== null);
  return new Map(
    objects.map((object) => {
      const { annotations, ...metadata } = object.metadata;
      const kept = Object.entries(annotations ?? {}).filter(([name]) => name !== 'helm.sh/resource-policy');
      const rest = kept.length > 0 ? { annotations: Object.fromEntries(kept) } : {};
      return [`${object.kind} ${metadata.name}`, { ...object, metadata: { ...metadata, ...rest } }];
    }),
  );
}
