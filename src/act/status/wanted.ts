import type { AddressPool } from '../../api/address-pool.ts';
import type { BGPPeer } from '../../api/bgp-peer.ts';
import type { Condition } from '../../api/conditions.ts';
import type { ServiceRoute } from '../../api/service-route.ts';
import type { Speaker } from '../../api/speaker.ts';

interface Statuses {
  readonly ServiceRoute: NonNullable<ServiceRoute['status']>;
  readonly AddressPool: NonNullable<AddressPool['status']>;
  readonly BGPPeer: NonNullable<BGPPeer['status']>;
  readonly Speaker: NonNullable<Speaker['status']>;
}

export type StatusKind = keyof Statuses;

type WithoutSince<T> = T extends readonly (infer Item)[]
  ? readonly WithoutSince<Item>[]
  : T extends object
    ? { readonly [Field in keyof T as Field extends 'since' ? never : Field]: WithoutSince<T[Field]> }
    : T;

/** A status without its times, which are the writer's: when each part came to be what it is. */
export type TimelessStatus<Kind extends StatusKind = StatusKind> = {
  [K in Kind]: WithoutSince<Omit<Statuses[K], 'conditions'>> & { readonly conditions?: readonly Condition[] };
}[Kind];

/** What the status of one object is to be. */
export type WantedStatus = {
  [Kind in StatusKind]: {
    readonly kind: Kind;
    /** Absent for cluster-scoped kinds. */
    readonly namespace?: string;
    readonly name: string;
    /** `metadata.generation` of the spec that was judged. */
    readonly generation: number;
    readonly status: TimelessStatus<Kind>;
    /** The object is made where it is absent, and goes with its owner. */
    readonly create?: { readonly owner: OwnerReference | undefined };
  };
}[StatusKind];

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}
