import { familyOf, type IpFamily } from '../../net/ip.ts';
import type { NodeName } from '../../net/names.ts';
import type { Table } from '../../net/table.ts';
import type { ServiceKey } from '../world/keys.ts';
import type { BackendRef, Grant, Route, ServiceObject, SliceObject } from '../world/objects.ts';
import {
  collectEndpoints,
  localEndpoints,
  type ServicePortName,
  usableEndpoints,
  type WeightedEndpoint,
  weighEndpoints,
} from './endpoints.ts';
import type { Port, Protocol } from './types.ts';

/** A protocol and port of a route with the backends behind it. */
export interface ResolvedPort {
  readonly rule: string;
  readonly protocol: Protocol;
  readonly port: Port;
  readonly backends: readonly ResolvedBackend[];
  readonly sourceRanges: readonly string[];
}

export interface ResolvedBackend {
  readonly service: ServiceKey;
  readonly servicePort: Port;
  readonly name: ServicePortName;
  readonly weight: number;
}

export interface RefProblem {
  readonly reason: 'BackendNotFound' | 'RefNotPermitted' | 'UnsupportedProtocol';
  readonly message: string;
}

export interface Resolution {
  readonly ports: readonly ResolvedPort[];
  readonly problems: readonly RefProblem[];
}

export interface ServiceLookup {
  readonly services: Table<ServiceKey, ServiceObject>;
  readonly grants: readonly Grant[];
}

/** Services that a route's rules name. */
export function servicesOf(route: Route): ServiceKey[] {
  return [...new Set(route.rules.flatMap((rule) => rule.backendRefs.map((ref) => ref.service)))];
}

/** Finds the backends of each rule; one that cannot be found leaves the others as they are. */
export function resolveRoute(route: Route, lookup: ServiceLookup): Resolution {
  const problems: RefProblem[] = [];
  const ports: ResolvedPort[] = [];
  for (const rule of route.rules) {
    const sourceRanges = rule.sourceRanges.length > 0 ? rule.sourceRanges : route.sourceRanges;
    if (rule.match === undefined) {
      ports.push(...followService(route, rule.name, rule.backendRefs, sourceRanges, lookup, problems));
      continue;
    }
    const backends = rule.backendRefs
      .map((ref) => resolveBackend(route, ref, rule.match?.protocol ?? 'TCP', lookup, problems))
      .filter((backend) => backend !== undefined);
    ports.push({ rule: rule.name, ...rule.match, backends, sourceRanges });
  }
  return { ports, problems };
}

/** A rule without protocol and port exposes what its one Service has, and follows it. */
function followService(
  route: Route,
  rule: string,
  refs: readonly BackendRef[],
  sourceRanges: readonly string[],
  lookup: ServiceLookup,
  problems: RefProblem[],
): ResolvedPort[] {
  const [ref] = refs;
  const service = ref && findService(route, ref, lookup, problems);
  if (service === undefined) return [];
  return service.ports.map(({ name, protocol, port }) => ({
    rule,
    protocol,
    port,
    backends: [{ service: service.key, servicePort: port, name: { name, protocol }, weight: 1 }],
    sourceRanges,
  }));
}

function resolveBackend(
  route: Route,
  ref: BackendRef,
  protocol: Protocol,
  lookup: ServiceLookup,
  problems: RefProblem[],
): ResolvedBackend | undefined {
  const service = findService(route, ref, lookup, problems);
  if (service === undefined || ref.port === undefined) return undefined;
  const found = service.ports.find((port) => port.port === ref.port && port.protocol === protocol);
  if (found === undefined) {
    const has = service.ports.map((port) => `${port.port}/${port.protocol}`).join(', ');
    const message = `Service ${ref.service} has no port ${ref.port}/${protocol}; it has ${has === '' ? 'none' : has}`;
    problems.push({ reason: 'BackendNotFound', message });
    return undefined;
  }
  return { service: ref.service, servicePort: ref.port, name: { name: found.name, protocol }, weight: ref.weight };
}

function findService(
  route: Route,
  ref: BackendRef,
  lookup: ServiceLookup,
  problems: RefProblem[],
): ServiceObject | undefined {
  const [namespace = '', name = ''] = ref.service.split('/');
  if (namespace !== route.meta.namespace && !permitted(route, namespace, name, lookup.grants)) {
    const fix = `a ReferenceGrant in ${namespace} must allow ServiceRoutes of ${route.meta.namespace}`;
    problems.push({ reason: 'RefNotPermitted', message: `Service ${ref.service} is in another namespace; ${fix}` });
    return undefined;
  }
  const service = lookup.services.get(ref.service);
  if (service === undefined) {
    problems.push({ reason: 'BackendNotFound', message: `Service ${ref.service} does not exist` });
  } else if (service.type === 'ExternalName') {
    const message = `Service ${ref.service} is of type ExternalName, which has no endpoints; name a Service with a selector`;
    problems.push({ reason: 'BackendNotFound', message });
    return undefined;
  }
  return service;
}

function permitted(route: Route, namespace: string, name: string, grants: readonly Grant[]): boolean {
  return grants.some(
    (grant) =>
      grant.meta.namespace === namespace &&
      grant.from.some(
        (from) =>
          from.group === 'signpost.dev' && from.kind === 'ServiceRoute' && from.namespace === route.meta.namespace,
      ) &&
      grant.to.some((to) => to.group === '' && to.kind === 'Service' && (to.name === undefined || to.name === name)),
  );
}

/** ClusterIPs of a port's backends that have endpoints, weighed as the backends are. */
export function clusterIpsOf(
  port: ResolvedPort,
  family: IpFamily,
  services: ServiceLookup['services'],
  slicesOf: SlicesOf,
): { readonly targets: WeightedEndpoint[]; readonly problems: readonly RefProblem[] } {
  const problems: RefProblem[] = [];
  const backends = port.backends.flatMap(({ service, servicePort, name, weight }) => {
    if (usableEndpoints(collectEndpoints(slicesOf(service), name, family)).length === 0) return [];
    const address = services.get(service)?.clusterIPs.find((ip) => familyOf(ip) === family);
    if (address !== undefined) return [{ weight, endpoints: [{ address, port: servicePort }] }];
    const message = `Service ${service} has no ${family} ClusterIP; use forwarding Endpoints`;
    problems.push({ reason: 'BackendNotFound', message });
    return [];
  });
  return { targets: weighEndpoints(backends), problems };
}

export type SlicesOf = (service: ServiceKey) => readonly SliceObject[];

/** The endpoints that take a port's new connections on this node, weighed. */
export function endpointsOf(
  port: ResolvedPort,
  family: IpFamily,
  policy: Route['trafficPolicy'],
  self: NodeName,
  slicesOf: SlicesOf,
): WeightedEndpoint[] {
  const backends = port.backends.map(({ service, name, weight }) => {
    const all = collectEndpoints(slicesOf(service), name, family);
    return { weight, endpoints: policy === 'Local' ? localEndpoints(all, self) : usableEndpoints(all) };
  });
  return weighEndpoints(backends);
}
