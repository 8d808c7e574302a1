import { describe, expect, test } from 'vitest';
import { parseIp } from '../net/ip.ts';
import { must } from '../net/result.ts';
import { decodeAttributes } from './netlink-message.ts';
import { decodeRouteMessages, IFLA, IFLA_INFO } from './rtnetlink.ts';
import {
  addAddress,
  addRoute,
  createVeth,
  deleteRoute,
  dumpRoutes,
  type RouteRequest,
  setLinkUp,
} from './rtnetlink-requests.ts';

const ip = (text: string) => must(parseIp(text));
const flagsOf = (request: RouteRequest) => new DataView(request.buffer).getUint16(6, true);

/** The kernel tells of a change in the form in which it is asked for. */
const [REQUEST, ACK, REPLACE, EXCL, CREATE, DUMP] = [0x1, 0x4, 0x100, 0x200, 0x400, 0x300];

describe('requests', () => {
  test.each(['169.254.77.1', 'fd53::1'])('an address %s', (text) => {
    const request = addAddress(7, ip(text), 30);
    expect(decodeRouteMessages(request).messages).toEqual([
      { type: 'address', index: 7, ip: ip(text), prefixLength: 30, tentative: false },
    ]);
    expect(flagsOf(request)).toBe(REQUEST | ACK | REPLACE | CREATE);
  });

  test.each(['169.254.77.1', 'fd53::1'])('the default route by %s', (text) => {
    const route = { to: undefined, gateway: ip(text), device: 7, metric: 1, protocol: 83 };
    expect(decodeRouteMessages(addRoute(route)).messages).toEqual([{ type: 'gateway', index: 7, ip: ip(text) }]);
    expect(decodeRouteMessages(deleteRoute(route)).messages).toEqual([{ type: 'gatewayGone', index: 7, ip: ip(text) }]);
    expect(flagsOf(addRoute(route))).toBe(REQUEST | ACK | EXCL | CREATE);
  });

  test('a link that goes up', () => {
    const [message] = decodeRouteMessages(setLinkUp(7)).messages;
    expect(message).toMatchObject({ type: 'link', index: 7, link: { up: true } });
  });

  test('a pair of devices, of which the kernel is told both names', () => {
    const request = createVeth({ name: 'signpost0', peer: 'host0', peerNamespace: 11, mtu: 1400 });
    const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);
    const attributes = decodeAttributes(request.subarray(32));
    const info = decodeAttributes(attributes.get(IFLA.linkInfo) ?? new Uint8Array());
    const [peer] = decodeAttributes(info.get(IFLA_INFO.data) ?? new Uint8Array()).values();
    const ofPeer = decodeAttributes(peer?.subarray(16) ?? new Uint8Array());
    expect([text(attributes.get(IFLA.name)), text(info.get(IFLA_INFO.kind))]).toEqual(['signpost0\0', 'veth\0']);
    expect([text(ofPeer.get(IFLA.name)), ofPeer.get(IFLA.namespaceFd)?.[0]]).toEqual(['host0\0', 11]);
    expect(request.length % 4).toBe(0);
  });

  test('a dump is not acknowledged, and names its maker', () => {
    const request = dumpRoutes(2, 83);
    expect(flagsOf(request)).toBe(REQUEST | DUMP);
    expect([request[16], request[16 + 5]]).toEqual([2, 83]);
  });
});
