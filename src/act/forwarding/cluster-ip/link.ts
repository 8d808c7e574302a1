import { type Ip, parseIp } from '../../../../net/ip.ts';
import { type InterfaceName, parseInterfaceName } from '../../../../net/names.ts';
import { must } from '../../../../net/result.ts';

/** Name of the private namespace, below /run/netns. */
export const NAMESPACE = 'signpost';

/** The two ends of the link between this node and the private namespace. */
export const HOST_DEVICE: InterfaceName = must(parseInterfaceName('signpost0'));
export const INSIDE_DEVICE: InterfaceName = must(parseInterfaceName('host0'));

export interface LinkAddress {
  readonly address: Ip;
  readonly prefixLength: number;
}

// Link-local (RFC 3927) and unique local (RFC 4193): seen by this node and, where an ICMP error is sent, by clients.
export const OUTSIDE: readonly LinkAddress[] = [
  { address: must(parseIp('169.254.77.1')), prefixLength: 30 },
  { address: must(parseIp('fd53:6967:6e70:6f73::1')), prefixLength: 126 },
];
export const INSIDE: readonly LinkAddress[] = [
  { address: must(parseIp('169.254.77.2')), prefixLength: 30 },
  { address: must(parseIp('fd53:6967:6e70:6f73::2')), prefixLength: 126 },
];
