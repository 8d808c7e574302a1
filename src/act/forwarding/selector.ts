import { hash32 } from '../../../net/rendezvous.ts';
import type { Affinity } from '../../decide/types.ts';
import type { FamilyText } from './family.ts';
import { HASH_BUCKETS } from './hash-table.ts';
import { packetKey } from './skeleton.ts';
import type { Slots } from './slots.ts';
import type { ChainObject, SetObject, TableObject } from './table.ts';
import { join, type NftText, nft } from './text.ts';

/**
 * How new connections of an entry are spread: a chain that all entries with the same weights share, and the objects
 * that it needs, itself last, in an order in which they can be made. The endpoints are elements of the slots' maps,
 * so that the number of chains does not grow with the number of entries.
 */
export interface Selector {
  readonly chain: NftText;
  readonly objects: readonly TableObject[];
}

// Without a seed of ours the kernel draws one at each load, and every node would choose another endpoint.
const HASH_SEED = nft`0x7369676e`;

export function selectorOf(family: FamilyText, affinity: Affinity, slots: Slots): Selector {
  const weights = slots.map((endpoint) => endpoint?.weight ?? 0);
  switch (affinity.type) {
    case 'None':
      return randomSelector(family, weights);
    case 'ClientIP':
      return clientSelector(family, weights, affinity.timeoutSeconds);
    case 'Hash':
      return hashSelector(family);
  }
}

export function slotMap({ digit }: FamilyText, slot: number): NftText {
  return nft`slot${digit}-${slot}`;
}

export function bucketMap({ digit }: FamilyText, bucket: number): NftText {
  return nft`bucket${digit}-${bucket}`;
}

function randomSelector(family: FamilyText, weights: readonly number[]): Selector {
  const name = nft`random${family.digit}-${shape(weights)}`;
  const endpoint = (slot: number) => nft`endpoint${family.digit}-${slot}`;
  return {
    chain: name,
    objects: [
      ...weights.flatMap((_, slot) => [
        slotObject(family, slot),
        translate(family, endpoint(slot), slotMap(family, slot)),
      ]),
      { kind: 'chain', name, rules: spread(weights, endpoint) },
    ],
  };
}

function clientSelector(family: FamilyText, weights: readonly number[], timeoutSeconds: number): Selector {
  const { digit, ip, address } = family;
  const name = nft`client${digit}-${timeoutSeconds}-${shape(weights)}`;
  const remembered = (slot: number) => nft`affinity${digit}-${slot}`;
  const endpoint = (slot: number) => nft`endpoint${digit}-${slot}-${timeoutSeconds}`;
  const client = nft`${ip} saddr . ${packetKey(family)}`;
  const type = nft`type ${address} . ${address} . inet_proto . inet_service`;
  const objects = weights.flatMap((_, slot): TableObject[] => [
    slotObject(family, slot),
    { kind: 'set', name: remembered(slot), spec: nft`${type}; size 262144; flags dynamic,timeout; timeout 3h` },
    {
      kind: 'chain',
      name: endpoint(slot),
      rules: [
        nft`update @${remembered(slot)} { ${client} timeout ${timeoutSeconds}s }`,
        translation(family, slotMap(family, slot)),
        // Only reached at a hole: the endpoint has gone, and its client must not come back to who takes the slot next.
        nft`delete @${remembered(slot)} { ${client} }`,
      ],
    },
  ]);
  const recall = weights.map((_, slot) => nft`${client} @${remembered(slot)} jump ${endpoint(slot)}`);
  return {
    chain: name,
    objects: [...objects, { kind: 'chain', name, rules: [...recall, ...spread(weights, endpoint)] }],
  };
}

function hashSelector(family: FamilyText): Selector {
  const name = nft`hash${family.digit}`;
  const buckets = Array.from({ length: HASH_BUCKETS }, (_, bucket) => bucket);
  const chainOf = (bucket: number) => nft`bucket-chain${family.digit}-${bucket}`;
  const jumps = buckets.map((bucket) => nft`${bucket} : jump ${chainOf(bucket)}`);
  return {
    chain: name,
    objects: [
      ...buckets.flatMap((bucket) => [
        mapObject(family, bucketMap(family, bucket)),
        translate(family, chainOf(bucket), bucketMap(family, bucket)),
      ]),
      {
        kind: 'chain',
        name,
        rules: [nft`jhash ${family.ip} saddr mod ${HASH_BUCKETS} seed ${HASH_SEED} vmap { ${join(jumps, ', ')} }`],
      },
    ],
  };
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

function slotObject(family: FamilyText, slot: number): SetObject {
  return mapObject(family, slotMap(family, slot));
}

function mapObject({ address }: FamilyText, name: NftText): SetObject {
  const type = nft`type ${address} . inet_proto . inet_service : ${address} . inet_service`;
  return { kind: 'map', name, spec: type };
}

function translate(family: FamilyText, name: NftText, map: NftText): ChainObject {
  return { kind: 'chain', name, rules: [translation(family, map)] };
}

function translation(family: FamilyText, map: NftText): NftText {
  return nft`dnat ${family.ip} to ${packetKey(family)} map @${map}`;
}
