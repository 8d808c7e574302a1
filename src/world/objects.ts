import type { Ip } from '../../net/ip.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import type { AddressRange, Prefix } from '../../net/prefix.ts';
import type { SliceView } from '../decide/endpoints.ts';
import type { Affinity, Port, Protocol } from '../decide/types.ts';
import type { RouteKey, ServiceKey } from './keys.ts';

/** `metadata` of any object, as far as decisions depend on it. */
export interface Meta {
  readonly name: string;
  /** Absent in manifests. */
  readonly uid: string | undefined;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch; 0 for manifests, so that the name decides who is older. */
  readonly created: number;
  readonly generation: number;
}

export interface BackendRef {
  readonly service: ServiceKey;
  /** Absent only in a rule that follows every port of its Service. */
  readonly port: Port | undefined;
  readonly weight: number;
}

export interface RouteRule {
  readonly name: string;
  /** Absent: every port of the one backend Service under the same number. */
  readonly match: { readonly protocol: Protocol; readonly port: Port } | undefined;
  readonly backendRefs: readonly BackendRef[];
  readonly sourceRanges: readonly string[];
}

export interface Route {
  readonly meta: Meta;
  readonly key: RouteKey;
  readonly addressPool: string | undefined;
  readonly addresses: readonly Vip[];
  readonly ipFamilyPolicy: 'SingleStack' | 'PreferDualStack' | 'RequireDualStack';
  readonly rules: readonly RouteRule[];
  readonly forwarding: 'Auto' | 'Endpoints' | 'Direct' | 'ClusterIP';
  readonly trafficPolicy: 'Cluster' | 'Local';
  readonly affinity: Affinity;
  readonly sourceRanges: readonly string[];
}

export interface Pool {
  readonly meta: Meta;
  readonly ranges: readonly AddressRange[];
  readonly avoidBuggyAddresses: boolean;
  readonly autoAssign: boolean;
  readonly priority: number;
  readonly allow: { readonly namespaces: readonly string[]; readonly selector: LabelSelector };
  readonly sharing: 'Namespace' | 'Cluster';
  readonly l2: PoolL2 | undefined;
  readonly bgp: readonly PoolAdvertisement[];
}

export interface PoolAdvertisement {
  readonly peers: LabelSelector;
  readonly nodeSelector: LabelSelector;
  readonly aggregationLength: number;
  readonly aggregationLengthV6: number;
  readonly localPreference: number | undefined;
  readonly med: number | undefined;
  readonly communities: readonly string[];
  readonly prepend: number;
}

export interface PoolL2 {
  /** Globs; empty: every suitable interface. */
  readonly interfaces: readonly string[];
  readonly nodeSelector: LabelSelector;
  readonly preferredNodes: readonly NodeName[];
  readonly fencing: 'Prefer' | 'Require';
}

/** Kubernetes' LabelSelector; without requirements it selects everything. */
export interface LabelSelector {
  readonly matchLabels: Readonly<Record<string, string>>;
  readonly matchExpressions: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values: readonly string[];
  }[];
}

export interface ServiceObject {
  readonly meta: Meta;
  readonly key: ServiceKey;
  readonly ports: readonly { readonly name: string; readonly protocol: Protocol; readonly port: Port }[];
  readonly clusterIPs: readonly Ip[];
  readonly type: string;
}

export interface SliceObject extends SliceView {
  readonly meta: Meta;
  readonly service: ServiceKey;
}

export interface NodeObject {
  readonly meta: Meta;
  readonly name: NodeName;
  readonly addresses: readonly Ip[];
  readonly podCIDRs: readonly Prefix[];
  readonly ready: boolean;
  readonly networkUnavailable: boolean;
  readonly outOfService: boolean;
}

/** A ReferenceGrant: objects of `from` may name Services (all, or those named) of this namespace. */
export interface Grant {
  readonly meta: Meta;
  readonly from: readonly { readonly group: string; readonly kind: string; readonly namespace: string }[];
  readonly to: readonly { readonly group: string; readonly kind: string; readonly name: string | undefined }[];
}

export function selects(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const equal = Object.entries(selector.matchLabels).every(([key, value]) => labels[key] === value);
  return equal && selector.matchExpressions.every((expression) => matches(expression, labels));
}

function matches(
  { key, operator, values }: LabelSelector['matchExpressions'][number],
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = labels[key];
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}
