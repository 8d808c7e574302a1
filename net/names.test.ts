import { expect, test } from 'vitest';
import { parseInterfaceName, parseNodeName, parseVip } from './names.ts';
import { must } from './result.ts';

test('names', () => {
  expect(must(parseNodeName('node-1.example'))).toBe('node-1.example');
  for (const bad of ['', 'Node', '-a', 'a_', 'a..b', 'x'.repeat(254)]) expect(parseNodeName(bad).problem).toBeDefined();
  expect(must(parseInterfaceName('eth0.100'))).toBe('eth0.100');
  for (const bad of ['', '.', '..', 'a b', 'a"b', 'a/b', 'a;b', 'sixteen-letters-']) {
    expect(parseInterfaceName(bad).problem).toBeDefined();
  }
});

test('a VIP is a unicast address that clients can route to', () => {
  expect(must(parseVip('203.0.113.10'))).toBe('203.0.113.10');
  expect(must(parseVip('2001:db8::1'))).toBe('2001:db8::1');
  for (const bad of [
    '0.0.0.0',
    '::',
    '127.0.0.1',
    '::1',
    '224.0.0.5',
    'ff02::5',
    '169.254.1.1',
    'fe80::1',
    '255.255.255.255',
    '::ffff:1.2.3.4',
  ]) {
    expect(parseVip(bad).problem?.fix).toMatch(/unicast/);
  }
});
