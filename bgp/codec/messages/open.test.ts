import { describe, expect, test } from 'vitest';
import { expand } from '../../../test/vectors/bgp.ts';
import { CapabilityCode, MessageType } from '../constants.ts';
import { type Decoded, describeError } from '../errors.ts';
import { frame } from '../header.ts';
import { UNNEGOTIATED } from '../negotiate.ts';
import { openOf } from '../testing/sessions.ts';
import type { Capability, Open } from '../types.ts';
import { decodeMessage, encodeMessage } from './table.ts';

const FIXED = '04 fde9 005a 0a09094d ';

function decode(hex: string): Decoded {
  return decodeMessage(frame(MessageType.OPEN, expand(hex)), UNNEGOTIATED);
}

function accepted(decoded: Decoded): Open {
  if (decoded.outcome !== 'message' || decoded.message.type !== 'OPEN')
    throw new Error(decoded.errors.map(describeError).join());
  return decoded.message;
}

test('the AS number is that of four octets, where there is one', () => {
  expect(accepted(decode(`${FIXED} 00`)).asn).toBe(65_001);
  expect(accepted(decode('04 5ba0 005a 0a09094d 08 0206 4104 fa56ea01')).asn).toBe(4_200_000_001);
  const large = encodeMessage(openOf(4_200_000_001), UNNEGOTIATED);
  expect(large.subarray(20, 22)).toEqual(expand('5ba0'));
});

describe('many capabilities need the extended form (RFC 9072)', () => {
  const unknown = (octets: number): Capability => ({ kind: 'unknown', code: 200, value: new Uint8Array(octets) });

  test.each([
    [253, 'the plain form', '02fd'],
    [254, 'the extended form', 'ff 0101 02 00fe'],
  ])('%d octets of them: %s', (octets, _, head) => {
    const open = openOf(65_001, [unknown(octets - 4), unknown(0)]);
    const bytes = encodeMessage(open, UNNEGOTIATED);
    expect(bytes.subarray(29, 29 + expand(head).length)).toEqual(expand(head));
    expect(accepted(decodeMessage(bytes, UNNEGOTIATED))).toEqual(open);
  });

  test('its plain length is ignored, unless it is zero', () => {
    expect(accepted(decode(`${FIXED} 01 ff 0009 02 0006 4104 0000fde9`)).asn).toBe(65_001);
    expect(decode(`${FIXED} 00 ff 0009 02 0006 4104 0000fde9`)).toMatchObject({
      notification: { code: 2, subcode: 0 },
    });
  });

  test.each(['ff', 'ff ff', 'ff ff 00', 'ff ff 0004 02 0001', 'ff ff 0003 02 0001', 'ff ff 0002 02 00'])(
    '%s is malformed',
    (rest) => {
      expect(decode(FIXED + rest)).toMatchObject({ outcome: 'session-reset', notification: { code: 2, subcode: 0 } });
    },
  );
});

describe('a capability that is malformed is ignored, and said so', () => {
  const malformed = [
    ['multiprotocol of three octets', '01 03 000100'],
    ['route refresh with a value', '02 01 00'],
    ['extended next hop of five octets', '05 05 0001000100'],
    ['extended message with a value', '06 01 00'],
    ['role of two octets', '09 02 0000'],
    ['role without a name', '09 01 05'],
    ['graceful restart of one octet', '40 01 00'],
    ['graceful restart with half a family', '40 04 00780001'],
    ['four-octet AS number of two', '41 02 fde9'],
    ['enhanced route refresh with a value', '46 01 00'],
  ] as const;

  test('each that is registered', () => {
    const codes = new Set<number>(malformed.map(([, hex]) => expand(hex)[0] ?? 0));
    expect(Object.values(CapabilityCode).filter((code) => !codes.has(code))).toEqual([]);
  });

  test.each(malformed)('%s', (_, hex) => {
    const capability = expand(hex);
    const length = capability.length.toString(16).padStart(2, '0');
    const size = (capability.length + 2).toString(16).padStart(2, '0');
    const decoded = decode(`${FIXED} ${size} 02 ${length} ${hex}`);
    const code = capability[0] ?? 0;
    expect(accepted(decoded).capabilities).toEqual([{ kind: 'unknown', code, value: capability.subarray(2) }]);
    expect(decoded.errors).toMatchObject([{ kind: 'malformed-capability', code }]);
  });
});

test('many of one code are one error', () => {
  const decoded = decode(`${FIXED} 0e 02 0c 460100 460100 460100 460100`);
  expect(decoded.errors).toEqual([{ kind: 'malformed-capability', code: 70, detail: 'length 1 is not 0' }]);
});

test('the OPEN keeps nothing of the buffer that it came in', () => {
  const bytes = frame(MessageType.OPEN, expand(`${FIXED} 05 02 03 c8 01 77`));
  const open = accepted(decodeMessage(bytes, UNNEGOTIATED));
  bytes.fill(0);
  expect(open.capabilities).toEqual([{ kind: 'unknown', code: 200, value: Uint8Array.of(0x77) }]);
});

test('graceful restart flags and time', () => {
  const capability: Capability = {
    kind: 'graceful-restart',
    restarting: true,
    notification: false,
    restartTime: 4095,
    families: [{ afi: 1, safi: 1, forwarding: true }],
  };
  const bytes = encodeMessage(openOf(1, [capability]), UNNEGOTIATED);
  expect(bytes.subarray(31)).toEqual(expand('40 06 8fff 0001 01 80'));
  expect(() => encodeMessage(openOf(1, [{ ...capability, restartTime: 4096 }]), UNNEGOTIATED)).toThrow(RangeError);
});
