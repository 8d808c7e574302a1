import { describe, expect, test } from 'vitest';
import type { Ip, IpV4, IpV6 } from '../net/ip.ts';
import type { Mac } from '../net/mac.ts';
import { type ArpFrame, arpProbe, arpRequest, decodeArp, gratuitousArp } from './arp-frame.ts';
import {
  dadSolicitation,
  decodeNdp,
  encodeNdp,
  type NdpFrame,
  solicitation,
  unsolicitedAdvertisement,
} from './ndp-frame.ts';
import { onArpFrame, onNdpFrame } from './responder.ts';

const own = '02:00:00:00:00:01' as Mac;
const other = '02:00:00:00:00:02' as Mac;
const vip = '203.0.113.10' as IpV4;
const host = '203.0.113.2' as IpV4;
const vip6 = '2001:db8::10' as IpV6;
const host6 = '2001:db8::2' as IpV6;
const self = { mac: own, answers: (ip: Ip) => ip === vip || ip === vip6 };

const arp = (bytes: Uint8Array) => onArpFrame(decodeArp(bytes) as ArpFrame, self);
const ndp = (bytes: Uint8Array) => onNdpFrame(decodeNdp(bytes) as NdpFrame, self);

describe('ARP', () => {
  test('a request for an address of ours is answered to the one who asked', () => {
    const reaction = arp(arpRequest(other, host, vip));
    expect(reaction).toMatchObject({ type: 'answer', ip: vip });
    expect(reaction.type === 'answer' && decodeArp(reaction.frame)).toEqual({
      operation: 'reply',
      source: own,
      destination: other,
      senderMac: own,
      senderIp: vip,
      targetMac: other,
      targetIp: host,
    });
  });

  test('a request for another address is not', () => {
    expect(arp(arpRequest(other, host, '203.0.113.11' as IpV4))).toEqual({ type: 'ignored', why: 'not ours' });
  });

  test('a probe is answered and told apart (RFC 5227 section 2.1.1)', () => {
    expect(arp(arpProbe(other, vip))).toMatchObject({ type: 'probed', ip: vip, mac: other });
  });

  test('an announcement of our address by another is a claim, in both forms', () => {
    for (const form of ['request', 'reply'] as const) {
      expect(arp(gratuitousArp(form, other, vip))).toEqual({ type: 'claimed', ip: vip, mac: other });
    }
  });

  test('so is a request that is sent from our address (RFC 5227 section 2.4)', () => {
    expect(arp(arpRequest(other, vip, host))).toEqual({ type: 'claimed', ip: vip, mac: other });
  });

  test('own frames that come back are ignored', () => {
    expect(arp(gratuitousArp('request', own, vip))).toEqual({ type: 'ignored', why: 'own frame' });
  });
});

describe('NDP', () => {
  test('a solicitation is answered to the one who asked, solicited and with Override', () => {
    const reaction = ndp(solicitation(other, host6, vip6));
    expect(reaction.type === 'answer' && decodeNdp(reaction.frame)).toMatchObject({
      type: 'advertisement',
      destination: other,
      from: vip6,
      to: host6,
      target: vip6,
      solicited: true,
      override: true,
      linkAddress: own,
    });
  });

  test('neighbour unreachability detection asks by unicast and without an option', () => {
    const nud = encodeNdp({
      type: 'solicitation',
      source: other,
      destination: own,
      from: host6,
      to: vip6,
      target: vip6,
      linkAddress: undefined,
    });
    const reaction = ndp(nud);
    expect(reaction.type === 'answer' && decodeNdp(reaction.frame)).toMatchObject({ destination: other, to: host6 });
  });

  test('duplicate address detection is answered to all nodes, unsolicited (RFC 4861 section 7.2.4)', () => {
    const reaction = ndp(dadSolicitation(other, vip6));
    expect(reaction).toMatchObject({ type: 'probed', ip: vip6, mac: other });
    expect(reaction.type === 'probed' && decodeNdp(reaction.frame)).toMatchObject({ to: 'ff02::1', solicited: false });
  });

  test('an advertisement of our address by another is a claim; own frames are ignored', () => {
    expect(ndp(unsolicitedAdvertisement(other, vip6))).toEqual({ type: 'claimed', ip: vip6, mac: other });
    expect(ndp(unsolicitedAdvertisement(own, vip6))).toEqual({ type: 'ignored', why: 'own frame' });
  });

  test('another address is not answered for', () => {
    expect(ndp(solicitation(other, host6, '2001:db8::11' as IpV6)).type).toBe('ignored');
  });
});
