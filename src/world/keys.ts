import type { Brand } from '../../net/brand.ts';
import type { Ip } from '../../net/ip.ts';

/** `namespace/name` of a namespaced object. */
export type NamespacedKey<Kind extends string> = Brand<string, Kind>;

export type RouteKey = NamespacedKey<'ServiceRoute'>;
export type ServiceKey = NamespacedKey<'Service'>;

export function routeKey(namespace: string, name: string): RouteKey {
  return `${namespace}/${name}` as RouteKey;
}

export function serviceKey(namespace: string, name: string): ServiceKey {
  return `${namespace}/${name}` as ServiceKey;
}

/** Of a neighbour: the index of the interface that it is behind, and its address. */
export type NeighbourKey = Brand<string, 'NeighbourKey'>;

export function neighbourKey(interfaceIndex: number, ip: Ip): NeighbourKey {
  return `${interfaceIndex} ${ip}` as NeighbourKey;
}
