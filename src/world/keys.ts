import type { Brand } from '../../net/brand.ts';

/** `namespace/name` of a namespaced object. */
export type NamespacedKey<Kind extends string> = Brand<string, Kind>;

export type RouteKey = NamespacedKey<'ServiceRoute'>;
export type ServiceKey = NamespacedKey<'Service'>;

export function namespacedKey<K extends RouteKey | ServiceKey>(namespace: string, name: string): K {
  return `${namespace}/${name}` as K;
}
