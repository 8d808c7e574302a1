import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { monotonicClock } from '../../net/clock.ts';
import { must } from '../../net/result.ts';
import { Table } from '../../net/table.ts';
import { EventRecorder } from '../../src/act/events/recorder.ts';
import type { WantedStatus } from '../../src/act/status/wanted.ts';
import { StatusWriter } from '../../src/act/status/writer.ts';
import { askWhyLeaving } from '../../src/daemon/leaving.ts';
import { type ApiClient, createClient } from '../../src/kubernetes/client.ts';
import { deleteObject } from '../../src/kubernetes/delete.ts';
import { Elector } from '../../src/kubernetes/elector.ts';
import { type ApiFailure, describeFailure } from '../../src/kubernetes/failure.ts';
import { RESOURCES } from '../../src/kubernetes/resources.ts';
import { secretEntry, sharedKeys } from '../../src/kubernetes/secrets.ts';
import { ClusterWatch } from '../../src/observe/kubernetes/cluster.ts';
import { ControlPlane } from '../harness/cluster/control-plane.ts';
import { FaultProxy } from '../harness/cluster/fault-proxy.ts';
import { describeOnCluster } from '../harness/cluster/programs.ts';
import { eventually } from '../harness/eventually.ts';

const DAEMONSET = new URL('../../daemonset/', import.meta.url).pathname;
const SOON = { within: 10_000, every: 20 };

await describeOnCluster('the ServiceAccount of the speakers', (programs) => {
  let plane: ControlPlane;
  let proxy: FaultProxy;
  let client: ApiClient;
  const failures: ApiFailure[] = [];

  beforeAll(async () => {
    plane = await ControlPlane.start(programs, { controllers: false });
    proxy = await FaultProxy.start(plane);
    await plane.kubectl(['apply', '-k', DAEMONSET]);
    await plane.kubectl(['apply', '-k', `${DAEMONSET}crds`]);
    await plane.kubectl(['wait', '--for=condition=Established', 'crd', '--all']);
    await plane.apply(REFERENCE_GRANTS, POOL, PEER, ROUTE);
    const { stdout: token } = await plane.kubectl(['-n', 'signpost', 'create', 'token', 'signpost']);
    client = createClient({ ...proxy.access(token.trim()), namespace: 'signpost' }, 'test');
  });

  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  test('may do all that a speaker does, and nothing that none ever does', async () => {
    const ending = new AbortController();
    const writer = new StatusWriter({
      client,
      manager: 'signpost',
      clock: monotonicClock,
      today: () => new Date(),
      authority: () => 60_000,
      onFailure: (_id, failure) => failures.push(failure),
    });
    let [synced, leading, written] = [false, false, 0];
    let problems: readonly string[] = [];
    const watch = new ClusterWatch(client, {
      onChange: ({ statuses }) => writer.observe(statuses),
      onState(state) {
        ({ synced, problems } = state);
      },
    });
    const elector = new Elector({
      client,
      namespace: client.namespace,
      name: 'signpost-coordinator',
      identity: 'n1',
      clock: monotonicClock,
      today: () => new Date(),
      random: Math.random,
      prepare: () => watch.refresh('ServiceRoute'),
      onLeading(now) {
        leading = now;
      },
      onFailure: (failure) => failures.push(failure),
    });
    const running = Promise.all([watch.run(ending.signal), elector.run(ending.signal)]);
    await eventually(
      'everything is read',
      () => [synced, problems],
      () => synced,
      SOON,
    );
    await eventually('leadership', () => leading, Boolean, SOON);

    writer.apply(STATUSES);
    const patched = () => new Set(proxy.requests.filter(isStatusPatch).map(({ url }) => url));
    await eventually('every status', patched, ({ size }) => size === STATUSES.size, SOON);
    // Somebody else's write in between: the writer looks at the object again.
    for (const path of ['namespaces/default/serviceroutes/web', 'addresspools/public', 'bgppeers/tor']) {
      written = proxy.requests.length;
      await conflict(path, () => writer.apply(another(STATUSES, path)));
      const looked = () =>
        proxy.requests.slice(written).some(({ method, url }) => method === 'GET' && url.endsWith(path));
      await eventually(`a look at ${path}`, looked, Boolean, SOON);
    }

    const recorder = new EventRecorder({
      client,
      controller: 'signpost.dev/speaker',
      instance: 'n1',
      clock: monotonicClock,
      today: () => new Date(),
      onFailure: (failure) => failures.push(failure),
    });
    const regarding = { apiVersion: 'signpost.dev/v1alpha1', kind: 'ServiceRoute', namespace: 'default', name: 'web' };
    const event = { type: 'Normal', reason: 'Programmed', note: 'Programmed is True' } as const;
    await recorder.record({ ...regarding, uid: 'u' }, event);
    await recorder.record({ ...regarding, uid: 'u' }, event);
    const { stdout } = await plane.kubectl(['get', 'events', '-o', 'name']);
    expect(stdout.trim().split('\n')).toHaveLength(1);

    const keys = must(await sharedKeys(client, 'signpost-keys'));
    expect(must(await sharedKeys(client, 'signpost-keys'))).toEqual(keys);
    expect(must(await secretEntry(client, 'signpost-keys', 'key-1'))).toEqual(keys[0]);

    await eventually('a renewal', () => proxy.requests.some(({ method }) => method === 'PUT'), Boolean, SOON);
    ending.abort();
    await running;
    writer[Symbol.dispose]();
    const windows = { name: 'n1', labels: { 'kubernetes.io/os': 'windows' } };
    const why = await askWhyLeaving(client, 'signpost', windows, AbortSignal.timeout(5_000));
    expect(why).toBe('DaemonSet signpost no longer selects this node');
    expect(await deleteObject(client, { resource: RESOURCES.Speaker[0], target: { name: 'n1' } })).toEqual({
      ok: true,
    });
    // Connections are cut above; nothing is refused.
    expect(failures.filter(({ kind }) => kind === 'refused').map(describeFailure)).toEqual([]);
    expect(problems).toEqual([]);
    expect([...(await granted())].sort()).toEqual([...new Set(proxy.requests.flatMap(verbsOf))].sort());
  });

  /** Changes the object between the writer's last look and its write. */
  async function conflict(path: string, write: () => void): Promise<void> {
    proxy.inject({ delay: 400, only: ({ method, url }) => method === 'PATCH' || url.includes('watch=true') });
    proxy.cut();
    write();
    const label = { metadata: { labels: { touched: String(Math.random()) } } };
    await plane.send('PATCH', `/apis/signpost.dev/v1alpha1/${path}`, label, 'application/merge-patch+json');
    await new Promise((resolve) => setTimeout(resolve, 500));
    proxy.inject();
  }
});

const isStatusPatch = ({ method, url }: { method: string; url: string }) =>
  method === 'PATCH' && url.includes('/status?');

/** `verb resource`, as RBAC calls what a request needs. */
function verbsOf({ method, url }: { readonly method: string; readonly url: string }): string[] {
  const { pathname, searchParams } = new URL(url, 'http://server');
  const parts = pathname.replace(/^\/(?:api|apis\/[^/]+)\/v[^/]+\//, '').split('/');
  const [resource = '', name, subresource] = parts[0] === 'namespaces' && parts.length > 2 ? parts.slice(2) : parts;
  if (subresource !== undefined) return [`patch ${resource}/${subresource}`];
  const reading = name !== undefined ? 'get' : searchParams.has('watch') ? 'watch' : 'list';
  const verbs: Readonly<Record<string, readonly string[]>> = {
    GET: [reading],
    POST: ['create'],
    PUT: ['update'],
    // Server-side apply makes what is absent.
    PATCH: ['patch', 'create'],
    DELETE: ['delete'],
  };
  return (verbs[method] ?? [method]).map((verb) => `${verb} ${resource}`);
}

async function granted(): Promise<Set<string>> {
  const documents = parseAllDocuments(await readFile(`${DAEMONSET}base/rbac.yaml`, 'utf8'));
  const roles = documents.map((document) => document.toJS() as { rules?: { resources: string[]; verbs: string[] }[] });
  return new Set(
    roles
      .flatMap(({ rules }) => rules ?? [])
      .flatMap(({ resources, verbs }) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`))),
  );
}

const SIGNPOST = 'signpost.dev/v1alpha1';
const POOL = {
  apiVersion: SIGNPOST,
  kind: 'AddressPool',
  metadata: { name: 'public' },
  spec: { addresses: ['192.0.2.0/24'] },
};
const PEER = {
  apiVersion: SIGNPOST,
  kind: 'BGPPeer',
  metadata: { name: 'tor' },
  spec: { localASN: 65010, peerASN: 65000, address: '192.0.2.1' },
};
const ROUTE = {
  apiVersion: SIGNPOST,
  kind: 'ServiceRoute',
  metadata: { name: 'web', namespace: 'default' },
  spec: { rules: [{ name: 'http', protocol: 'TCP', port: 80, backendRefs: [{ name: 'web', port: 80 }] }] },
};

const STATUSES = Table.from<string, WantedStatus>([
  [
    'ServiceRoute default/web',
    { kind: 'ServiceRoute', namespace: 'default', name: 'web', generation: 1, status: { addresses: [] } },
  ],
  ['AddressPool public', { kind: 'AddressPool', name: 'public', generation: 1, status: { total: 1 } }],
  ['BGPPeer tor', { kind: 'BGPPeer', name: 'tor', generation: 1, status: { established: '0/1' } }],
  [
    'Speaker n1',
    { kind: 'Speaker', name: 'n1', generation: 1, status: { version: '1' }, create: { owner: undefined } },
  ],
]);

/** Another wish for the object at the path. */
function another(statuses: typeof STATUSES, path: string): typeof STATUSES {
  if (path.includes('serviceroutes')) {
    const status = { addresses: [{ type: 'IPAddress', value: '192.0.2.1' }] } as const;
    return statuses.set('ServiceRoute default/web', {
      kind: 'ServiceRoute',
      namespace: 'default',
      name: 'web',
      generation: 1,
      status: { ...status, addresses: [...status.addresses] },
    });
  }
  if (path.includes('addresspools')) {
    return statuses.set('AddressPool public', {
      kind: 'AddressPool',
      name: 'public',
      generation: 1,
      status: { total: 2 },
    });
  }
  return statuses.set('BGPPeer tor', { kind: 'BGPPeer', name: 'tor', generation: 1, status: { established: '1/1' } });
}

/** Of the Gateway API, as far as it matters here. */
const REFERENCE_GRANTS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'referencegrants.gateway.networking.k8s.io',
    annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/gateway-api' },
  },
  spec: {
    group: 'gateway.networking.k8s.io',
    scope: 'Namespaced',
    names: { plural: 'referencegrants', kind: 'ReferenceGrant' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};
