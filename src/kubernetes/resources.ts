import type { Kind } from '../api/kinds.ts';

/** Where the API server has the objects of a kind. */
export interface Resource {
  /** `/api/v1`, `/apis/signpost.dev/v1alpha1`. */
  readonly root: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

const SIGNPOST = '/apis/signpost.dev/v1alpha1';
const CORE = '/api/v1';
const GATEWAY = '/apis/gateway.networking.k8s.io';

/** Every kind that is read; more than one place where versions of the API differ, the newest first. */
export const RESOURCES: Readonly<Record<Kind, readonly [Resource, ...Resource[]]>> = {
  ServiceRoute: [{ root: SIGNPOST, plural: 'serviceroutes', namespaced: true }],
  AddressPool: [{ root: SIGNPOST, plural: 'addresspools', namespaced: false }],
  BGPPeer: [{ root: SIGNPOST, plural: 'bgppeers', namespaced: false }],
  Speaker: [{ root: SIGNPOST, plural: 'speakers', namespaced: false }],
  Service: [{ root: CORE, plural: 'services', namespaced: true }],
  EndpointSlice: [{ root: '/apis/discovery.k8s.io/v1', plural: 'endpointslices', namespaced: true }],
  Node: [{ root: CORE, plural: 'nodes', namespaced: false }],
  Namespace: [{ root: CORE, plural: 'namespaces', namespaced: false }],
  ReferenceGrant: [
    { root: `${GATEWAY}/v1`, plural: 'referencegrants', namespaced: true },
    { root: `${GATEWAY}/v1beta1`, plural: 'referencegrants', namespaced: true },
  ],
};

export interface ObjectName {
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

export function collectionPath({ root, plural }: Resource, namespace?: string): string {
  return namespace === undefined ? `${root}/${plural}` : `${root}/namespaces/${namespace}/${plural}`;
}

export function objectPath(resource: Resource, { namespace, name }: ObjectName, subresource?: 'status'): string {
  const path = `${collectionPath(resource, namespace)}/${name}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** `apiVersion` of the objects there. */
export function apiVersionOf({ root }: Resource): string {
  return root.replace(/^\/apis?\//, '');
}
