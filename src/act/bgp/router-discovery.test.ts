import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Ip, IpV6 } from '../../../net/ip.ts';
import type { Mac } from '../../../net/mac.ts';
import { ok, problem } from '../../../net/result.ts';
import { type DiscoveryOptions, RouterDiscovery } from './router-discovery.ts';
import { kindOf, routerAdvertisement, routerSolicitation } from './router-messages.ts';

const MAC = '02:00:00:00:00:10' as Mac;
const [A, B] = ['fe80::a' as IpV6, 'fe80::b' as IpV6];

describe('messages', () => {
  test('what we say is what RFC 4861 section 4 draws', () => {
    expect(Buffer.from(routerAdvertisement(MAC)).toString('hex')).toBe(
      `8600000000000000${'00000000'.repeat(2)}0101020000000010`,
    );
    expect(Buffer.from(routerSolicitation(undefined)).toString('hex')).toBe('8500000000000000');
    expect(kindOf(routerAdvertisement(MAC))).toBe('advertisement');
    expect(kindOf(routerSolicitation(MAC))).toBe('solicitation');
  });

  test.each([
    ['cut short', routerAdvertisement(MAC).subarray(0, 15)],
    ['another code', Uint8Array.of(134, 1, ...routerAdvertisement(MAC).subarray(2))],
    ['an option without a length', Uint8Array.of(...routerAdvertisement(undefined), 1, 0, 0, 0, 0, 0, 0, 0)],
    ['an option beyond the end', Uint8Array.of(...routerAdvertisement(undefined), 1, 2, 0, 0, 0, 0, 0, 0)],
    ['another type', Uint8Array.of(135, 0, ...routerAdvertisement(MAC).subarray(2))],
  ])('%s is neither', (_, bytes) => {
    expect(kindOf(bytes)).toBeUndefined();
  });

  test('any bytes are taken', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => void kindOf(bytes)));
  });
});

describe('discovery', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  function start({ present = true } = {}) {
    const sent: string[] = [];
    const routers: (Ip | undefined)[] = [];
    let socket: Parameters<DiscoveryOptions['open']>[0] | undefined;
    const state = { present };
    const discovery = new RouterDiscovery({
      interface: 'eth1',
      onRouter: (address) => routers.push(address),
      mac: () => MAC,
      open(options) {
        if (!state.present) return problem('interface', 'eth1', 'does not exist', '');
        socket = options;
        return ok({
          send: (message, to) => sent.push(`${kindOf(message)} ${to}`),
          [Symbol.dispose]: () => void sent.push('closed'),
        });
      },
      now: () => Date.now(),
    });
    return {
      discovery,
      state,
      routers,
      take: () => sent.splice(0),
      hear: (source: IpV6) => socket?.onMessage(routerAdvertisement(undefined), source),
      solicit: () => socket?.onMessage(routerSolicitation(undefined), A),
      fail: () => socket?.onFailure(new Error('ENODEV')),
    };
  }

  test('asks once, shows itself at once, often at first, then every 10 s, and when asked', () => {
    const { take, solicit, discovery } = start();
    const ours = 'advertisement ff02::1';
    expect(take()).toEqual(['solicitation ff02::2', ours]);
    vi.advanceTimersByTime(2_000);
    expect(take()).toEqual([ours, ours]);
    vi.advanceTimersByTime(10_000);
    expect(take()).toEqual([ours]);
    solicit();
    expect(take()).toEqual([ours]);
    discovery[Symbol.dispose]();
    vi.advanceTimersByTime(60_000);
    expect(take()).toEqual(['closed']);
  });

  test('the first router is the peer as long as it is heard; another follows one that fell silent', () => {
    const { routers, hear, discovery } = start();
    hear(A);
    hear(B);
    vi.advanceTimersByTime(29_000);
    hear(A);
    vi.advanceTimersByTime(29_000);
    hear(B);
    expect(routers).toEqual([A]);
    vi.advanceTimersByTime(2_000);
    hear(B);
    expect(routers).toEqual([A, undefined, B]);
    discovery[Symbol.dispose]();
  });

  test('an address that is not of the link is no router', () => {
    const { routers, hear, discovery } = start();
    hear('2001:db8::1' as IpV6);
    expect(routers).toEqual([]);
    discovery[Symbol.dispose]();
  });

  test('an interface that goes takes its router along, and is looked for again', () => {
    const { routers, hear, fail, state, take, discovery } = start();
    hear(A);
    state.present = false;
    fail();
    expect(routers).toEqual([A, undefined]);
    vi.advanceTimersByTime(5_000);
    state.present = true;
    take();
    vi.advanceTimersByTime(1_000);
    expect(take()).toContain('solicitation ff02::2');
    hear(B);
    expect(routers).toEqual([A, undefined, B]);
    discovery[Symbol.dispose]();
  });
});
