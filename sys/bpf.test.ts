import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { acceptUntagged, encodeProgram, type Instruction, type Test } from './bpf.ts';

const VLAN_TAG_PRESENT = 0xfffff000 + 48;

/** The kernel's machine, as far as these programs use it (Documentation/networking/filter.rst). */
function run(program: readonly Instruction[], frame: Uint8Array, tagged = false): number {
  let accumulator = 0;
  for (let at = 0; ; at++) {
    const [code, jumpTrue, jumpFalse, k] = program[at] as Instruction;
    const at8 = (offset: number) => (offset === VLAN_TAG_PRESENT ? Number(tagged) : frame[offset]);
    if (code === 0x06) return k;
    if (code === 0x15) at += accumulator === k ? jumpTrue : jumpFalse;
    else {
      const [high, low] = code === 0x28 ? [at8(k), at8(k + 1)] : [0, at8(k)];
      // A load beyond the frame ends the program and drops it.
      if (high === undefined || low === undefined) return 0;
      accumulator = high * 256 + low;
    }
  }
}

const tests: readonly Test[] = [
  { load: 'u16', offset: 12, values: [0x86dd] },
  { load: 'u8', offset: 20, values: [58] },
  { load: 'u8', offset: 4, values: [1, 2, 3] },
];

describe('acceptUntagged', () => {
  const good = new Uint8Array(32);
  good.set([0x86, 0xdd], 12);
  good.set([58], 20);
  good.set([2], 4);

  test('accepts what passes every test, and nothing that carries a tag', () => {
    expect(run(acceptUntagged(tests), good)).toBeGreaterThan(0);
    expect(run(acceptUntagged(tests), good, true)).toBe(0);
  });

  test('a frame too short for a test is dropped', () => {
    expect(run(acceptUntagged(tests), good.subarray(0, 20))).toBe(0);
  });

  test('is the naive conjunction, for any tests and frames', () => {
    const anyTest = fc.record<Test>({
      load: fc.constantFrom('u8', 'u16'),
      offset: fc.nat(6),
      values: fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }),
    });
    fc.assert(
      fc.property(
        fc.array(anyTest, { maxLength: 4 }),
        fc.array(fc.nat(3), { minLength: 8, maxLength: 8 }),
        (list, bytes) => {
          const frame = Uint8Array.from(bytes);
          const value = ({ load, offset }: Test) =>
            load === 'u8' ? (frame[offset] as number) : (frame[offset] as number) * 256 + (frame[offset + 1] as number);
          expect(run(acceptUntagged(list), frame) > 0).toBe(list.every((one) => one.values.includes(value(one))));
        },
      ),
    );
  });
});

test('struct sock_filter is 8 bytes: code, jt, jf, k', () => {
  expect([...encodeProgram([[0x28, 1, 2, 0x01020304]])]).toEqual([0x28, 0, 1, 2, 4, 3, 2, 1]);
});
