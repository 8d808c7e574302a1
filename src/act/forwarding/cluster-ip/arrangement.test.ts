import { describe, expect, test } from 'vitest';
import { parseIp } from '../../../../net/ip.ts';
import { must } from '../../../../net/result.ts';
import { difference, type Part, type Reading, readParts, wantedParts } from './arrangement.ts';
import { INSIDE, OUTSIDE } from './link.ts';

const ip = (text: string) => must(parseIp(text));
const VIP = ip('192.0.2.1');
const VIP6 = ip('2001:db8::1');

/** What the kernel would tell of a side if it were as wanted. */
function reading(side: 'host' | 'inside', wanted: readonly Part[]): Reading {
  const own = wanted.filter((part) => part.side === side);
  const mtu = own.find((part) => part.kind === 'mtu')?.mtu ?? 0;
  return {
    link: { index: 7, name: 'x', mtu, up: own.some(({ kind }) => kind === 'up'), peer: 8 },
    addresses: own.filter((part) => part.kind === 'address').map(({ address }) => ({ index: 7, ip: address })),
    routes: own.filter((part) => part.kind === 'route').map(({ to, gateway }) => ({ to, gateway, device: 7 })),
  };
}

function found(wanted: readonly Part[]): Part[] {
  return (['host', 'inside'] as const).flatMap((side) => readParts(side, reading(side, wanted)));
}

describe('the arrangement', () => {
  test('gives each VIP a route in and each family a way back', () => {
    const routes = wantedParts(1500, [VIP, VIP6]).filter((part) => part.kind === 'route');
    expect(routes.filter(({ side }) => side === 'host').map(({ to, gateway }) => [to, gateway])).toEqual([
      [VIP, INSIDE[0]?.address],
      [VIP6, INSIDE[1]?.address],
    ]);
    expect(routes.filter(({ side }) => side === 'inside').map(({ to, gateway }) => [to, gateway])).toEqual(
      OUTSIDE.map(({ address }) => [undefined, address]),
    );
  });

  test('asks nothing of IPv6 where no VIP is of it', () => {
    expect(JSON.stringify(wantedParts(1500, [VIP]))).not.toContain('::');
  });

  test('has nothing to mend where all is as wanted, and everything where nothing is', () => {
    const wanted = wantedParts(1500, [VIP, VIP6]);
    expect(difference(wanted, found(wanted))).toEqual({ missing: [], surplus: [] });
    expect(difference(wanted, [])).toEqual({ missing: wanted, surplus: [] });
  });

  test.each(wantedParts(1500, [VIP, VIP6]))('mends $kind of $side alone', (part) => {
    const wanted = wantedParts(1500, [VIP, VIP6]);
    const without = wanted.filter((other) => JSON.stringify(other) !== JSON.stringify(part));
    expect(difference(wanted, found(without))).toEqual({ missing: [part], surplus: [] });
  });

  test('removes routes of VIPs that are gone, and nothing else', () => {
    const { missing, surplus } = difference(wantedParts(1500, [VIP]), found(wantedParts(1500, [VIP, VIP6])));
    expect(missing).toEqual([]);
    expect(surplus.filter(({ side }) => side === 'host').map(({ to }) => to)).toEqual([VIP6]);
  });
});
