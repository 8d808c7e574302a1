import { hash32 } from '../../../net/rendezvous.ts';
import type { Affinity } from '../../decide/types.ts';
import type { FamilyText } from './family.ts';
import { HASH_BUCKETS } from './hash-table.ts';
import { packetKey } from './skeleton.ts';
import type { Slots } from './slots.ts';
import type { ChainObject, SetObject, TableObject } from './table.ts';
import { join, type NftText, nft } from './text.ts';

/**
 * How new connections of an entry are spread: a chain that all entries with the same weights share. The endpoints are
 * elements of the slots' maps, so that the number of chains does not grow with the number of entries.
 */
export interface Selector {
  /** Its name says all that its rules depend on. */
  readonly chain: NftText;
  /** What it needs, itself last, in an order in which they can be made. */
  readonly objects: () => readonly TableObject[];
}

// Without a seed of ours the kernel draws one at each load, and every node would choose another endpoint.
const HASH_SEED = nft`0x7369676e`;

/** Two sets of endpoints that entries have, each with maps and chains of its own. */
export interface Bank {
  /** Begins the names of its slots' maps and of its chains. */
  readonly prefix: NftText;
  /** The maps of entries, without their family. */
  readonly services: NftText;
}

/** Endpoints wherever they are. */
export const EVERYWHERE: Bank = { prefix: nft``, services: nft`service` };
/** Endpoints on this node, for what members send here. */
export const HERE: Bank = { prefix: nft`own-`, services: nft`own` };

export function selectorOf(bank: Bank, family: FamilyText, affinity: Affinity, slots: Slots): Selector {
  const weights = slots.map((endpoint) => endpoint?.weight ?? 0);
  switch (affinity.type) {
    case 'None':
      return randomSelector(bank, family, weights);
    case 'ClientIP':
      return clientSelector(bank, family, weights, affinity.timeoutSeconds);
    case 'Hash':
      return hashSelector(bank, family);
  }
}

export function slotMap({ prefix }: Bank, { digit }: FamilyText, slot: number): NftText {
  return nft`${prefix}slot${digit}-${slot}`;
}

export function bucketMap({ prefix }: Bank, { digit }: FamilyText, bucket: number): NftText {
  return nft`${prefix}bucket${digit}-${bucket}`;
}

function randomSelector(bank: Bank, family: FamilyText, weights: readonly number[]): Selector {
  const { prefix } = bank;
  const chain = nft`${prefix}random${family.digit}-${shape(weights)}`;
  const endpoint = (slot: number) => nft`${prefix}endpoint${family.digit}-${slot}`;
  const objects = () => [
    ...weights.flatMap((_, slot) => translateBy(family, slotMap(bank, family, slot), endpoint(slot))),
    chainObject(chain, spread(weights, endpoint)),
  ];
  return { chain, objects };
}

function clientSelector(bank: Bank, family: FamilyText, weights: readonly number[], timeoutSeconds: number): Selector {
  const { digit, ip, address } = family;
  const chain = nft`client${digit}-${timeoutSeconds}-${shape(weights)}`;
  const endpoint = (slot: number) => nft`endpoint${digit}-${slot}-${timeoutSeconds}`;
  const memory = (slot: number) => nft`affinity${digit}-${slot}`;
  const memoryType = nft`type ${address} . ${address} . inet_proto . inet_service`;
  const client = nft`${ip} saddr . ${packetKey(family)}`;
  const slotObjects = (slot: number): TableObject[] => [
    mapObject(family, slotMap(bank, family, slot)),
    { kind: 'set', name: memory(slot), spec: nft`${memoryType}; size 262144; flags dynamic,timeout; timeout 3h` },
    chainObject(endpoint(slot), [
      nft`update @${memory(slot)} { ${client} timeout ${timeoutSeconds}s }`,
      translation(family, slotMap(bank, family, slot)),
      // Only reached at a hole: the endpoint has gone, and its client must not come back to who takes the slot next.
      nft`delete @${memory(slot)} { ${client} }`,
    ]),
  ];
  const recall = () => weights.map((_, slot) => nft`${client} @${memory(slot)} jump ${endpoint(slot)}`);
  const objects = () => [
    ...weights.flatMap((_, slot) => slotObjects(slot)),
    chainObject(chain, [...recall(), ...spread(weights, endpoint)]),
  ];
  return { chain, objects };
}

function hashSelector(bank: Bank, family: FamilyText): Selector {
  const { digit, ip } = family;
  const chain = nft`${bank.prefix}hash${digit}`;
  const objects = () => {
    const buckets = Array.from({ length: HASH_BUCKETS }, (_, bucket) => bucket);
    const chainOf = (bucket: number) => nft`${bank.prefix}bucket-chain${digit}-${bucket}`;
    const jumps = buckets.map((bucket) => nft`${bucket} : jump ${chainOf(bucket)}`);
    return [
      ...buckets.flatMap((bucket) => translateBy(family, bucketMap(bank, family, bucket), chainOf(bucket))),
      chainObject(chain, [nft`jhash ${ip} saddr mod ${HASH_BUCKETS} seed ${HASH_SEED} vmap { ${join(jumps, ', ')} }`]),
    ];
  };
  return { chain, objects };
}

/** Jumps to the endpoint of a slot by chance; a packet between two versions of the maps falls through to the first. */
function spread(weights: readonly number[], endpoint: (slot: number) => NftText): NftText[] {
  const first = weights.findIndex((weight) => weight > 0);
  const fallback = nft`goto ${endpoint(first)}`;
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total === weights[first]) return [fallback];
  let from = 0;
  const jumps = weights.flatMap((weight, slot) => {
    if (weight === 0) return [];
    const numbers = weight === 1 ? nft`${from}` : nft`${from}-${from + weight - 1}`;
    from += weight;
    return [nft`${numbers} : jump ${endpoint(slot)}`];
  });
  return [nft`numgen random mod ${total} vmap { ${join(jumps, ', ')} }`, fallback];
}

/** `2x1-1x3`: runs of weight x slots. Long ones by their hash, since the kernel bounds the length of names. */
function shape(weights: readonly number[]): NftText {
  const runs: { weight: number; slots: number }[] = [];
  for (const weight of weights) {
    const last = runs.at(-1);
    if (last?.weight === weight) last.slots++;
    else runs.push({ weight, slots: 1 });
  }
  const [head, ...tail] = runs.map(({ weight, slots }) => nft`${weight}x${slots}`);
  const text = tail.reduce((all, run) => nft`${all}-${run}`, head ?? nft`0x0`);
  return text.length <= 100 ? text : nft`h${hash32(text, 1)}-${hash32(text, 2)}`;
}

/** A map of entries to endpoints, and the chain that sends a packet there. */
function translateBy(family: FamilyText, map: NftText, chain: NftText): TableObject[] {
  return [mapObject(family, map), chainObject(chain, [translation(family, map)])];
}

function translation(family: FamilyText, map: NftText): NftText {
  return nft`dnat ${family.ip} to ${packetKey(family)} map @${map}`;
}

function mapObject({ address }: FamilyText, name: NftText): SetObject {
  const type = nft`type ${address} . inet_proto . inet_service : ${address} . inet_service`;
  return { kind: 'map', name, spec: type };
}

function chainObject(name: NftText, rules: readonly NftText[]): ChainObject {
  return { kind: 'chain', name, rules };
}
