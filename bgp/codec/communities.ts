import { type IpV4, ipFromBytes, ipToBytes, parseIpV4 } from '../../net/ip.ts';
import { ok, problem, type Result } from '../../net/result.ts';
import type { LargeCommunity } from './types.ts';

/** RFC 1997, 3765, 7999, 8326 and 9494, as IANA lists them. */
export const WELL_KNOWN_COMMUNITIES = {
  'graceful-shutdown': 0xffff_0000,
  'accept-own': 0xffff_0001,
  'llgr-stale': 0xffff_0006,
  'no-llgr': 0xffff_0007,
  blackhole: 0xffff_029a,
  'no-export': 0xffff_ff01,
  'no-advertise': 0xffff_ff02,
  'no-export-subconfed': 0xffff_ff03,
  'no-peer': 0xffff_ff04,
} as const;

/** A community as operators write it, of the attribute that can carry it. */
export type Community =
  | { readonly kind: 'standard'; readonly value: number }
  | { readonly kind: 'extended'; readonly value: bigint }
  | { readonly kind: 'large'; readonly value: LargeCommunity };

/** RFC 4360 sections 3 and 4, RFC 5668: the sub-types that have a name in configurations. */
const EXTENDED_SUBTYPES = { target: 0x02, origin: 0x03 } as const;
const [TWO_OCTET_AS, IPV4_ADDRESS, FOUR_OCTET_AS] = [0x00, 0x01, 0x02];

const EXAMPLE = 'write 65000:100, 65000:1:2, target:65000:100 or a name such as no-export';

/** `A:B`, a well-known name, `A:B:C`, `target:A:B` or `origin:A:B` (A an AS number or an IPv4 address). */
export function parseCommunity(text: string, field = ''): Result<Community> {
  if (Object.hasOwn(WELL_KNOWN_COMMUNITIES, text)) {
    return ok({ kind: 'standard', value: WELL_KNOWN_COMMUNITIES[text as keyof typeof WELL_KNOWN_COMMUNITIES] });
  }
  const parts = text.split(':');
  const [first = ''] = parts;
  const community = Object.hasOwn(EXTENDED_SUBTYPES, first)
    ? parseExtended(EXTENDED_SUBTYPES[first as keyof typeof EXTENDED_SUBTYPES], parts.slice(1))
    : parts.length === 2
      ? parseStandard(parts)
      : parseLarge(parts);
  return community === undefined ? problem(field, text, 'is not a BGP community', EXAMPLE) : ok(community);
}

function parseStandard(parts: readonly string[]): Community | undefined {
  const [high, low] = parts.map((part) => parseNumber(part, 0xffff));
  return high === undefined || low === undefined ? undefined : { kind: 'standard', value: high * 0x1_0000 + low };
}

function parseLarge(parts: readonly string[]): Community | undefined {
  const [globalAdministrator, localData1, localData2, ...more] = parts.map((part) => parseNumber(part, 0xffff_ffff));
  if (globalAdministrator === undefined || localData1 === undefined || localData2 === undefined) return undefined;
  return more.length > 0 ? undefined : { kind: 'large', value: { globalAdministrator, localData1, localData2 } };
}

/** Where the administrator needs more than two octets, two are left for the number. */
function parseExtended(subtype: number, parts: readonly string[]): Community | undefined {
  const [administrator = '', local = '', ...more] = parts;
  if (more.length > 0) return undefined;
  const address = parseIpV4(administrator).ok;
  const asn = parseNumber(administrator, 0xffff_ffff);
  if (address !== undefined)
    return extended(IPV4_ADDRESS, subtype, ipv4Number(address), 16, parseNumber(local, 0xffff));
  if (asn === undefined) return undefined;
  return asn <= 0xffff
    ? extended(TWO_OCTET_AS, subtype, asn, 32, parseNumber(local, 0xffff_ffff))
    : extended(FOUR_OCTET_AS, subtype, asn, 16, parseNumber(local, 0xffff));
}

function extended(
  type: number,
  subtype: number,
  administrator: number,
  localBits: number,
  local: number | undefined,
): Community | undefined {
  if (local === undefined) return undefined;
  const head = (BigInt(type) << 56n) | (BigInt(subtype) << 48n);
  return { kind: 'extended', value: head | (BigInt(administrator) << BigInt(localBits)) | BigInt(local) };
}

function ipv4Number(address: IpV4): number {
  return new DataView(ipToBytes(address).buffer).getUint32(0);
}

function parseNumber(text: string, maximum: number): number | undefined {
  const value = Number(text);
  return /^\d{1,10}$/.test(text) && value <= maximum ? value : undefined;
}

/** The text that `parseCommunity` reads; an extended community without a text is in hexadecimal. */
export function formatCommunity(community: Community): string {
  switch (community.kind) {
    case 'standard':
      return formatStandard(community.value);
    case 'extended':
      return formatExtended(community.value);
    case 'large': {
      const { globalAdministrator, localData1, localData2 } = community.value;
      return `${globalAdministrator}:${localData1}:${localData2}`;
    }
  }
}

function formatStandard(value: number): string {
  const name = Object.entries(WELL_KNOWN_COMMUNITIES).find(([, known]) => known === value)?.[0];
  return name ?? `${Math.floor(value / 0x1_0000)}:${value & 0xffff}`;
}

function formatExtended(value: bigint): string {
  const type = Number(value >> 56n);
  const subtype = Number((value >> 48n) & 0xffn);
  const name = Object.entries(EXTENDED_SUBTYPES).find(([, known]) => known === subtype)?.[0];
  const [high, low] = [Number((value >> 16n) & 0xffff_ffffn), Number(value & 0xffffn)];
  if (name === undefined || type > FOUR_OCTET_AS) return `0x${value.toString(16).padStart(16, '0')}`;
  if (type === TWO_OCTET_AS) return `${name}:${high >>> 16}:${Number(value & 0xffff_ffffn)}`;
  if (type === FOUR_OCTET_AS) return `${name}:${high}:${low}`;
  return `${name}:${ipFromBytes(Uint8Array.of(high >>> 24, high >>> 16, high >>> 8, high))}:${low}`;
}
