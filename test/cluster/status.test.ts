import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { monotonicClock } from '../../net/clock.ts';
import { Table } from '../../net/table.ts';
import type { WantedStatus } from '../../src/act/status/wanted.ts';
import { StatusWriter } from '../../src/act/status/writer.ts';
import { condition } from '../../src/api/conditions.ts';
import { createClient } from '../../src/kubernetes/client.ts';
import type { ApiFailure } from '../../src/kubernetes/failure.ts';
import { ClusterWatch } from '../../src/observe/kubernetes/cluster.ts';
import { ControlPlane } from '../harness/cluster/control-plane.ts';
import { FaultProxy } from '../harness/cluster/fault-proxy.ts';
import { describeOnCluster } from '../harness/cluster/programs.ts';
import { eventually } from '../harness/eventually.ts';

const CRDS = new URL('../../daemonset/crds/', import.meta.url).pathname;
const ROUTES = '/apis/signpost.dev/v1alpha1/namespaces/default/serviceroutes';
const SOON = { every: 20 };

interface Route {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly managedFields: readonly { readonly manager: string }[];
  };
  readonly status?: {
    readonly addresses?: readonly { readonly value: string }[];
    readonly conditions?: readonly { readonly type: string; readonly lastTransitionTime: string }[];
  };
}

await describeOnCluster('the status writer', (programs) => {
  let plane: ControlPlane;
  let proxy: FaultProxy;

  beforeAll(async () => {
    plane = await ControlPlane.start(programs, { controllers: false });
    proxy = await FaultProxy.start(plane);
    await plane.kubectl(['apply', '-k', CRDS]);
    await plane.kubectl(['wait', '--for=condition=Established', 'crd', '--all']);
  });

  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    await plane.kubectl(['delete', 'serviceroutes', '--all']);
    await plane.apply(ROUTE);
  });

  test('writes what is wanted, and nothing when it is so', async () => {
    await using speaker = await Speaker.start(proxy);
    speaker.want(wanted({ addresses: ['192.0.2.10'] }));
    const route = await statusIs((status) => status?.addresses?.[0]?.value === '192.0.2.10');
    const before = patches();
    speaker.want(wanted({ addresses: ['192.0.2.10'] }));
    await using next = await Speaker.start(proxy, wanted({ addresses: ['192.0.2.10'] }));
    await plane.apply({ ...ROUTE, metadata: { ...ROUTE.metadata, labels: { touched: 'yes' } } });
    await eventually(
      'the echo',
      () => speaker.seen,
      (seen) => seen > 2,
      SOON,
    );
    expect(patches()).toBe(before);
    expect([...speaker.failures, ...next.failures]).toEqual([]);
    expect((await read()).status).toEqual(route.status);
  });

  test('puts back what another one changed', async () => {
    await using speaker = await Speaker.start(proxy, wanted({ addresses: ['192.0.2.10'] }));
    await statusIs((status) => status?.addresses?.[0]?.value === '192.0.2.10');
    const patch = { status: { addresses: [{ type: 'IPAddress', value: '192.0.2.66' }] } };
    await plane.send('PATCH', `${ROUTES}/web/status`, patch, 'application/merge-patch+json');
    await statusIs((status) => status?.addresses?.[0]?.value === '192.0.2.10');
    expect(speaker.failures).toEqual([]);
  });

  test('does not fight over a field that another one adds', async () => {
    await using speaker = await Speaker.start(proxy, wanted({ addresses: ['192.0.2.10'] }));
    await statusIs((status) => status?.addresses !== undefined);
    const before = patches();
    const patch = { status: { announcementCount: 7 } };
    const { seen } = speaker;
    await plane.send('PATCH', `${ROUTES}/web/status`, patch, 'application/merge-patch+json');
    await eventually(
      'the echo',
      () => speaker.seen,
      (now) => now > seen,
      SOON,
    );
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(patches() - before).toBeLessThanOrEqual(1);
  });

  test('keeps the time of a condition whose status stays', async () => {
    await using speaker = await Speaker.start(proxy, wanted({ programmed: 'False' }));
    const first = await statusIs((status) => status?.conditions?.length === 2);
    const timeOf = (route: Route, type: string) =>
      route.status?.conditions?.find((candidate) => candidate.type === type)?.lastTransitionTime;
    speaker.now = new Date('2040-01-01T00:00:00Z');
    speaker.want(wanted({ programmed: 'True' }));
    const second = await statusIs((status) => status?.conditions?.[1]?.lastTransitionTime === '2040-01-01T00:00:00Z');
    expect(timeOf(second, 'Accepted')).toBe(timeOf(first, 'Accepted'));
  });

  test('a coordinator that was succeeded without noticing overwrites nothing', async () => {
    await using speaker = await Speaker.start(proxy, wanted({ addresses: ['192.0.2.10'] }));
    await statusIs((status) => status?.addresses?.[0]?.value === '192.0.2.10');
    speaker.deafen();
    speaker.authority = 0;
    await using next = await Speaker.start(proxy, wanted({ addresses: ['192.0.2.20'] }));
    await statusIs((status) => status?.addresses?.[0]?.value === '192.0.2.20');
    speaker.authority = 60_000;
    const refused = proxy.requests.length;
    speaker.want(wanted({ addresses: ['192.0.2.10'], programmed: 'False' }));
    await eventually(
      'its attempt',
      () => patches(refused),
      (count) => count >= 1,
      SOON,
    );
    speaker.authority = 0;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await read()).status?.addresses).toEqual([{ type: 'IPAddress', value: '192.0.2.20' }]);
    expect(next.failures).toEqual([]);
  });

  test('makes the object of a node where it is absent', async () => {
    const id = 'Speaker n1';
    await using speaker = await Speaker.start(proxy);
    const status = { version: '1.2.3', conditions: [] };
    speaker.want(
      Table.from([[id, { kind: 'Speaker', name: 'n1', generation: 1, status, create: { owner: undefined } }]]),
    );
    const path = '/apis/signpost.dev/v1alpha1/speakers/n1';
    const look = async () => (await plane.send('GET', path)) as { status?: { version?: string }; spec: object };
    const made = await eventually('the Speaker', look, (object) => object.status?.version === '1.2.3', SOON);
    expect(made.spec).toEqual({ drain: false });
  });

  function patches(from = 0): number {
    return proxy.requests.slice(from).filter(({ method }) => method === 'PATCH').length;
  }

  const read = async () => (await plane.send('GET', `${ROUTES}/web`)) as Route;

  function statusIs(accept: (status: Route['status']) => boolean): Promise<Route> {
    return eventually('the status', read, ({ status }) => accept(status), SOON);
  }
});

const ROUTE = {
  apiVersion: 'signpost.dev/v1alpha1',
  kind: 'ServiceRoute',
  metadata: { name: 'web', namespace: 'default' },
  spec: { rules: [{ name: 'http', protocol: 'TCP', port: 80, backendRefs: [{ name: 'web', port: 80 }] }] },
};

function wanted({ addresses = [] as string[], programmed = 'True' as 'True' | 'False' }): Table<string, WantedStatus> {
  const conditions = [
    condition('Accepted', 'True', 'Accepted', 'the route is valid'),
    condition('Programmed', programmed, programmed === 'True' ? 'Programmed' : 'Pending', 'told by a test'),
  ];
  const status = { addresses: addresses.map((value) => ({ type: 'IPAddress' as const, value })), conditions };
  const route = { kind: 'ServiceRoute', namespace: 'default', name: 'web', generation: 1, status } as const;
  return Table.from([['ServiceRoute default/web', route]]);
}

/** What a daemon does with statuses. */
class Speaker implements AsyncDisposable {
  readonly failures: ApiFailure[] = [];
  now = new Date();
  authority = 60_000;
  seen = 0;
  readonly #writer: StatusWriter;
  readonly #ending = new AbortController();
  readonly #running: Promise<void>;
  #synced = false;
  #deaf = false;

  private constructor(proxy: FaultProxy) {
    const client = createClient(proxy.access(), 'test');
    this.#writer = new StatusWriter({
      client,
      manager: 'signpost',
      clock: monotonicClock,
      today: () => this.now,
      authority: () => this.authority,
      onFailure: (_id, failure) => this.failures.push(failure),
    });
    const watch = new ClusterWatch(client, {
      onChange: ({ statuses }) => {
        if (this.#deaf) return;
        this.seen += statuses.length;
        this.#writer.observe(statuses);
      },
      onState: ({ synced }) => {
        this.#synced = synced;
      },
    });
    this.#running = watch.run(this.#ending.signal);
  }

  static async start(proxy: FaultProxy, wanted?: Table<string, WantedStatus>): Promise<Speaker> {
    const speaker = new Speaker(proxy);
    await eventually('synced', () => speaker.#synced, Boolean, SOON);
    if (wanted !== undefined) speaker.want(wanted);
    return speaker;
  }

  want(statuses: Table<string, WantedStatus>): void {
    this.#writer.apply(statuses);
  }

  /** Its watch tells it nothing more. */
  deafen(): void {
    this.#deaf = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#writer[Symbol.dispose]();
    this.#ending.abort();
    await this.#running;
  }
}
