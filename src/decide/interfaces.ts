import { type InterfaceName, parseInterfaceName, type Vip } from '../../net/names.ts';
import { prefixContains } from '../../net/prefix.ts';
import { addressesOfFamily, type Link, type Links } from '../world/links.ts';
import type { InterfaceChoice } from './eligible.ts';

/** A bridge or bond answers for its members; a member of a VRF answers for itself. */
const ANSWERED_BY_MASTER = new Set(['bridge', 'bond', 'team', 'openvswitch']);

export function answersForItself(link: Link): boolean {
  return !ANSWERED_BY_MASTER.has(link.memberOf ?? '');
}

/**
 * The one interface of this node that announces the VIP: up, with carrier, in the VIP's subnet or named by the pool.
 * Where none can, the interface that would, with what hinders it.
 */
export function interfaceFor(
  links: Links,
  vip: Vip,
  globs: readonly string[],
  allowed: readonly string[],
): InterfaceChoice {
  const named = globs.length > 0;
  const candidates = [...links.byIndex.values()]
    .filter((link) => link.mac !== undefined && !link.loopback && parseInterfaceName(link.name).ok !== undefined)
    .filter(answersForItself)
    .filter((link) => allowed.length === 0 || allowed.includes(link.name))
    .filter((link) => (named ? globs.some((glob) => matchesGlob(link.name, glob)) : true));
  const onSubnet = candidates.filter((link) => holdsSubnet(link, vip));
  const fitting = onSubnet.length > 0 ? onSubnet : named ? candidates : [];
  const best = [...fitting].sort((a, b) => hindrances(a).length - hindrances(b).length || a.index - b.index)[0];
  if (best === undefined) return { reason: nothingFits(vip, globs, allowed) };
  const name = best.name as InterfaceName;
  const [hindrance] = hindrances(best);
  return hindrance === undefined ? { name } : { name, reason: hindrance };
}

function hindrances(link: Link): string[] {
  return [
    ...(link.up ? [] : [`interface ${link.name} down`]),
    ...(link.carrier ? [] : [`interface ${link.name} has no carrier`]),
  ];
}

function holdsSubnet(link: Link, vip: Vip): boolean {
  return addressesOfFamily(link, vip).some(({ prefix, tentative }) => !tentative && prefixContains(prefix, vip));
}

function nothingFits(vip: Vip, globs: readonly string[], allowed: readonly string[]): string {
  if (globs.length > 0) return `no interface matches ${globs.join(', ')} of the pool`;
  if (allowed.length > 0) return `none of --interface ${allowed.join(', ')} is in the subnet of ${vip}`;
  return `no interface in the subnet of ${vip}`;
}

/** `*` and `?` as in a shell; everything else is itself. */
export function matchesGlob(text: string, glob: string): boolean {
  const pattern = glob
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${pattern}$`).test(text);
}
