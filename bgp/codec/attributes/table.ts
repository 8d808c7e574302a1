import type { IpV4 } from '../../../net/ip.ts';
import type { Aggregator, AsPathSegment, PathAttributes } from '../types.ts';
import { aggregator, as4Aggregator } from './aggregator.ts';
import { as4Path, asPath } from './as-path.ts';
import { atomicAggregate } from './atomic-aggregate.ts';
import type { AttributeCheck, AttributeCodec } from './attribute.ts';
import { communities } from './communities.ts';
import { extendedCommunities } from './extended-communities.ts';
import { largeCommunities } from './large-communities.ts';
import { localPreference } from './local-preference.ts';
import { type MpReach, mpReach } from './mp-reach.ts';
import { type MpUnreach, mpUnreach } from './mp-unreach.ts';
import { multiExitDisc } from './multi-exit-disc.ts';
import { nextHop } from './next-hop.ts';
import { onlyToCustomer } from './only-to-customer.ts';
import { origin } from './origin.ts';
import { UNREAD_ATTRIBUTES } from './unread.ts';

/** Every attribute that is read, as it stands in one UPDATE. */
export interface AttributeValues extends PathAttributes {
  readonly nextHop?: IpV4;
  readonly mpReach?: MpReach;
  readonly mpUnreach?: MpUnreach;
  readonly as4Path?: readonly AsPathSegment[];
  readonly as4Aggregator?: Aggregator;
}

export type AttributeKey = keyof AttributeValues;

type Value<K extends AttributeKey> = NonNullable<AttributeValues[K]>;

/** In the order in which they are written: MP_REACH_NLRI and MP_UNREACH_NLRI first (RFC 7606 section 5.1). */
export const ATTRIBUTES: { readonly [K in AttributeKey]-?: AttributeCodec<Value<K>> } = {
  mpReach,
  mpUnreach,
  origin,
  asPath,
  nextHop,
  med: multiExitDisc,
  localPreference,
  atomicAggregate,
  aggregator,
  communities,
  extendedCommunities,
  as4Path,
  as4Aggregator,
  largeCommunities,
  onlyToCustomer,
};

export const ATTRIBUTE_KEYS = Object.keys(ATTRIBUTES) as readonly AttributeKey[];

type Recognized =
  | { readonly key: AttributeKey; readonly rule: AttributeCodec<unknown> }
  | { readonly key?: undefined; readonly rule: AttributeCheck };

const BY_TYPE: ReadonlyMap<number, Recognized> = new Map<number, Recognized>([
  ...ATTRIBUTE_KEYS.map((key) => {
    const rule = ATTRIBUTES[key] as AttributeCodec<unknown>;
    return [rule.type, { key, rule }] as const;
  }),
  ...UNREAD_ATTRIBUTES.map((rule) => [rule.type, { rule }] as const),
]);

export function recognize(type: number): Recognized | undefined {
  return BY_TYPE.get(type);
}
