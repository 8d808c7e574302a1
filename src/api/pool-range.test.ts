import { expect, test } from 'vitest';
import { parsePoolRange } from './pool-range.ts';

test.each(['203.0.113.0/26', '10.0.0.0/8', '203.0.113.5', '192.0.2.1-192.0.2.9', '2001:db8::/64', 'fd00::1-fd00::ff'])(
  '%s can be a pool',
  (text) => expect(parsePoolRange(text).problem).toBeUndefined(),
);

test.each([
  ['0.0.0.0/0', 'this network'],
  ['127.0.0.1', 'loopback'],
  ['169.254.0.1-169.254.0.9', 'link-local'],
  ['223.255.255.0-224.0.0.1', 'multicast, reserved or broadcast'],
  ['255.255.255.255', 'broadcast'],
  ['::1', 'loopback'],
  ['fe80::/64', 'link-local'],
  ['ff02::1', 'multicast'],
  ['::ffff:192.0.2.1', 'IPv4-mapped'],
  ['203.0.113.9-203.0.113.1', 'ends before it begins'],
])('%s cannot: %s', (text, words) => {
  expect(parsePoolRange(text, 'spec.addresses[0]').problem).toMatchObject({
    field: 'spec.addresses[0]',
    message: expect.stringContaining(words) as string,
  });
});
