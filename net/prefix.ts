import type { Brand } from './brand.ts';
import { familyOf, type Ip, type IpFamily, type IpV4, type IpV6, ipFromBigInt, ipToBigInt, parseIp } from './ip.ts';
import { ok, problem, type Result } from './result.ts';

/** An IPv4 network in CIDR notation whose host bits are zero: `203.0.113.0/26`. */
export type PrefixV4 = Brand<string, 'PrefixV4'>;
/** An IPv6 network in CIDR notation whose host bits are zero, RFC 5952: `2001:db8:5::/120`. */
export type PrefixV6 = Brand<string, 'PrefixV6'>;
export type Prefix = PrefixV4 | PrefixV6;

/** An inclusive range of addresses of one family. */
export interface AddressRange {
  readonly family: IpFamily;
  readonly first: bigint;
  readonly last: bigint;
}

export function addressBits(family: IpFamily): number {
  return family === 'IPv4' ? 32 : 128;
}

export function parsePrefix(text: string, field = ''): Result<Prefix> {
  const example = 'write a network such as 203.0.113.0/26 or 2001:db8:5::/120';
  const [addressText = '', lengthText, ...more] = text.split('/');
  if (lengthText === undefined || more.length > 0) return problem(field, text, 'is not a CIDR', example);
  const address = parseIp(addressText, field);
  if (address.ok === undefined) return problem(field, text, 'is not a CIDR', example);
  const bits = addressBits(familyOf(address.ok));
  const length = Number(lengthText);
  if (!/^(?:0|[1-9]\d{0,2})$/.test(lengthText) || length > bits) {
    return problem(field, text, `has a prefix length that is not between 0 and ${bits}`, example);
  }
  const network = makePrefix(address.ok, length);
  if (prefixAddress(network) !== address.ok) {
    return problem(field, text, `has bits set beyond its prefix length`, `write ${network}`);
  }
  return ok(network);
}

/** The network of that length which holds the address. */
export function makePrefix(address: IpV4, length: number): PrefixV4;
export function makePrefix(address: IpV6, length: number): PrefixV6;
export function makePrefix(address: Ip, length: number): Prefix;
export function makePrefix(address: Ip, length: number): Prefix {
  const family = familyOf(address);
  const shift = BigInt(addressBits(family) - length);
  return `${ipFromBigInt((ipToBigInt(address) >> shift) << shift, family)}/${length}` as Prefix;
}

export function prefixAddress(prefix: Prefix): Ip {
  return prefix.slice(0, prefix.indexOf('/')) as Ip;
}

export function prefixLength(prefix: Prefix): number {
  return Number(prefix.slice(prefix.indexOf('/') + 1));
}

export function prefixFamily(prefix: Prefix): IpFamily {
  return prefix.includes(':') ? 'IPv6' : 'IPv4';
}

export function prefixRange(prefix: Prefix): AddressRange {
  const family = prefixFamily(prefix);
  const first = ipToBigInt(prefixAddress(prefix));
  const size = 1n << BigInt(addressBits(family) - prefixLength(prefix));
  return { family, first, last: first + size - 1n };
}

export function prefixContains(prefix: Prefix, ip: Ip): boolean {
  return rangeContains(prefixRange(prefix), ip);
}

export function rangeContains(range: AddressRange, ip: Ip): boolean {
  if (range.family !== familyOf(ip)) return false;
  const value = ipToBigInt(ip);
  return value >= range.first && value <= range.last;
}

export function rangesOverlap(a: AddressRange, b: AddressRange): boolean {
  return a.family === b.family && a.first <= b.last && b.first <= a.last;
}

export function rangeSize(range: AddressRange): bigint {
  return range.last - range.first + 1n;
}

/** A single address, a CIDR, or `first-last`. */
export function parseRange(text: string, field = ''): Result<AddressRange> {
  if (text.includes('/')) {
    const prefix = parsePrefix(text, field);
    return prefix.problem === undefined ? ok(prefixRange(prefix.ok)) : prefix;
  }
  const [firstText = '', lastText = firstText, ...more] = text.split('-').map((part) => part.trim());
  const first = parseIp(firstText, field);
  const last = parseIp(lastText, field);
  if (first.ok === undefined || last.ok === undefined || more.length > 0) {
    return problem(
      field,
      text,
      'is neither an address, a CIDR nor a range',
      'write 203.0.113.10, 203.0.113.0/26 or 203.0.113.100-203.0.113.120',
    );
  }
  const family = familyOf(first.ok);
  if (family !== familyOf(last.ok)) {
    return problem(field, text, 'mixes IPv4 and IPv6', 'write both ends of a range in one family');
  }
  const range = { family, first: ipToBigInt(first.ok), last: ipToBigInt(last.ok) };
  if (range.first > range.last) {
    return problem(field, text, 'ends before it begins', `write ${last.ok}-${first.ok}`);
  }
  return ok(range);
}

export function formatRange(range: AddressRange): string {
  const first = ipFromBigInt(range.first, range.family);
  return range.first === range.last ? first : `${first}-${ipFromBigInt(range.last, range.family)}`;
}
