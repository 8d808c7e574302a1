import { afterAll, beforeAll, describe } from 'vitest';
import { serviceProxy } from '../harness/service-proxy.ts';
import { checkForwarding } from './forwarding-checks.ts';
import { type Mode, openStage, type Stage, type StartProxy } from './forwarding-stage.ts';

const imitation: StartProxy = async (_, { nodes }, services) => {
  await Promise.all(nodes.map((node) => serviceProxy(node, services)));
};

describe.each<[string, readonly Mode[], StartProxy | undefined]>([
  ['alone', ['Endpoints', 'Direct'], undefined],
  ['beside a service proxy', ['Endpoints', 'Direct', 'ClusterIP'], imitation],
])('%s', (_, modes, startProxy) => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await openStage(modes, startProxy);
  });

  afterAll(() => stage[Symbol.asyncDispose]());

  describe.each(modes)('%s', (mode) => checkForwarding(mode, () => stage));
});
