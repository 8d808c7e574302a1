import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SESSION_STATES } from './constants.ts';
import { type ControlPacket, decodeControlPacket, encodeControlPacket } from './packet.ts';

/** FRR 8.4 in state Init with a Poll, taken from the wire. */
const HEX = '20a00318' + '11223344' + '55667788' + '000f4240' + '000493e0' + '0000c350';

const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const packets: fc.Arbitrary<ControlPacket> = fc.record({
  diagnostic: fc.integer({ min: 0, max: 31 }),
  state: fc.constantFrom(...SESSION_STATES),
  poll: fc.boolean(),
  final: fc.boolean(),
  controlPlaneIndependent: fc.boolean(),
  demand: fc.boolean(),
  detectMultiplier: fc.integer({ min: 1, max: 255 }),
  myDiscriminator: fc.integer({ min: 1, max: 0xffff_ffff }),
  yourDiscriminator: u32,
  desiredMinTx: u32,
  requiredMinRx: u32,
  requiredMinEchoRx: u32,
});

const valid = () => Buffer.from(HEX, 'hex');
const changed = (offset: number, value: number) => {
  const bytes = valid();
  bytes[offset] = value;
  return bytes;
};

test('a packet with every field', () => {
  expect(decodeControlPacket(valid()).ok).toEqual({
    diagnostic: 0,
    state: 'Init',
    poll: true,
    final: false,
    controlPlaneIndependent: false,
    demand: false,
    detectMultiplier: 3,
    myDiscriminator: 0x11223344,
    yourDiscriminator: 0x55667788,
    desiredMinTx: 1_000_000,
    requiredMinRx: 300_000,
    requiredMinEchoRx: 50_000,
  });
});

test('what is encoded is decoded', () => {
  fc.assert(
    fc.property(packets, (packet) => {
      expect(decodeControlPacket(encodeControlPacket(packet))).toEqual({ ok: packet });
    }),
  );
});

describe('RFC 5880 section 6.8.6 discards', () => {
  test.each([
    ['a version that is not 1', changed(0, 0x40), 'bad-version'],
    ['a length below 24', changed(3, 23), 'too-short'],
    ['a length below 26 with authentication', changed(1, 0xa4), 'too-short'],
    ['a length beyond the payload', changed(3, 25), 'longer-than-payload'],
    ['a payload cut short', valid().subarray(0, 23), 'longer-than-payload'],
    ['three bytes', valid().subarray(0, 3), 'too-short'],
    ['a zero multiplier', changed(2, 0), 'zero-detect-multiplier'],
    ['the multipoint bit', changed(1, 0xa1), 'multipoint'],
    ['a zero discriminator', Buffer.from(HEX.replace('11223344', '00000000'), 'hex'), 'zero-my-discriminator'],
  ])('%s', (_, bytes, reason) => {
    expect(decodeControlPacket(bytes)).toEqual({ problem: reason });
  });

  test('the first reason in the order of the RFC', () => {
    const everythingWrong = Buffer.from(`40a10018${'00'.repeat(20)}`, 'hex');
    expect(decodeControlPacket(everythingWrong)).toEqual({ problem: 'bad-version' });
    everythingWrong[0] = 0x20;
    expect(decodeControlPacket(everythingWrong)).toEqual({ problem: 'zero-detect-multiplier' });
    everythingWrong[2] = 3;
    expect(decodeControlPacket(everythingWrong)).toEqual({ problem: 'multipoint' });
  });
});

test('an authentication section is told of, not read', () => {
  const bytes = Buffer.concat([changed(1, 0xa4), Buffer.from('010901736563726574', 'hex')]);
  bytes[3] = bytes.length;
  expect(decodeControlPacket(bytes).ok).toMatchObject({ authenticationType: 1, state: 'Init' });
});

test('bytes beyond the length are ignored', () => {
  const bytes = Buffer.concat([valid(), Buffer.from('ffff', 'hex')]);
  expect(decodeControlPacket(bytes)).toEqual(decodeControlPacket(valid()));
});

test('any bytes give a packet within its bounds or a reason', () => {
  const header = fc.tuple(fc.constant(0x20), fc.nat(255), fc.nat(255), fc.integer({ min: 20, max: 40 }));
  const likely = fc
    .tuple(header, fc.uint8Array({ maxLength: 40 }))
    .map(([head, body]) => Uint8Array.of(...head, ...body));
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 64 }), likely), (bytes) => {
      const { ok, problem } = decodeControlPacket(bytes);
      if (ok === undefined) {
        expect(problem).toMatch(/^[a-z-]+$/);
        return;
      }
      const { authenticationType, ...plain } = ok;
      expect(ok.myDiscriminator).not.toBe(0);
      expect(ok.detectMultiplier).not.toBe(0);
      // Encoding gives the mandatory section back, but for the A bit and the length.
      const again = encodeControlPacket(plain);
      expect(again.subarray(4)).toEqual(bytes.subarray(4, 24));
      expect((again[1] as number) | (authenticationType === undefined ? 0 : 0x04)).toBe(bytes[1]);
    }),
    { numRuns: 2_000 },
  );
});
