import { familyOf, type Ip } from '../../net/ip.ts';
import type { Mac } from '../../net/mac.ts';
import { makePrefix, type Prefix } from '../../net/prefix.ts';
import type { RouteMessage } from '../../sys/rtnetlink.ts';

/** The network interfaces of this node, as the kernel tells of them. */
export interface Links {
  readonly byIndex: ReadonlyMap<number, Link>;
  readonly gateways: readonly Gateway[];
}

export interface Link {
  readonly index: number;
  readonly name: string;
  readonly mac: Mac | undefined;
  readonly up: boolean;
  readonly carrier: boolean;
  readonly loopback: boolean;
  readonly master: number | undefined;
  readonly memberOf: string | undefined;
  readonly addresses: readonly LinkAddress[];
}

export interface LinkAddress {
  readonly ip: Ip;
  readonly prefix: Prefix;
  readonly tentative: boolean;
}

/** A default router; `mac` once the kernel has resolved it. */
export interface Gateway {
  readonly index: number;
  readonly ip: Ip;
  readonly mac: Mac | undefined;
}

export const NO_LINKS: Links = { byIndex: new Map(), gateways: [] };

/** Folds messages in; the same object where nothing that is kept has changed. */
export function reduceLinks(links: Links, messages: readonly RouteMessage[]): Links {
  return messages.reduce(reduceOne, links);
}

function reduceOne(links: Links, message: RouteMessage): Links {
  switch (message.type) {
    case 'link': {
      const before = links.byIndex.get(message.index);
      const link = { index: message.index, ...message.link, addresses: before?.addresses ?? [] };
      return before !== undefined && sameLink(before, link) ? links : withLink(links, link);
    }
    case 'linkGone': {
      if (!links.byIndex.has(message.index)) return links;
      const byIndex = new Map(links.byIndex);
      byIndex.delete(message.index);
      return { byIndex, gateways: links.gateways.filter((gateway) => gateway.index !== message.index) };
    }
    case 'address':
    case 'addressGone':
      return reduceAddress(links, message);
    case 'gateway':
    case 'gatewayGone':
      return reduceGateway(links, message);
    case 'neighbour':
    case 'neighbourGone':
      return reduceNeighbour(links, message);
  }
}

function reduceAddress(links: Links, message: Extract<RouteMessage, { type: 'address' | 'addressGone' }>): Links {
  const link = links.byIndex.get(message.index);
  if (link === undefined) return links;
  const others = link.addresses.filter(({ ip }) => ip !== message.ip);
  const before = link.addresses.find(({ ip }) => ip === message.ip);
  if (message.type === 'addressGone') {
    return before === undefined ? links : withLink(links, { ...link, addresses: others });
  }
  const prefix = makePrefix(message.ip, message.prefixLength);
  if (before?.prefix === prefix && before.tentative === message.tentative) return links;
  const address = { ip: message.ip, prefix, tentative: message.tentative };
  return withLink(links, { ...link, addresses: [...others, address] });
}

function reduceGateway(links: Links, message: Extract<RouteMessage, { type: 'gateway' | 'gatewayGone' }>): Links {
  const same = (gateway: Gateway) => gateway.index === message.index && gateway.ip === message.ip;
  const known = links.gateways.some(same);
  if (message.type === 'gatewayGone') {
    return known ? { ...links, gateways: links.gateways.filter((gateway) => !same(gateway)) } : links;
  }
  if (known) return links;
  return { ...links, gateways: [...links.gateways, { index: message.index, ip: message.ip, mac: undefined }] };
}

/** Of neighbours only the gateways matter: they are told first when a VIP moves. */
function reduceNeighbour(links: Links, message: Extract<RouteMessage, { type: 'neighbour' | 'neighbourGone' }>): Links {
  const mac = message.type === 'neighbour' ? message.mac : undefined;
  const concerned = (gateway: Gateway) => gateway.index === message.index && gateway.ip === message.ip;
  if (!links.gateways.some((gateway) => concerned(gateway) && gateway.mac !== mac)) return links;
  return { ...links, gateways: links.gateways.map((gateway) => (concerned(gateway) ? { ...gateway, mac } : gateway)) };
}

function withLink(links: Links, link: Link): Links {
  return { ...links, byIndex: new Map(links.byIndex).set(link.index, link) };
}

function sameLink(a: Link, b: Link): boolean {
  return (
    a.name === b.name &&
    a.mac === b.mac &&
    a.up === b.up &&
    a.carrier === b.carrier &&
    a.loopback === b.loopback &&
    a.master === b.master &&
    a.memberOf === b.memberOf
  );
}

/** Every address of this node: none of them can be a VIP. */
export function ownAddresses(links: Links): Ip[] {
  return [...links.byIndex.values()].flatMap((link) => link.addresses.map(({ ip }) => ip));
}

export function addressesOfFamily(link: Link, like: Ip): LinkAddress[] {
  return link.addresses.filter(({ ip }) => familyOf(ip) === familyOf(like));
}
