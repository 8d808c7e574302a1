import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeRouteMessages, encodeDumpRequest, RTM } from './rtnetlink.ts';

function attribute(type: number, value: Uint8Array): Uint8Array {
  const bytes = new Uint8Array((4 + value.length + 3) & ~3);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, 4 + value.length, true);
  view.setUint16(2, type, true);
  bytes.set(value, 4);
  return bytes;
}

function message(type: number, body: Uint8Array, ...attributes: readonly Uint8Array[]): Uint8Array {
  const length = 16 + body.length + attributes.reduce((sum, { length: l }) => sum + l, 0);
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, length, true);
  view.setUint16(4, type, true);
  bytes.set(body, 16);
  let offset = 16 + body.length;
  for (const part of attributes) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

const u32 = (n: number) => new Uint8Array(Uint32Array.of(n).buffer);
const text = (value: string) => new TextEncoder().encode(`${value}\0`);
const mac = Uint8Array.of(2, 0, 0, 0, 0, 1);

/** struct ifinfomsg. */
function ifinfo(index: number, flags: number, family = 0): Uint8Array {
  const view = new DataView(new ArrayBuffer(16));
  view.setUint8(0, family);
  view.setUint16(2, 1, true);
  view.setInt32(4, index, true);
  view.setUint32(8, flags, true);
  return new Uint8Array(view.buffer);
}

describe('links', () => {
  test('name, MAC, flags, master and its kind', () => {
    const info = attribute(18, attribute(4, text('bond')));
    const bytes = message(
      RTM.newLink,
      ifinfo(7, 0x10001),
      attribute(1, mac),
      attribute(3, text('eth1')),
      attribute(10, u32(9)),
      info,
    );
    expect(decodeRouteMessages(bytes).messages).toEqual([
      {
        type: 'link',
        index: 7,
        link: {
          name: 'eth1',
          mac: '02:00:00:00:00:01',
          up: true,
          carrier: true,
          loopback: false,
          master: 9,
          memberOf: 'bond',
        },
      },
    ]);
  });

  test('a port that leaves a bridge is told with the family of bridges, and is not gone', () => {
    const AF_BRIDGE = 7;
    expect(decodeRouteMessages(message(RTM.deleteLink, ifinfo(7, 1, AF_BRIDGE))).messages).toEqual([]);
    expect(decodeRouteMessages(message(RTM.deleteLink, ifinfo(7, 1))).messages).toEqual([
      { type: 'linkGone', index: 7 },
    ]);
  });
});

test('addresses: the own end of a point-to-point link, and flags beyond eight bits', () => {
  const ifaddr = Uint8Array.of(2, 24, 0, 0, 7, 0, 0, 0);
  const far = attribute(1, Uint8Array.of(192, 0, 2, 2));
  const own = attribute(2, Uint8Array.of(192, 0, 2, 1));
  expect(decodeRouteMessages(message(RTM.newAddress, ifaddr, far, own, attribute(8, u32(0x140)))).messages).toEqual([
    { type: 'address', index: 7, ip: '192.0.2.1', prefixLength: 24, tentative: true },
  ]);
});

describe('default routes', () => {
  /** struct rtmsg of the main table. */
  const rtmsg = (length: number, table = 254) => Uint8Array.of(2, length, 0, 0, table, 0, 0, 1, 0, 0, 0, 0);
  const via = [attribute(5, Uint8Array.of(192, 0, 2, 254)), attribute(4, u32(7))];

  test('a gateway', () => {
    expect(decodeRouteMessages(message(RTM.newRoute, rtmsg(0), ...via)).messages).toEqual([
      { type: 'gateway', index: 7, ip: '192.0.2.254' },
    ]);
  });

  test('other routes and other tables are passed over', () => {
    expect(
      decodeRouteMessages(message(RTM.newRoute, rtmsg(24), attribute(1, Uint8Array.of(10, 0, 0, 0)), ...via)).messages,
    ).toEqual([]);
    expect(decodeRouteMessages(message(RTM.newRoute, rtmsg(0, 100), ...via)).messages).toEqual([]);
  });
});

test('a neighbour without a usable address is gone', () => {
  const ndmsg = (state: number) => Uint8Array.of(2, 0, 0, 0, 7, 0, 0, 0, state, 0, 0, 0);
  const dst = attribute(1, Uint8Array.of(192, 0, 2, 9));
  const decode = (state: number, ...more: Uint8Array[]) =>
    decodeRouteMessages(message(RTM.newNeighbour, ndmsg(state), dst, ...more)).messages;
  expect(decode(2, attribute(2, mac))).toEqual([
    { type: 'neighbour', index: 7, ip: '192.0.2.9', mac: '02:00:00:00:00:01' },
  ]);
  expect(decode(0x20, attribute(2, mac))).toEqual([{ type: 'neighbourGone', index: 7, ip: '192.0.2.9' }]);
});

test('the end of a dump, an error and an interrupted dump', () => {
  const done = message(3, u32(0));
  const failed = message(2, new Uint8Array(Int32Array.of(-16).buffer));
  const interrupted = done.slice();
  interrupted[6] = 0x10;
  expect(decodeRouteMessages(done).control).toEqual(['done']);
  expect(decodeRouteMessages(failed).control).toEqual([{ errno: 16 }]);
  expect(decodeRouteMessages(interrupted).control).toEqual(['interrupted', 'done']);
});

test('no bytes make it throw, and it always ends', () => {
  const good = message(RTM.newLink, ifinfo(7, 1), attribute(3, text('eth1')));
  const mutated = fc.tuple(fc.nat(good.length - 1), fc.nat(255)).map(([i, byte]) => good.with(i, byte));
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), mutated), (bytes) => {
      expect(decodeRouteMessages(bytes).messages.length).toBeLessThanOrEqual(bytes.length / 16);
    }),
    { examples: [[Uint8Array.of(1)]] },
  );
});

test('a dump request has the header of its type and sequence', () => {
  const view = new DataView(encodeDumpRequest(RTM.getLink, 5).buffer);
  expect([view.getUint32(0, true), view.getUint16(4, true), view.getUint16(6, true), view.getUint32(8, true)]).toEqual([
    32, 18, 0x301, 5,
  ]);
});
