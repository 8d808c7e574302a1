import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Ip } from '../../net/ip.ts';
import type { NodeName } from '../../net/names.ts';
import {
  collectEndpoints,
  type Endpoint,
  localEndpoints,
  type SliceView,
  usableEndpoints,
  weighEndpoints,
} from './endpoints.ts';
import type { Port } from './types.ts';

const http = { name: 'http', protocol: 'TCP' } as const;
const endpoint = (address: string, state: 'ready' | 'draining' | 'gone' = 'ready', node = 'n1'): Endpoint => ({
  address: address as Ip,
  port: 8080 as Port,
  node: node as NodeName,
  ready: state === 'ready',
  serving: state !== 'gone',
  terminating: state !== 'ready',
});

function slice(endpoints: readonly Endpoint[], more: Partial<SliceView> = {}): SliceView {
  return {
    addressType: 'IPv4',
    ports: [{ ...http, port: 8080 as Port }],
    endpoints: endpoints.map(({ address, node, ready, serving, terminating }) => ({
      addresses: [address],
      node,
      ready,
      serving,
      terminating,
    })),
    ...more,
  };
}

describe('collectEndpoints', () => {
  test('by family, port name and protocol', () => {
    const slices = [
      slice([endpoint('10.0.0.1')]),
      slice([endpoint('10.0.0.2')], { addressType: 'IPv6' }),
      slice([endpoint('10.0.0.3')], { ports: [{ ...http, name: 'https', port: 8443 as Port }] }),
      slice([endpoint('10.0.0.4')], { ports: [{ ...http, protocol: 'UDP', port: 53 as Port }] }),
      slice([endpoint('10.0.0.5')], { ports: [{ ...http, port: undefined }] }),
    ];
    expect(collectEndpoints(slices, http, 'IPv4').map((e) => e.address)).toEqual(['10.0.0.1']);
  });

  test('does not depend on the order of slices, and an endpoint in two of them counts once by its better condition', () => {
    const states = fc.constantFrom('ready' as const, 'draining' as const, 'gone' as const);
    const endpoints = fc.array(fc.tuple(fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.3'), states), { maxLength: 4 });
    const lists = fc.array(
      endpoints.map((list) => slice(list.map(([address, state]) => endpoint(address, state)))),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(lists, (slices) => {
        const collected = collectEndpoints(slices, http, 'IPv4');
        expect(collectEndpoints([...slices].reverse(), http, 'IPv4')).toEqual(collected);
        const all = slices.flatMap((s) => s.endpoints);
        for (const { address, ready } of collected) {
          expect(ready).toBe(all.some((e) => e.addresses[0] === address && e.ready));
        }
        expect(new Set(collected.map((e) => e.address))).toEqual(new Set(all.map((e) => e.addresses[0])));
      }),
    );
  });
});

describe('usableEndpoints (KEP-1669)', () => {
  const ready = endpoint('10.0.0.1');
  const draining = endpoint('10.0.0.2', 'draining');
  const gone = endpoint('10.0.0.3', 'gone');

  test('ready ones while there are any', () => {
    expect(usableEndpoints([ready, draining, gone])).toEqual([ready]);
  });

  test('then those that serve while they terminate', () => {
    expect(usableEndpoints([draining, gone])).toEqual([draining]);
    expect(usableEndpoints([gone])).toEqual([]);
  });

  test('of one node', () => {
    const elsewhere = endpoint('10.0.0.4', 'ready', 'n2');
    expect(localEndpoints([draining, elsewhere], 'n1' as NodeName)).toEqual([draining]);
    expect(localEndpoints([elsewhere], 'n1' as NodeName)).toEqual([]);
  });
});

describe('weighEndpoints', () => {
  const pods = (from: number, count: number) => Array.from({ length: count }, (_, i) => endpoint(`10.0.0.${from + i}`));

  test('equal shares are all 1', () => {
    expect(weighEndpoints([{ weight: 5, endpoints: pods(1, 3) }]).map((e) => e.weight)).toEqual([1, 1, 1]);
  });

  test('a backend of ten pods and one of two take equal shares', () => {
    const weights = weighEndpoints([
      { weight: 1, endpoints: pods(1, 10) },
      { weight: 1, endpoints: pods(11, 2) },
    ]).map((e) => e.weight);
    expect(weights).toEqual([...Array<number>(10).fill(1), 5, 5]);
  });

  test('weight 0 takes none, and a backend without endpoints leaves its share to the others', () => {
    const weights = weighEndpoints([
      { weight: 0, endpoints: pods(1, 1) },
      { weight: 3, endpoints: pods(2, 1) },
      { weight: 7, endpoints: [] },
    ]);
    expect(weights.map((e) => e.weight)).toEqual([0, 1]);
  });

  test('shares are those of the backends to within a tenth of a percent', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 1, max: 20 })), {
          minLength: 1,
          maxLength: 5,
        }),
        (list) => {
          let next = 1;
          const backends = list.map(([weight, count]) => {
            next += count;
            return { weight, endpoints: pods(next - count, count) };
          });
          const weighed = weighEndpoints(backends);
          const total = weighed.reduce((sum, e) => sum + e.weight, 0);
          const asked = list.reduce((sum, [weight]) => sum + weight, 0);
          backends.forEach(({ weight, endpoints }) => {
            const share =
              weighed
                .filter((e) => endpoints.some((p) => p.address === e.address))
                .reduce((sum, e) => sum + e.weight, 0) / total;
            expect(Math.abs(share - weight / asked)).toBeLessThan(0.001);
          });
        },
      ),
    );
  });
});
