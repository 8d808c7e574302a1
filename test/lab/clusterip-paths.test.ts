import { describe } from 'vitest';
import { serviceProxy } from '../harness/service-proxy.ts';
import { checkForwarding } from './forwarding-checks.ts';

describe('ClusterIP, beside a service proxy', () =>
  checkForwarding({
    mode: 'ClusterIP',
    async startProxy(_, { nodes }, services) {
      await Promise.all(nodes.map((node) => serviceProxy(node, services)));
    },
  }));
