import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type IpV4, ipFromBytes } from '../net/ip.ts';
import { type Mac, macFromBytes } from '../net/mac.ts';
import { ARP_FRAME_LENGTH, type ArpFrame, arpProbe, decodeArp, encodeArp, gratuitousArp } from './arp-frame.ts';

const mac = '02:00:00:00:00:01' as Mac;
const vip = '203.0.113.10' as IpV4;

/** An ARP request as Linux sends it, captured: who has 192.0.2.1, tell 192.0.2.2. */
const CAPTURED = Uint8Array.from(
  Buffer.from(
    'ffffffffffff0200000000020806000108000604000102000000 0002c0000202000000000000c0000201'.replace(/ /g, ''),
    'hex',
  ),
);

test('a captured request is read and written again byte for byte', () => {
  const frame = decodeArp(CAPTURED);
  expect(frame).toEqual({
    operation: 'request',
    source: '02:00:00:00:00:02',
    destination: 'ff:ff:ff:ff:ff:ff',
    senderMac: '02:00:00:00:00:02',
    senderIp: '192.0.2.2',
    targetMac: '00:00:00:00:00:00',
    targetIp: '192.0.2.1',
  });
  expect(encodeArp(frame as ArpFrame)).toEqual(CAPTURED);
});

test('what is encoded is decoded', () => {
  const macs = fc
    .uint8Array({ minLength: 6, maxLength: 6 })
    .map((bytes) => macFromBytes(bytes.with(0, (bytes[0] as number) & 0xfe)));
  const ips = fc.uint8Array({ minLength: 4, maxLength: 4 }).map((bytes) => ipFromBytes(bytes) as IpV4);
  const frames = fc.record<ArpFrame>({
    operation: fc.constantFrom('request', 'reply'),
    source: macs,
    destination: macs,
    senderMac: macs,
    senderIp: ips,
    targetMac: macs,
    targetIp: ips,
  });
  fc.assert(
    fc.property(frames, (frame) => {
      expect(decodeArp(encodeArp(frame))).toEqual(frame);
    }),
  );
});

describe('faults', () => {
  const changed = (offset: number, ...bytes: number[]) => {
    const frame = CAPTURED.slice();
    frame.set(bytes, offset);
    return frame;
  };
  test.each([
    ['short', CAPTURED.subarray(0, ARP_FRAME_LENGTH - 1)],
    ['not ARP', changed(12, 0x08, 0x00)],
    ['hardware type', changed(14, 0, 6)],
    ['protocol type', changed(16, 0x86, 0xdd)],
    ['address lengths', changed(18, 8)],
    ['address lengths', changed(19, 16)],
    ['operation', changed(20, 0, 3)],
    ['sender', changed(22, 0xff)],
  ])('%s', (fault, bytes) => {
    expect(decodeArp(bytes)).toBe(fault);
  });

  test('no bytes make it throw', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => void decodeArp(bytes)));
  });
});

test('a frame padded by Ethernet is read', () => {
  const padded = new Uint8Array(60);
  padded.set(CAPTURED);
  expect(decodeArp(padded)).toMatchObject({ senderIp: '192.0.2.2' });
});

test('the reply form names the sender as target, or Linux would not take it for gratuitous', () => {
  expect(decodeArp(gratuitousArp('reply', mac, vip))).toEqual({
    operation: 'reply',
    source: mac,
    destination: 'ff:ff:ff:ff:ff:ff',
    senderMac: mac,
    senderIp: vip,
    targetMac: mac,
    targetIp: vip,
  });
});

test('a probe has no sender address (RFC 5227 section 1.1)', () => {
  expect(decodeArp(arpProbe(mac, vip))).toMatchObject({ operation: 'request', senderIp: '0.0.0.0', targetIp: vip });
});
