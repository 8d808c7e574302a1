import { expect, test } from 'vitest';
import { ControlPlane } from '../harness/cluster/control-plane.ts';
import { createNode, createPod, serviceOf } from '../harness/cluster/objects.ts';
import { describeOnCluster } from '../harness/cluster/programs.ts';
import { eventually } from '../harness/eventually.ts';

await describeOnCluster('the control plane of the tests', (programs) => {
  test('makes an EndpointSlice of a pod that is ready', async () => {
    await using plane = await ControlPlane.start(programs);
    await createNode(plane, { name: 'n1', addresses: ['192.0.2.11'] });
    await createPod(plane, { name: 'web-1', labels: { app: 'web' }, node: 'n1', ips: ['10.244.1.5'] });
    await plane.apply(serviceOf('web', { app: 'web' }));
    const slices = async () => {
      const path = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
      const { items } = (await plane.send('GET', path)) as { items: { endpoints: unknown[] | null }[] };
      return items.flatMap(({ endpoints }) => endpoints ?? []);
    };
    const patience = { within: 20_000, every: 100 };
    const [endpoint] = await eventually('an endpoint', slices, (found) => found.length === 1, patience);
    expect(endpoint).toMatchObject({ addresses: ['10.244.1.5'], nodeName: 'n1', conditions: { ready: true } });
  });
});
