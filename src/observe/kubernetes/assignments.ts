import { parseVip, type Vip } from '../../../net/names.ts';
import { CONTROLLER_NAME } from '../../api/service-route.ts';
import type { RawChange } from '../../kubernetes/reflector/inventory.ts';
import type { RouteKey } from '../../world/keys.ts';

/** What the status of a route says that it holds; undefined: nothing, or not ours. */
export type Assignment = readonly [RouteKey, readonly Vip[] | undefined];

interface RawRoute {
  readonly spec?: { readonly controllerName?: string };
  readonly status?: { readonly addresses?: readonly { readonly value: string }[] };
}

export function readAssignment({ key, object }: RawChange): Assignment {
  const { spec, status } = (object ?? {}) as RawRoute;
  const ours = spec?.controllerName === undefined || spec.controllerName === CONTROLLER_NAME;
  const vips = (status?.addresses ?? []).map(({ value }) => parseVip(value).ok).filter((vip) => vip !== undefined);
  return [key as RouteKey, ours && vips.length > 0 ? vips : undefined];
}
