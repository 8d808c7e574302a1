import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../net/result.ts';
import { kubeconfigAccess, podAccess } from '../../src/kubernetes/access.ts';
import { type ApiClient, createClient } from '../../src/kubernetes/client.ts';
import type { ApiFailure } from '../../src/kubernetes/failure.ts';
import { ControlPlane } from '../harness/cluster/control-plane.ts';
import { describeOnCluster } from '../harness/cluster/programs.ts';

await describeOnCluster('access to the API server', (programs) => {
  let plane: ControlPlane;
  let folder: string;
  let client: ApiClient;

  beforeAll(async () => {
    plane = await ControlPlane.start(programs, { controllers: false });
    folder = await mkdtemp(join(tmpdir(), 'signpost-service-account-'));
    await Promise.all([
      copyFile(plane.certificateAuthority, join(folder, 'ca.crt')),
      writeFile(join(folder, 'token'), `${plane.token}\n`),
      writeFile(join(folder, 'namespace'), 'signpost'),
    ]);
    const { hostname: host, port } = new URL(plane.server);
    client = createClient(must(await podAccess({ host, port }, folder)), 'test');
  });

  afterAll(async () => {
    await rm(folder, { recursive: true });
    await plane[Symbol.asyncDispose]();
  });

  async function failure(): Promise<ApiFailure | undefined> {
    return (await client.json({ path: '/api/v1/namespaces/default' })).problem;
  }

  test('of a pod: by its service account, whose token is read anew for each request', async () => {
    expect(client.namespace).toBe('signpost');
    expect(await failure()).toBeUndefined();
    await writeFile(join(folder, 'token'), 'expired');
    expect(await failure()).toMatchObject({ kind: 'refused', status: 401, reason: 'Unauthorized' });
    await writeFile(join(folder, 'token'), plane.token);
    expect(await failure()).toBeUndefined();
  });

  test('of a pod: a certificate authority that is replaced is trusted, and the old one no longer', async () => {
    await plane.stop('kube-apiserver');
    await plane.renewCertificate();
    await plane.startApiServer();
    expect(await failure()).toMatchObject({ kind: 'unreachable' });
    await copyFile(plane.certificateAuthority, join(folder, 'ca.crt'));
    expect(await failure()).toBeUndefined();
  });

  test('by a kubeconfig', async () => {
    const access = must(await kubeconfigAccess([plane.kubeconfig]));
    const answer = await createClient(access, 'test').json<{ metadata: { name: string } }>({
      path: '/api/v1/namespaces/default',
    });
    expect(answer).toMatchObject({ ok: { metadata: { name: 'default' } } });
  });

  test('that cannot be is told in words', async () => {
    expect((await podAccess({ host: undefined, port: undefined })).problem?.fix).toContain('--kubeconfig');
    expect((await podAccess({ host: '127.0.0.1', port: '1' }, '/nowhere')).problem?.message).toContain('/nowhere');
    expect((await kubeconfigAccess(['/nowhere'])).problem?.message).toContain('cannot be read');
    const { kind, message } = await closed();
    expect(kind).toBe('unreachable');
    expect(message).toContain('ECONNREFUSED');
  });

  async function closed(): Promise<ApiFailure> {
    const access = must(await podAccess({ host: '127.0.0.1', port: '1' }, folder));
    const { problem } = await createClient(access, 'test').json({ path: '/readyz' });
    if (problem === undefined) throw new Error('port 1 answers');
    return problem;
  }
});
