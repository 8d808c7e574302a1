import type { Brand } from './brand.ts';
import { type Ip, isLinkLocal, isLoopback, isMulticast, isUnspecified, isV4Mapped, parseIp } from './ip.ts';
import { ok, problem, type Result } from './result.ts';

/** The name of a node: an RFC 1123 DNS subdomain, as Kubernetes requires of its Nodes. */
export type NodeName = Brand<string, 'NodeName'>;

/** An address that may be announced for a route: unicast, global or private. */
export type Vip = Ip & Brand<string, 'Vip'>;

/** The name of a Linux network interface: 1 to 15 bytes without slash, colon, quote or white space. */
export type InterfaceName = Brand<string, 'InterfaceName'>;

const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
// The kernel (dev_valid_name) refuses only '/', ':' and white space; quotes and globs are refused here
// because interface names are written into rulesets.
const INTERFACE = /^(?!\.{1,2}$)[A-Za-z0-9_.@+-]{1,15}$/;

export function parseNodeName(text: string, field = ''): Result<NodeName> {
  return SUBDOMAIN.test(text) && text.length <= 253
    ? ok(text as NodeName)
    : problem(
        field,
        text,
        'is not a node name',
        'write lower-case letters, digits, "-" and ".", beginning and ending with a letter or digit, at most 253',
      );
}

export function parseInterfaceName(text: string, field = ''): Result<InterfaceName> {
  return INTERFACE.test(text)
    ? ok(text as InterfaceName)
    : problem(field, text, 'is not an interface name', 'write at most 15 of A-Z a-z 0-9 _ . @ + -, e.g. eth0');
}

export function parseVip(text: string, field = ''): Result<Vip> {
  const ip = parseIp(text, field);
  if (ip.problem !== undefined) return ip;
  const refused = [
    [isUnspecified, 'is the unspecified address'],
    [isLoopback, 'is a loopback address'],
    [isMulticast, 'is a multicast address'],
    [isLinkLocal, 'is a link-local address'],
    [isV4Mapped, 'is an IPv4-mapped address'],
  ] as const;
  const why = refused.find(([test]) => test(ip.ok))?.[1];
  if (why !== undefined) return problem(field, text, why, 'name a unicast address that clients can route to');
  if (ip.ok === '255.255.255.255') {
    return problem(field, text, 'is the broadcast address', 'name a unicast address that clients can route to');
  }
  return ok(ip.ok as Vip);
}
