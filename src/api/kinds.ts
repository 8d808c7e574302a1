import type { z } from 'zod';
import { AddressPoolSchema } from './address-pool.ts';
import { BGPPeerSchema } from './bgp-peer.ts';
import { EndpointSliceSchema, NamespaceSchema, NodeSchema, ReferenceGrantSchema, ServiceSchema } from './core.ts';
import { API_VERSION } from './fields.ts';
import { ServiceRouteSchema } from './service-route.ts';
import { SpeakerSchema } from './speaker.ts';

/** Every kind that is read, by `kind`. */
export const KINDS = {
  ServiceRoute: { apiVersions: [API_VERSION], namespaced: true, schema: ServiceRouteSchema },
  AddressPool: { apiVersions: [API_VERSION], namespaced: false, schema: AddressPoolSchema },
  BGPPeer: { apiVersions: [API_VERSION], namespaced: false, schema: BGPPeerSchema },
  Speaker: { apiVersions: [API_VERSION], namespaced: false, schema: SpeakerSchema },
  Service: { apiVersions: ['v1'], namespaced: true, schema: ServiceSchema },
  EndpointSlice: { apiVersions: ['discovery.k8s.io/v1'], namespaced: true, schema: EndpointSliceSchema },
  Node: { apiVersions: ['v1'], namespaced: false, schema: NodeSchema },
  Namespace: { apiVersions: ['v1'], namespaced: false, schema: NamespaceSchema },
  ReferenceGrant: {
    apiVersions: ['gateway.networking.k8s.io/v1', 'gateway.networking.k8s.io/v1beta1'],
    namespaced: true,
    schema: ReferenceGrantSchema,
  },
} as const;

export type Kind = keyof typeof KINDS;

/** An object of one of the kinds, checked and with its defaults filled in. */
export type KnownObject = { [K in Kind]: z.output<(typeof KINDS)[K]['schema']> }[Kind];
export type ObjectOf<K extends Kind> = z.output<(typeof KINDS)[K]['schema']>;

export function isKind(kind: string): kind is Kind {
  return Object.hasOwn(KINDS, kind);
}

/** `Kind namespace/name`, or `Kind name` where the kind is cluster-scoped: for messages and as a key. */
export function identify(object: KnownObject): string {
  const { name, namespace } = object.metadata;
  return KINDS[object.kind].namespaced ? `${object.kind} ${namespace ?? 'default'}/${name}` : `${object.kind} ${name}`;
}
