import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Community, formatCommunity, parseCommunity } from './communities.ts';

test.each([
  ['65000:100', { kind: 'standard', value: 0xfde8_0064 }],
  ['no-export', { kind: 'standard', value: 0xffff_ff01 }],
  ['graceful-shutdown', { kind: 'standard', value: 0xffff_0000 }],
  ['65000:1:2', { kind: 'large', value: { globalAdministrator: 65_000, localData1: 1, localData2: 2 } }],
  ['target:65000:7', { kind: 'extended', value: 0x0002_fde8_0000_0007n }],
  ['origin:192.0.2.1:7', { kind: 'extended', value: 0x0103_c000_0201_0007n }],
  ['target:4200000001:7', { kind: 'extended', value: 0x0202_fa56_ea01_0007n }],
] as const)('%s', (text, community) => {
  expect(parseCommunity(text).ok).toEqual(community);
  expect(formatCommunity(community)).toBe(text);
});

describe('is no community:', () => {
  test.each([
    '',
    '1',
    ':',
    '65536:1',
    '1:65536',
    '-1:1',
    '1:2:3:4',
    '1:2:4294967296',
    'target:1',
    'target:70000:65536',
    'constructor',
    'toString:1',
  ])('"%s"', (text) => {
    expect(parseCommunity(text, 'communities[0]').problem).toMatchObject({ field: 'communities[0]', value: text });
  });
});

test('an extended community of another type is shown in hexadecimal', () => {
  expect(formatCommunity({ kind: 'extended', value: 0x030b_0000_0000_0001n })).toBe('0x030b000000000001');
});

test('text and value go together', () => {
  const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
  const community: fc.Arbitrary<Community> = fc.oneof(
    u32.map((value): Community => ({ kind: 'standard', value })),
    fc
      .record({ globalAdministrator: u32, localData1: u32, localData2: u32 })
      .map((value): Community => ({ kind: 'large', value })),
    fc
      .tuple(fc.constantFrom('target', 'origin'), u32, fc.integer({ min: 0, max: 0xffff }))
      .map(
        ([name, administrator, local]): Community =>
          parseCommunity(`${name}:${administrator}:${local}`).ok as Community,
      ),
  );
  fc.assert(
    fc.property(community, (value) => {
      expect(parseCommunity(formatCommunity(value)).ok).toEqual(value);
    }),
  );
});
