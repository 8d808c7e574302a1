import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type IpV6, ipFromBytes } from '../net/ip.ts';
import { type Mac, macFromBytes } from '../net/mac.ts';
import {
  dadSolicitation,
  decodeNdp,
  encodeNdp,
  multicastMac,
  type NdpFrame,
  solicitation,
  solicitedNode,
  unsolicitedAdvertisement,
} from './ndp-frame.ts';

const mac = '02:00:00:00:00:01' as Mac;
const host = '2001:db8::2' as IpV6;
const vip = '2001:db8::10' as IpV6;
const asked = solicitation(mac, host, vip);

test('the solicited-node group and its MAC address (RFC 4291 section 2.7.1, RFC 2464 section 7)', () => {
  expect(solicitedNode('4037::1:800:200e:8c6c' as IpV6)).toBe('ff02::1:ff0e:8c6c');
  expect(multicastMac('ff02::1:ff0e:8c6c' as IpV6)).toBe('33:33:ff:0e:8c:6c');
});

test('what is encoded is decoded', () => {
  const macs = fc.uint8Array({ minLength: 6, maxLength: 6 }).map(macFromBytes);
  const unicast = fc
    .uint8Array({ minLength: 15, maxLength: 15 })
    .map((bytes) => ipFromBytes(Uint8Array.of(0x20, ...bytes)) as IpV6);
  const link = fc.option(macs, { nil: undefined });
  const common = { source: macs, destination: macs, from: unicast, to: unicast, target: unicast, linkAddress: link };
  const frames: fc.Arbitrary<NdpFrame> = fc.oneof(
    fc.record({ type: fc.constant('solicitation' as const), ...common }),
    fc.record({
      type: fc.constant('advertisement' as const),
      ...common,
      router: fc.boolean(),
      solicited: fc.boolean(),
      override: fc.boolean(),
    }),
  );
  fc.assert(
    fc.property(frames, (frame) => {
      expect(decodeNdp(encodeNdp(frame))).toEqual(frame);
    }),
  );
});

describe('what RFC 4861 section 7.1 asks of a receiver', () => {
  /** Changes the frame and mends its checksum, so that the one fault is seen. */
  const changed = (frame: Uint8Array, edit: (bytes: Uint8Array) => void) => {
    const bytes = frame.slice();
    edit(bytes);
    bytes.set([0, 0], 56);
    let sum = 0;
    const message = bytes.subarray(54);
    for (const part of [bytes.subarray(22, 54), Uint8Array.of(0, 0, 0, message.length, 0, 0, 0, 58), message]) {
      for (let i = 0; i < part.length; i += 2) sum += ((part[i] as number) << 8) + (part[i + 1] ?? 0);
    }
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
    bytes.set([(~sum >> 8) & 0xff, ~sum & 0xff], 56);
    return bytes;
  };
  const dad = dadSolicitation(mac, vip);
  const told = unsolicitedAdvertisement(mac, vip);

  test.each<[string, Uint8Array]>([
    ['short', asked.subarray(0, 77)],
    ['not ICMPv6', asked.with(20, 17)],
    ['hop limit', asked.with(21, 64)],
    ['length', asked.with(19, 200)],
    ['checksum', asked.with(60, 1)],
    ['type', changed(asked, (bytes) => bytes.set([133], 54))],
    ['code', changed(asked, (bytes) => bytes.set([1], 55))],
    ['target', changed(asked, (bytes) => bytes.set([0xff], 62))],
    ['option', changed(asked, (bytes) => bytes.set([0], 79))],
    ['destination', changed(dad, (bytes) => bytes.set([0x20], 38))],
    ['source', changed(asked, (bytes) => bytes.fill(0, 22, 38))],
    ['destination', changed(told, (bytes) => bytes.set([0x60], 58))],
  ])('%s', (fault, bytes) => {
    expect(decodeNdp(bytes)).toBe(fault);
  });

  test('no bytes make it throw', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => void decodeNdp(bytes)));
    fc.assert(fc.property(fc.nat(asked.length - 1), fc.nat(255), (i, byte) => void decodeNdp(asked.with(i, byte))));
  });
});

test('an unsolicited advertisement has Override, or caches keep the old address', () => {
  expect(decodeNdp(unsolicitedAdvertisement(mac, vip))).toMatchObject({
    override: true,
    solicited: false,
    linkAddress: mac,
    to: 'ff02::1',
  });
});
