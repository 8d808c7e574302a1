import { familyOf, type Ip, isV4 } from '../../../net/ip.ts';
import { type Prefix, prefixAddress } from '../../../net/prefix.ts';
import type { ForwardingEndpoint, ForwardingEntry, Protocol } from '../../decide/types.ts';
import { familyTextOf } from './family.ts';
import { hashTable } from './hash-table.ts';
import { bucketMap, type Selector, selectorOf, slotMap } from './selector.ts';
import { assignSlots, type Slots, targetOf } from './slots.ts';
import { disjointPrefixes } from './source-ranges.ts';
import type { Element } from './table.ts';
import { type NftText, nft } from './text.ts';

/** An entry as it is in the kernel: what is wanted, and the slots that its endpoints have there. */
export interface PlacedEntry {
  readonly entry: ForwardingEntry;
  readonly slots: Slots;
}

export interface RenderedEntry {
  readonly elements: readonly Element[];
  /** Undefined: nobody takes new connections, and the guard refuses them. */
  readonly selector: Selector | undefined;
}

const PROTOCOL: Readonly<Record<Protocol, NftText>> = { TCP: nft`tcp`, UDP: nft`udp`, SCTP: nft`sctp` };

export function placeEntry(entry: ForwardingEntry, previous: Slots): PlacedEntry {
  return { entry, slots: assignSlots(entry, previous) };
}

export function renderEntry(placed: PlacedEntry): RenderedEntry {
  const { entry, slots } = placed;
  if (slots.length === 0) return { elements: [], selector: undefined };
  const key = nft`${entry.vip} . ${PROTOCOL[entry.protocol]} . ${entry.port}`;
  const admitted = admittedClients(entry, key);
  // The table of the private namespace has its endpoints.
  if (entry.relayed) return { elements: [relayElement(entry, key), ...admitted], selector: undefined };
  const { elements, selector } = renderServed(placed, key);
  return { elements: [...elements, ...admitted], selector };
}

function relayElement({ vip }: ForwardingEntry, key: NftText): Element {
  return { set: nft`relayed${familyTextOf(vip).digit}`, key };
}

function renderServed({ entry, slots }: PlacedEntry, key: NftText) {
  const { vip, port, affinity } = entry;
  const family = familyTextOf(vip);
  const { digit } = family;
  const selector = selectorOf(family, affinity, slots);
  const elements: Element[] = [{ set: nft`service${digit}`, key, data: nft`goto ${selector.chain}` }];
  const place = (set: NftText, { address, port: to }: ForwardingEndpoint) =>
    elements.push({ set, key, data: nft`${address} . ${to}` });
  if (affinity.type === 'Hash') bucketEndpoints(slots).forEach((e, bucket) => place(bucketMap(family, bucket), e));
  else slots.forEach((endpoint, slot) => endpoint && place(slotMap(family, slot), endpoint));
  if (entry.keepClientAddress)
    elements.push({ set: nft`keep-${PROTOCOL[entry.protocol]}${digit}`, key: nft`${vip} . ${port}` });
  return { elements, selector };
}

function admittedClients({ vip, sourceRanges }: ForwardingEntry, key: NftText): Element[] {
  if (sourceRanges.length === 0) return [];
  const { digit } = familyTextOf(vip);
  const admit = (prefix: Prefix) => ({ set: nft`allow${digit}`, key: nft`${key} . ${asListed(prefix)}` });
  return [{ set: nft`restricted${digit}`, key }, ...disjointPrefixes(sourceRanges, familyOf(vip)).map(admit)];
}

function bucketEndpoints(slots: Slots): ForwardingEndpoint[] {
  const endpoints = slots.filter((endpoint) => endpoint !== undefined);
  const names = endpoints.map(targetOf);
  const weights = endpoints.map(({ weight }) => weight);
  return hashTable(names, weights).map((index) => endpoints[index] as ForwardingEndpoint);
}

/** nft lists a network of one address without its length; elements are compared as it lists them. */
function asListed(prefix: Prefix): Prefix | Ip {
  const address = prefixAddress(prefix);
  return prefix.endsWith(isV4(address) ? '/32' : '/128') ? address : prefix;
}
