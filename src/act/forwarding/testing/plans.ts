import fc from 'fast-check';
import { parseIp } from '../../../../net/ip.ts';
import { type InterfaceName, parseInterfaceName, parseVip, type Vip } from '../../../../net/names.ts';
import { must } from '../../../../net/result.ts';
import { Table } from '../../../../net/table.ts';
import {
  type Affinity,
  type ForwardingEndpoint,
  type ForwardingEntry,
  type ForwardingPlan,
  forwardingKey,
  type Port,
  type Protocol,
} from '../../../decide/types.ts';

const VIPS = ['192.0.2.1', '192.0.2.2', '2001:db8::1'].map((text) => must(parseVip(text)));
const PROTOCOLS: readonly Protocol[] = ['TCP', 'UDP', 'SCTP'];
const INTERFACES: readonly InterfaceName[] = ['eth0', 'bond0.7'].map((name) => must(parseInterfaceName(name)));

const affinity: fc.Arbitrary<Affinity> = fc.oneof(
  { weight: 20, arbitrary: fc.constant({ type: 'None' } as const) },
  {
    weight: 12,
    arbitrary: fc.constantFrom(60, 10_800).map((timeoutSeconds) => ({ type: 'ClientIP', timeoutSeconds }) as const),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'Hash' } as const) },
);

function endpoint(vip: Vip): fc.Arbitrary<ForwardingEndpoint> {
  const address = vip.includes(':') ? (i: number) => `2001:db8:1::${i}` : (i: number) => `10.0.0.${i}`;
  return fc
    .record({ number: fc.integer({ min: 1, max: 6 }), weight: fc.integer({ min: 0, max: 4 }) })
    .map(({ number, weight }) => ({ address: must(parseIp(address(number))), port: (8_000 + number) as Port, weight }));
}

/** One entry of few possible keys, so that plans in a row often have the same. */
export const anyEntry: fc.Arbitrary<ForwardingEntry> = fc.constantFrom(...VIPS).chain((vip) =>
  fc
    .record({
      vip: fc.constant(vip),
      protocol: fc.constantFrom(...PROTOCOLS),
      port: fc.integer({ min: 80, max: 82 }).map((port) => port as Port),
      endpoints: fc.uniqueArray(endpoint(vip), { maxLength: 5, selector: ({ address }) => address }),
      keepClientAddress: fc.boolean(),
      affinity,
      sourceRanges: fc.subarray(
        vip.includes(':') ? ['2001:db8::/64', '2001:db8::/48', '::/0'] : ['10.0.0.0/8', '10.1.0.0/16', '192.0.2.7/32'],
      ),
      relayed: fc.constantFrom(false, false, true),
    })
    .map(({ relayed, ...entry }) => ({ ...entry, ...(relayed && { relayed }) })),
);

export const anyPlan: fc.Arbitrary<ForwardingPlan> = fc
  .record({
    entries: fc.uniqueArray(anyEntry, { maxLength: 8, selector: forwardingKey }),
    bare: fc.subarray(VIPS),
    announcingInterfaces: fc.subarray([...INTERFACES]),
  })
  .map(({ entries, bare, announcingInterfaces }) => ({
    vips: Table.from([...bare, ...entries.map(({ vip }) => vip)].map((vip) => [vip, true] as const)),
    entries: Table.from(entries.map((entry) => [forwardingKey(entry), entry] as const)),
    announcingInterfaces,
  }));
