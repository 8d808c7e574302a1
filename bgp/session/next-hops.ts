import { familyOf, type Ip, type IpFamily, isLinkLocal, isLoopback, isV4, isV6 } from '../../net/ip.ts';
import type { NextHop } from '../codec/types.ts';

export interface NextHopOptions {
  /** Our end of the session. */
  readonly local: Ip;
  /** All addresses of the interface that has it. */
  readonly beside: readonly Ip[];
  /** IPv4 routes shall and may have an IPv6 next hop (RFC 8950). */
  readonly extendedNextHop: boolean;
  readonly configured?: Readonly<Partial<Record<IpFamily, Ip>>>;
}

/**
 * The next hops of a session: our end of it for its own family; for the other an IPv6 next hop by RFC 8950, else an
 * address of the same interface. A family without one stays untold.
 */
export function nextHopsOf({
  local,
  beside,
  extendedNextHop,
  configured = {},
}: NextHopOptions): Readonly<Partial<Record<IpFamily, NextHop>>> {
  const own = ownNextHop(local, beside);
  const next = (family: IpFamily): NextHop | undefined => {
    const asked = configured[family];
    if (asked !== undefined) return { address: asked };
    if (familyOf(local) === family) return own;
    if (family === 'IPv4' && extendedNextHop) return own;
    const address = beside.find((ip) => familyOf(ip) === family && isGlobal(ip));
    return address && { address };
  };
  const [ipv4, ipv6] = [next('IPv4'), next('IPv6')];
  return { ...(ipv4 === undefined ? {} : { IPv4: ipv4 }), ...(ipv6 === undefined ? {} : { IPv6: ipv6 }) };
}

/** RFC 2545 section 3: a global address, with the link-local one if the peers share a link. */
function ownNextHop(local: Ip, beside: readonly Ip[]): NextHop {
  if (isV4(local) || !isLinkLocal(local)) return { address: local };
  const global = beside.find((ip) => isV6(ip) && isGlobal(ip));
  return global === undefined ? { address: local } : { address: global, linkLocal: local };
}

function isGlobal(ip: Ip): boolean {
  return !isLinkLocal(ip) && !isLoopback(ip);
}
