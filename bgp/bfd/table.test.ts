import { expect, test } from 'vitest';
import type { Ip } from '../../net/ip.ts';
import type { ControlPacket } from './packet.ts';
import { type Arrival, type Path, SessionTable } from './table.ts';

const packet = (yourDiscriminator: number, state: ControlPacket['state'] = 'Down') =>
  ({ yourDiscriminator, state }) as ControlPacket;

function tableOf(...paths: (Omit<Path, 'remote'> & { remote: string })[]) {
  const table = new SessionTable<{ discriminator: number; path: Path }>();
  const entries = paths.map((path, i) => ({ discriminator: i + 1, path: path as Path }));
  for (const entry of entries) table.add(entry);
  const find = (p: ControlPacket, source: string, hops: Arrival['hops'] = 'single', device?: string) => {
    const { ok, problem } = table.find(p, {
      source: source as Ip,
      hops,
      ...(device === undefined ? {} : { interface: device }),
    });
    return ok?.discriminator ?? problem;
  };
  return { table, entries, find };
}

test('by discriminator, whatever the source', () => {
  const { find } = tableOf({ remote: '192.0.2.1', hops: 'single' }, { remote: '192.0.2.2', hops: 'single' });
  expect(find(packet(2, 'Up'), '198.51.100.9')).toBe(2);
  expect(find(packet(3, 'Up'), '192.0.2.1')).toBe('unknown-discriminator');
});

test('without one by source, and only in Down or AdminDown', () => {
  const { find } = tableOf({ remote: '192.0.2.1', hops: 'single' });
  expect(find(packet(0), '192.0.2.1')).toBe(1);
  expect(find(packet(0, 'AdminDown'), '192.0.2.1')).toBe(1);
  expect(find(packet(0, 'Init'), '192.0.2.1')).toBe('zero-your-discriminator');
  expect(find(packet(0), '192.0.2.9')).toBe('no-session');
});

test('link-local peers are told apart by interface', () => {
  const { find } = tableOf(
    { remote: 'fe80::1', interface: 'eth0', hops: 'single' },
    { remote: 'fe80::1', interface: 'eth1', hops: 'single' },
  );
  expect(find(packet(0), 'fe80::1', 'single', 'eth0')).toBe(1);
  expect(find(packet(0), 'fe80::1', 'single', 'eth1')).toBe(2);
  expect(find(packet(0), 'fe80::1', 'single', 'eth2')).toBe('no-session');
});

test('the multihop port does not reach a single-hop session, whose TTL it would not prove', () => {
  const { find } = tableOf({ remote: '192.0.2.1', hops: 'single' });
  expect(find(packet(1, 'Up'), '192.0.2.1', 'multi')).toBe('wrong-port');
  expect(find(packet(0), '192.0.2.1', 'multi')).toBe('no-session');
});

test('the newest of one path, and nothing of one that was deleted', () => {
  const { table, entries, find } = tableOf(
    { remote: '192.0.2.1', hops: 'single' },
    { remote: '192.0.2.1', hops: 'single' },
  );
  expect(find(packet(0), '192.0.2.1')).toBe(2);
  for (const entry of entries) table.delete(entry);
  expect([...table]).toEqual([]);
  expect(find(packet(0), '192.0.2.1')).toBe('no-session');
  expect(find(packet(1, 'Up'), '192.0.2.1')).toBe('unknown-discriminator');
});

test('discriminators are never zero nor taken', () => {
  const { table } = tableOf({ remote: '192.0.2.1', hops: 'single' });
  const draws = [0, 1 / 2 ** 32, 0.5];
  expect(table.freshDiscriminator(() => draws.shift() ?? 0)).toBe(2 ** 31);
});
