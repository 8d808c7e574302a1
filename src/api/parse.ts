import { parseIp } from '../../net/ip.ts';
import { type NodeName, parseNodeName, parseVip, type Vip } from '../../net/names.ts';
import { type AddressRange, parsePrefix, parseRange } from '../../net/prefix.ts';
import { ok, type Problem, type Result } from '../../net/result.ts';
import type { Affinity, Port } from '../decide/types.ts';
import { routeKey, serviceKey } from '../world/keys.ts';
import type {
  Grant,
  LabelSelector,
  Meta,
  NodeObject,
  Pool,
  Route,
  ServiceObject,
  SliceObject,
} from '../world/objects.ts';
import { serviceOfSlice } from './core.ts';
import type { ObjectOf } from './kinds.ts';

/** kube-apiserver's default for ClientIP affinity. */
const DEFAULT_AFFINITY_SECONDS = 10_800;

type RawMeta = ObjectOf<'Service'>['metadata'];
type RawSelector = {
  readonly matchLabels?: Record<string, string> | undefined;
  readonly matchExpressions?: readonly RawExpression[] | undefined;
};
type RawExpression = {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[] | undefined;
};

export function parseMeta(raw: RawMeta): Meta {
  return {
    name: raw.name,
    uid: raw.uid,
    namespace: raw.namespace ?? '',
    labels: raw.labels ?? {},
    created: raw.creationTimestamp ? Date.parse(raw.creationTimestamp) : 0,
    generation: raw.generation ?? 0,
  };
}

export function parseSelector(raw: RawSelector | undefined): LabelSelector {
  return {
    matchLabels: raw?.matchLabels ?? {},
    matchExpressions: (raw?.matchExpressions ?? []).map(({ key, operator, values }) => ({
      key,
      operator,
      values: values ?? [],
    })),
  };
}

/** Values that the schema has checked one by one are branded here; what only shows together is a problem. */
export function parseRoute(raw: ObjectOf<'ServiceRoute'>): Result<Route, readonly Problem[]> {
  const meta = parseMeta(raw.metadata);
  const { spec } = raw;
  const problems: Problem[] = [];
  const addresses: Vip[] = [];
  (spec.addresses ?? []).forEach((text, i) => {
    const vip = parseVip(text, `spec.addresses[${i}]`);
    if (vip.problem === undefined) addresses.push(vip.ok);
    else problems.push(vip.problem);
  });
  if (problems.length > 0) return { problem: problems };
  return ok({
    meta,
    key: routeKey(meta.namespace, meta.name),
    addressPool: spec.addressPool,
    addresses,
    ipFamilyPolicy: spec.ipFamilyPolicy,
    rules: spec.rules.map((rule) => ({
      name: rule.name,
      match:
        rule.protocol === undefined || rule.port === undefined
          ? undefined
          : { protocol: rule.protocol, port: rule.port as Port },
      backendRefs: rule.backendRefs.map((ref) => ({
        service: serviceKey(ref.namespace ?? meta.namespace, ref.name),
        port: ref.port as Port | undefined,
        weight: ref.weight,
      })),
      sourceRanges: canonicalPrefixes(rule.sourceRanges),
    })),
    forwarding: spec.forwarding,
    trafficPolicy: spec.trafficPolicy,
    affinity: parseAffinity(spec.sessionAffinity),
    sourceRanges: canonicalPrefixes(spec.sourceRanges),
  });
}

function parseAffinity(raw: ObjectOf<'ServiceRoute'>['spec']['sessionAffinity']): Affinity {
  return raw.type === 'ClientIP'
    ? { type: 'ClientIP', timeoutSeconds: raw.timeoutSeconds ?? DEFAULT_AFFINITY_SECONDS }
    : { type: raw.type };
}

function canonicalPrefixes(texts: readonly string[] = []): string[] {
  return texts.map((text) => parsePrefix(text).ok).filter((prefix) => prefix !== undefined);
}

export function parsePool(raw: ObjectOf<'AddressPool'>): Pool {
  const { spec } = raw;
  return {
    meta: parseMeta(raw.metadata),
    ranges: spec.addresses
      .map((text) => parseRange(text).ok)
      .filter((range): range is AddressRange => range !== undefined),
    avoidBuggyAddresses: spec.avoidBuggyAddresses,
    autoAssign: spec.autoAssign,
    priority: spec.priority,
    allow: { namespaces: spec.allow.namespaces ?? [], selector: parseSelector(spec.allow.namespaceSelector) },
    sharing: spec.sharing,
    l2:
      spec.l2?.enabled === true
        ? {
            interfaces: spec.l2.interfaces ?? [],
            nodeSelector: parseSelector(spec.l2.nodeSelector),
            preferredNodes: (spec.l2.preferredNodes ?? []) as NodeName[],
            fencing: spec.l2.fencing,
          }
        : undefined,
    bgp: (spec.bgp ?? []).map((advertisement) => ({
      peers: parseSelector(advertisement.peers),
      nodeSelector: parseSelector(advertisement.nodeSelector),
      aggregationLength: advertisement.aggregationLength,
      aggregationLengthV6: advertisement.aggregationLengthV6,
      localPreference: advertisement.localPreference,
      med: advertisement.med,
      communities: advertisement.communities ?? [],
      prepend: advertisement.prepend,
    })),
  };
}

export function parseService(raw: ObjectOf<'Service'>): ServiceObject {
  const meta = parseMeta(raw.metadata);
  return {
    meta,
    key: serviceKey(meta.namespace, meta.name),
    ports: (raw.spec.ports ?? []).map(({ name, protocol, port }) => ({ name, protocol, port: port as Port })),
    clusterIPs: (raw.spec.clusterIPs ?? []).map((text) => parseIp(text).ok).filter((ip) => ip !== undefined),
    type: raw.spec.type,
  };
}

/** Undefined for a slice of no Service. */
export function parseSlice(raw: ObjectOf<'EndpointSlice'>): SliceObject | undefined {
  const meta = parseMeta(raw.metadata);
  const service = serviceOfSlice(raw);
  if (service === undefined) return undefined;
  return {
    meta,
    service: serviceKey(meta.namespace, service),
    addressType: raw.addressType,
    ports: (raw.ports ?? []).map(({ name, protocol, port }) => ({
      name: name ?? '',
      protocol: protocol ?? 'TCP',
      port: (port ?? undefined) as Port | undefined,
    })),
    endpoints: (raw.endpoints ?? []).map(({ addresses, conditions, nodeName }) => ({
      addresses: addresses.map((text) => parseIp(text).ok).filter((ip) => ip !== undefined),
      node: nodeName == null ? undefined : parseNodeName(nodeName).ok,
      // Absent conditions mean ready and serving (discovery/v1 EndpointConditions).
      ready: conditions?.ready ?? true,
      serving: conditions?.serving ?? conditions?.ready ?? true,
      terminating: conditions?.terminating ?? false,
    })),
  };
}

export function parseNode(raw: ObjectOf<'Node'>): Result<NodeObject> {
  const name = parseNodeName(raw.metadata.name, 'metadata.name');
  if (name.problem !== undefined) return name;
  const condition = (type: string) => raw.status?.conditions?.find((c) => c.type === type)?.status;
  const addresses = (raw.status?.addresses ?? []).filter(({ type }) => type === 'InternalIP' || type === 'ExternalIP');
  return ok({
    meta: parseMeta(raw.metadata),
    name: name.ok,
    addresses: addresses.map(({ address }) => parseIp(address).ok).filter((ip) => ip !== undefined),
    podCIDRs: (raw.spec?.podCIDRs ?? []).map((text) => parsePrefix(text).ok).filter((prefix) => prefix !== undefined),
    // A Node of a manifest says nothing of its conditions: it is ready.
    ready: (condition('Ready') ?? 'True') === 'True',
    networkUnavailable: condition('NetworkUnavailable') === 'True',
    outOfService: (raw.spec?.taints ?? []).some((taint) => taint.key === 'node.kubernetes.io/out-of-service'),
  });
}

export function parseGrant(raw: ObjectOf<'ReferenceGrant'>): Grant {
  return {
    meta: parseMeta(raw.metadata),
    from: raw.spec.from,
    to: raw.spec.to.map(({ group, kind, name }) => ({ group, kind, name: name ?? undefined })),
  };
}
