import { expect, test } from 'vitest';
import { isGroupMac, MAC_BROADCAST, macFromBytes, macToBytes, parseMac } from './mac.ts';
import { must } from './result.ts';

test('MAC addresses', () => {
  const mac = must(parseMac('02-00-5E-10-00-01'));
  expect(mac).toBe('02:00:5e:10:00:01');
  expect(macFromBytes(macToBytes(mac))).toBe(mac);
  expect(isGroupMac(MAC_BROADCAST)).toBe(true);
  expect(isGroupMac(mac)).toBe(false);
  for (const bad of ['', '02:00:5e:10:00', '02:00:5e:10:00:0g', '2:0:5e:10:0:1'])
    expect(parseMac(bad).problem).toBeDefined();
});
