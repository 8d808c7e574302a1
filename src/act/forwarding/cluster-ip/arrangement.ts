import { type Ip, isV4 } from '../../../../net/ip.ts';
import type { AddressRecord, LinkRecord, RouteRecord } from '../../../../sys/route-control.ts';
import {
  addAddress,
  addRoute,
  deleteRoute,
  type RouteRequest,
  setLinkMtu,
  setLinkUp,
  type UnicastRoute,
} from '../../../../sys/rtnetlink-requests.ts';
import { INSIDE, type LinkAddress, OUTSIDE } from './link.ts';

/** The node's own network namespace, and the private one. */
export type Side = 'host' | 'inside';

/** One thing that must be there beside the pair of devices. Those of a side are of its end of the pair. */
export type Part =
  | { readonly kind: 'up'; readonly side: Side }
  | { readonly kind: 'mtu'; readonly side: Side; readonly mtu: number }
  | { readonly kind: 'address'; readonly side: Side; readonly address: Ip; readonly prefixLength: number }
  | RoutePart;

/** Through the other end; `to` is a VIP, or undefined for the default route of the gateway's family. */
export interface RoutePart {
  readonly kind: 'route';
  readonly side: Side;
  readonly to: Ip | undefined;
  readonly gateway: Ip;
}

/** What rtnetlink tells of one end of the pair. */
export interface Reading {
  readonly link: LinkRecord;
  readonly addresses: readonly AddressRecord[];
  /** Those that Signpost made. */
  readonly routes: readonly RouteRecord[];
}

/** rtm_protocol of our routes: none of /etc/iproute2/rt_protos. */
export const ROUTE_PROTOCOL = 83;

/** Before those that routing daemons learn: another speaker may announce the VIP to them. */
const METRIC = 1;

const ENDS: Readonly<Record<Side, readonly LinkAddress[]>> = { host: OUTSIDE, inside: INSIDE };

/**
 * What carries packets for these VIPs into the private namespace and everything back.
 * @param mtu of the interfaces that announce: in bytes, so that nothing is cut smaller on the way than it came
 */
export function wantedParts(mtu: number, vips: readonly Ip[]): Part[] {
  const sides: readonly Side[] = ['host', 'inside'];
  // A node without IPv6 takes no IPv6 address.
  const used = ({ address }: LinkAddress) => vips.some((vip) => isV4(vip) === isV4(address));
  return [
    ...sides.map((side): Part => ({ kind: 'mtu', side, mtu })),
    ...sides.flatMap((side) => ENDS[side].filter(used).map((own): Part => ({ kind: 'address', side, ...own }))),
    ...sides.map((side): Part => ({ kind: 'up', side })),
    ...OUTSIDE.filter(used).map(
      ({ address }): Part => ({ kind: 'route', side: 'inside', to: undefined, gateway: address }),
    ),
    ...vips.map(routeToVip),
  ];
}

function routeToVip(vip: Ip): RoutePart {
  return { kind: 'route', side: 'host', to: vip, gateway: gatewayOf(vip, INSIDE) };
}

function gatewayOf(ip: Ip, end: readonly LinkAddress[]): Ip {
  return end.find(({ address }) => isV4(address) === isV4(ip))?.address ?? ip;
}

export function readParts(side: Side, { link, addresses, routes }: Reading): Part[] {
  const known = ENDS[side].filter(({ address }) => addresses.some(({ ip }) => ip === address));
  return [
    { kind: 'mtu', side, mtu: link.mtu },
    ...known.map((own): Part => ({ kind: 'address', side, ...own })),
    ...(link.up ? [{ kind: 'up', side } as const] : []),
    ...routes.flatMap(({ to, gateway }): Part[] =>
      gateway === undefined ? [] : [{ kind: 'route', side, to, gateway }],
    ),
  ];
}

export interface Difference {
  readonly missing: readonly Part[];
  /** Routes of ours that nobody wants: everything else that is too much does no harm. */
  readonly surplus: readonly RoutePart[];
}

export function difference(wanted: readonly Part[], found: readonly Part[]): Difference {
  const wantedIds = new Set(wanted.map(idOf));
  const foundIds = new Set(found.map(idOf));
  return {
    missing: wanted.filter((part) => !foundIds.has(idOf(part))),
    surplus: found.filter((part) => part.kind === 'route').filter((part) => !wantedIds.has(idOf(part))),
  };
}

function idOf(part: Part): string {
  switch (part.kind) {
    case 'up':
      return `${part.side} up`;
    case 'mtu':
      return `${part.side} mtu ${part.mtu}`;
    case 'address':
      return `${part.side} address ${part.address}`;
    case 'route':
      return `${part.side} route ${part.to} ${part.gateway}`;
  }
}

/** @param device index of the side's end of the pair */
export function requestFor(part: Part, device: number): RouteRequest {
  switch (part.kind) {
    case 'up':
      return setLinkUp(device);
    case 'mtu':
      return setLinkMtu(device, part.mtu);
    case 'address':
      return addAddress(device, part.address, part.prefixLength);
    case 'route':
      return addRoute(unicast(part, device));
  }
}

export function removalOf(part: RoutePart, device: number): RouteRequest {
  return deleteRoute(unicast(part, device));
}

function unicast({ to, gateway }: RoutePart, device: number): UnicastRoute {
  return { to, gateway, device, metric: METRIC, protocol: ROUTE_PROTOCOL };
}
