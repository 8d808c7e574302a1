import { familyOf, type Ip, type IpFamily } from '../../../net/ip.ts';
import { type NftText, nft } from './text.ts';

/** How nft spells the things of one address family. */
export interface FamilyText {
  /** Ends the names of the family's sets and chains. */
  readonly digit: NftText;
  readonly ip: NftText;
  readonly address: NftText;
  readonly icmp: NftText;
}

const V4: FamilyText = { digit: nft`4`, ip: nft`ip`, address: nft`ipv4_addr`, icmp: nft`icmp` };
const V6: FamilyText = { digit: nft`6`, ip: nft`ip6`, address: nft`ipv6_addr`, icmp: nft`icmpv6` };

export const FAMILIES: readonly FamilyText[] = [V4, V6];

export function familyText(family: IpFamily): FamilyText {
  return family === 'IPv4' ? V4 : V6;
}

export function familyTextOf(ip: Ip): FamilyText {
  return familyText(familyOf(ip));
}

export function familyName({ ip }: FamilyText): IpFamily {
  return ip === 'ip' ? 'IPv4' : 'IPv6';
}
