import { familyOf, type Ip, isV4 } from '../../../net/ip.ts';
import { type Prefix, prefixAddress } from '../../../net/prefix.ts';
import type { Affinity, ForwardingEndpoint, ForwardingEntry, Protocol } from '../../decide/types.ts';
import { type FamilyText, familyTextOf } from './family.ts';
import { hashTable } from './hash-table.ts';
import { type Bank, bucketMap, EVERYWHERE, HERE, type Selector, selectorOf, slotMap } from './selector.ts';
import { assignSlots, type EntrySlots, type Slots, targetOf } from './slots.ts';
import { disjointPrefixes } from './source-ranges.ts';
import type { Element } from './table.ts';
import { type NftText, nft } from './text.ts';

/** An entry as it is in the kernel: what is wanted, and the slots that its endpoints have there. */
export interface PlacedEntry extends EntrySlots {
  readonly entry: ForwardingEntry;
}

export interface RenderedEntry {
  readonly elements: readonly Element[];
  /** None: nobody takes new connections, and the guard refuses them. */
  readonly selectors: readonly Selector[];
}

export const PROTOCOL: Readonly<Record<Protocol, NftText>> = { TCP: nft`tcp`, UDP: nft`udp`, SCTP: nft`sctp` };

export function placeEntry(entry: ForwardingEntry, previous: EntrySlots): PlacedEntry {
  const own = entry.direct
    ? assignSlots({ endpoints: entry.direct.own, affinity: ownAffinity(entry) }, previous.own)
    : [];
  return { entry, slots: assignSlots(entry, previous.slots), own };
}

export function renderEntry(placed: PlacedEntry): RenderedEntry {
  const { entry, slots, own } = placed;
  if (slots.length + own.length === 0) return { elements: [], selectors: [] };
  const key = nft`${entry.vip} . ${PROTOCOL[entry.protocol]} . ${entry.port}`;
  const admitted = admittedClients(entry, key);
  // The table of the private namespace has its endpoints.
  if (entry.relayed) return { elements: [relayElement(entry, key), ...admitted], selectors: [] };
  const { elements, selectors } = renderServed(placed, key);
  return { elements: [...elements, ...admitted], selectors };
}

function relayElement({ vip }: ForwardingEntry, key: NftText): Element {
  return { set: nft`relayed${familyTextOf(vip).digit}`, key };
}

function renderServed({ entry, slots, own }: PlacedEntry, key: NftText): RenderedEntry {
  const { vip, port } = entry;
  const family = familyTextOf(vip);
  const served = renderSlots(EVERYWHERE, family, key, entry.affinity, slots);
  const servedHere = renderSlots(HERE, family, key, ownAffinity(entry), own);
  const elements = [...served.elements, ...servedHere.elements];
  // An endpoint here answers the client itself; one elsewhere, where this node has none, must answer through it.
  if (entry.keepClientAddress || own.length > 0)
    elements.push({ set: nft`keep-${PROTOCOL[entry.protocol]}${family.digit}`, key: nft`${vip} . ${port}` });
  return { elements, selectors: [...served.selectors, ...servedHere.selectors] };
}

/** With client affinity a client's node depends on its address alone, and so must its endpoint there. */
function ownAffinity({ affinity }: ForwardingEntry): Affinity {
  return affinity.type === 'None' ? affinity : { type: 'Hash' };
}

function renderSlots(bank: Bank, family: FamilyText, key: NftText, affinity: Affinity, slots: Slots): RenderedEntry {
  if (slots.length === 0) return { elements: [], selectors: [] };
  const selector = selectorOf(bank, family, affinity, slots);
  const place = (set: NftText, { address, port }: ForwardingEndpoint): Element => ({
    set,
    key,
    data: nft`${address} . ${port}`,
  });
  const endpoints =
    affinity.type === 'Hash'
      ? bucketEndpoints(slots).map((endpoint, bucket) => place(bucketMap(bank, family, bucket), endpoint))
      : slots.flatMap((endpoint, slot) => (endpoint ? [place(slotMap(bank, family, slot), endpoint)] : []));
  const entry = { set: nft`${bank.services}${family.digit}`, key, data: nft`goto ${selector.chain}` };
  return { elements: [entry, ...endpoints], selectors: [selector] };
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
