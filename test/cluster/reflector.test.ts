import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createClient } from '../../src/kubernetes/client.ts';
import type { ApiFailure } from '../../src/kubernetes/failure.ts';
import { type RawObject } from '../../src/kubernetes/reflector/inventory.ts';
import { Reflector } from '../../src/kubernetes/reflector/reflector.ts';
import { ControlPlane } from '../harness/cluster/control-plane.ts';
import { FaultProxy } from '../harness/cluster/fault-proxy.ts';
import { describeOnCluster } from '../harness/cluster/programs.ts';
import { eventually } from '../harness/eventually.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const SOON = { every: 20 };

await describeOnCluster('the reflector', (programs) => {
  let plane: ControlPlane;
  let proxy: FaultProxy;

  beforeAll(async () => {
    plane = await ControlPlane.start(programs, { controllers: false });
    proxy = await FaultProxy.start(plane);
  });

  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  afterEach(async () => {
    proxy.inject();
    await plane.send('DELETE', CONFIG_MAPS);
  });

  test('tells of what is there, what changes and what goes', async () => {
    await using view = follow(proxy);
    await put('a', '1');
    await view.shows({ a: '1' });
    await put('a', '2');
    await put('b', '1');
    await view.shows({ a: '2', b: '1' });
    await remove('a');
    await view.shows({ b: '1' });
    expect(view.failures).toEqual([]);
  });

  test('reads a long list in pages and tells everything once', async () => {
    const count = 1_100;
    await Promise.all(Array.from({ length: 20 }, (_, i) => putMany(i, count / 20)));
    await using view = follow(proxy);
    await eventually(
      'everything',
      () => view.objects.size,
      (size) => size === count,
      SOON,
    );
    await eventually('synced', () => view.synced, Boolean, SOON);
    expect(view.told).toBe(count);
    const lists = proxy.requests.filter(({ url }) => url.includes('limit=100'));
    expect(lists.length).toBeGreaterThanOrEqual(11);
  });

  test('misses nothing while every connection is reset each 100 ms', async () => {
    await using view = follow(proxy);
    await eventually('synced', () => view.synced, Boolean, SOON);
    const cutting = setInterval(() => proxy.cut(), 100);
    for (let i = 0; i < 30; i++) {
      await put(`k${i % 5}`, String(i));
      await sleep(100);
    }
    clearInterval(cutting);
    await view.shows({ k0: '25', k1: '26', k2: '27', k3: '28', k4: '29' });
    // Neither a hot loop nor a list for each cut.
    expect(view.lists()).toBe(1);
  });

  test('lists anew when its version is too old, and keeps what it knows meanwhile', async () => {
    await put('a', '1');
    await put('b', '1');
    await using view = follow(proxy);
    await view.shows({ a: '1', b: '1' });
    proxy.inject({ status: 410, only: ({ url }) => url.includes('watch=true') });
    proxy.cut();
    await remove('a');
    await eventually(
      'a second list',
      () => view.lists(),
      (lists) => lists >= 2,
      SOON,
    );
    proxy.inject();
    await view.shows({ b: '1' });
    expect(view.emptied).toBe(false);
  });

  test.each([429, 500, 503])('gets through a storm of %i', async (status) => {
    await using view = follow(proxy);
    await eventually('synced', () => view.synced, Boolean, SOON);
    proxy.inject({ status, share: 0.9, ...(status === 429 ? { retryAfter: 1 } : {}) });
    const before = proxy.requests.length;
    const cutting = setInterval(() => proxy.cut(), 250);
    await put('a', '1');
    await sleep(3_000);
    clearInterval(cutting);
    expect(proxy.requests.length - before).toBeLessThan(40);
    proxy.inject();
    await view.shows({ a: '1' });
    await eventually(
      'heard again',
      () => view.failing,
      (failing) => failing === undefined,
      SOON,
    );
  });

  test('bears slow answers', async () => {
    proxy.inject({ delay: 1_000 });
    await using view = follow(proxy);
    await put('a', '1');
    await view.shows({ a: '1' });
    expect(view.failures).toEqual([]);
  });

  test('keeps what it knows while the API server is gone, and catches up within 5 s', async () => {
    await put('a', '1');
    await using view = follow(proxy);
    await view.shows({ a: '1' });
    await plane.stop('kube-apiserver', 'SIGKILL');
    await eventually(
      'a failure',
      () => view.failing?.kind,
      (kind) => kind === 'unreachable',
      SOON,
    );
    expect(view.objects.size).toBe(1);
    await plane.startApiServer();
    await put('b', '1');
    await view.shows({ a: '1', b: '1' });
    expect(view.emptied).toBe(false);
    expect(view.lists()).toBe(1);
  });

  test('takes a server at its word that was set back to an earlier state', async () => {
    await put('a', '1');
    await using view = follow(proxy);
    await view.shows({ a: '1' });
    await plane.stop('kube-apiserver', 'SIGKILL');
    const restore = await plane.saveEtcd();
    await plane.startApiServer();
    await put('a', '2');
    await put('b', '1');
    await view.shows({ a: '2', b: '1' });
    await plane.stop('kube-apiserver', 'SIGKILL');
    await restore();
    await plane.startApiServer();
    await view.shows({ a: '1' });
    await put('c', '1');
    await view.shows({ a: '1', c: '1' });
  });

  test('says why when it may not read, and goes on when it may', async () => {
    await plane.apply(
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'reader', namespace: 'default' } },
      rbac('Role', { rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }] }),
      BINDING,
    );
    const { stdout: token } = await plane.kubectl(['create', 'token', 'reader']);
    await put('a', '1');
    await using view = follow(proxy, token.trim());
    await view.shows({ a: '1' });
    await plane.kubectl(['delete', 'rolebinding', 'reader']);
    proxy.cut();
    await eventually(
      'a refusal',
      () => view.failing,
      (failure) => failure?.kind === 'refused',
      SOON,
    );
    expect(view.failing).toMatchObject({ status: 403, reason: 'Forbidden' });
    expect(view.objects.size).toBe(1);
    await put('b', '1');
    await plane.apply(BINDING);
    await view.shows({ a: '1', b: '1' });
  });

  test('follows a kind that is taken away and given back', async () => {
    const path = '/apis/example.org/v1/widgets';
    await plane.apply(CRD);
    await plane.kubectl(['wait', '--for=condition=Established', 'crd/widgets.example.org']);
    const widget = { apiVersion: 'example.org/v1', kind: 'Widget', metadata: { name: 'a' }, data: { v: '1' } };
    await eventually('a widget', () => plane.send('POST', path, widget), Boolean, SOON);
    await using view = follow(proxy, undefined, path);
    await view.shows({ a: '1' });
    await plane.kubectl(['delete', 'crd', 'widgets.example.org']);
    await view.shows({});
    await eventually(
      'absence',
      () => view.failing,
      (failure) => failure?.kind === 'refused',
      SOON,
    );
    await plane.apply(CRD);
    await plane.kubectl(['wait', '--for=condition=Established', 'crd/widgets.example.org']);
    await eventually('a widget', () => plane.send('POST', path, widget), Boolean, SOON);
    await view.shows({ a: '1' });
  });

  test('does not take an optional kind that is absent for one that cannot be read, once the server answers again', async () => {
    proxy.inject({ status: 503 });
    await using view = follow(proxy, undefined, '/apis/example.org/v1/gadgets', true);
    await eventually(
      'the failure',
      () => view.failing,
      (failure) => failure?.kind === 'refused',
      SOON,
    );
    proxy.inject();
    await eventually(
      'it is over',
      () => view.failing,
      (failure) => failure === undefined,
      SOON,
    );
  });

  async function put(name: string, value: string): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { v: value } };
    const query = '?fieldManager=test&force=true';
    await plane.send('PATCH', `${CONFIG_MAPS}/${name}${query}`, body, 'application/apply-patch+yaml');
  }

  async function putMany(series: number, count: number): Promise<void> {
    for (let i = 0; i < count; i++) await put(`s${series}-${i}`, '1');
  }

  async function remove(name: string): Promise<void> {
    await plane.send('DELETE', `${CONFIG_MAPS}/${name}`);
  }
});

const BINDING = rbac('RoleBinding', {
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
  subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace: 'default' }],
});

const CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.org' },
  spec: {
    group: 'example.org',
    scope: 'Cluster',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { data: { type: 'object', additionalProperties: { type: 'string' } } },
          },
        },
      },
    ],
  },
};

function rbac(kind: string, rest: object) {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind,
    metadata: { name: 'reader', namespace: 'default' },
    ...rest,
  };
}

type WithData = RawObject & { readonly data?: Readonly<Record<string, string>> };

/** What a reflector told, and what it asked of the server. */
class View implements AsyncDisposable {
  readonly objects = new Map<string, string | undefined>();
  readonly failures: ApiFailure[] = [];
  failing: ApiFailure | undefined;
  synced = false;
  told = 0;
  /** Whether everything was taken back at once. */
  emptied = false;
  readonly #ending = new AbortController();
  readonly #running: Promise<void>;
  readonly #proxy: FaultProxy;
  readonly #from: number;

  constructor(proxy: FaultProxy, token: string | undefined, path: string, optional: boolean) {
    this.#proxy = proxy;
    this.#from = proxy.requests.length;
    const reflector = new Reflector(
      createClient(proxy.access(token), 'test'),
      { optional, paths: [path], fieldSelector: 'metadata.name!=kube-root-ca.crt' },
      {
        onChanges: (changes) => {
          this.told += changes.length;
          for (const { key, object } of changes) {
            const name = key.replace('default/', '');
            if (object === undefined) this.objects.delete(name);
            else this.objects.set(name, (object as WithData).data?.['v']);
          }
          this.emptied ||= this.objects.size === 0;
        },
        onSynced: () => {
          this.synced = true;
        },
        onFailure: (failure) => {
          this.failing = failure;
          if (failure !== undefined) this.failures.push(failure);
        },
      },
    );
    this.#running = reflector.run(this.#ending.signal);
  }

  async shows(expected: Readonly<Record<string, string>>): Promise<void> {
    const look = () => Object.fromEntries([...this.objects].sort());
    await eventually('the objects of the server', look, (state) => sameRecord(state, expected), SOON);
  }

  /** How often the first page of the whole list was asked for. */
  lists(): number {
    return this.#proxy.requests
      .slice(this.#from)
      .filter(({ method, url }) => method === 'GET' && url.includes('limit=100') && !url.includes('continue=')).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }
}

function follow(proxy: FaultProxy, token?: string, path = CONFIG_MAPS, optional = false): View {
  return new View(proxy, token, path, optional);
}

function sameRecord(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
