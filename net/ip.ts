import type { Brand } from './brand.ts';
import { ok, problem, type Result } from './result.ts';

/** An IPv4 address in dotted decimal without leading zeros. */
export type IpV4 = Brand<string, 'IpV4'>;
/** An IPv6 address in the canonical form of RFC 5952, without a zone. */
export type IpV6 = Brand<string, 'IpV6'>;
export type Ip = IpV4 | IpV6;
export type IpFamily = 'IPv4' | 'IPv6';

export const UNSPECIFIED_V4 = '0.0.0.0' as IpV4;
export const UNSPECIFIED_V6 = '::' as IpV6;

const V4_PATTERN = /^(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}$/;
const GROUP_PATTERN = /^[0-9a-fA-F]{1,4}$/;

export function parseIpV4(text: string, field = ''): Result<IpV4> {
  return V4_PATTERN.test(text) && text.split('.').every((octet) => Number(octet) <= 255)
    ? ok(text as IpV4)
    : problem(
        field,
        text,
        'is not an IPv4 address',
        'write four decimal octets without leading zeros, e.g. 203.0.113.10',
      );
}

export function parseIpV6(text: string, field = ''): Result<IpV6> {
  const bytes = v6Bytes(text);
  return bytes === undefined
    ? problem(field, text, 'is not an IPv6 address', 'write it as RFC 4291 does and without a zone, e.g. 2001:db8::10')
    : ok(ipFromBytes(bytes) as IpV6);
}

export function parseIp(text: string, field = ''): Result<Ip> {
  if (text.includes(':')) return parseIpV6(text, field);
  const v4 = parseIpV4(text, field);
  return v4.problem === undefined
    ? v4
    : problem(field, text, 'is not an IP address', 'write an address such as 203.0.113.10 or 2001:db8::10');
}

/** Sixteen bytes of a textual IPv6 address (RFC 4291 section 2.2), or undefined. */
function v6Bytes(text: string): Uint8Array | undefined {
  let source = text;
  const lastColon = source.lastIndexOf(':');
  if (source.includes('.')) {
    const v4 = parseIpV4(source.slice(lastColon + 1));
    if (lastColon < 0 || v4.ok === undefined) return undefined;
    const [a, b, c, d] = ipToBytes(v4.ok) as unknown as [number, number, number, number];
    source = `${source.slice(0, lastColon + 1)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  }
  const halves = source.split('::');
  if (halves.length > 2) return undefined;
  const [head = [], tail] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const groups = tail === undefined ? head : [...head, ...zeros(8 - head.length - tail.length), ...tail];
  // "::" stands for at least one group of zeros.
  if (groups.length !== 8 || (tail !== undefined && head.length + tail.length > 7)) return undefined;
  if (!groups.every((group) => GROUP_PATTERN.test(group))) return undefined;
  const bytes = new Uint8Array(16);
  groups.forEach((group, i) => {
    const value = Number.parseInt(group, 16);
    bytes[2 * i] = value >>> 8;
    bytes[2 * i + 1] = value & 0xff;
  });
  return bytes;
}

function zeros(count: number): string[] {
  return Array.from({ length: Math.max(0, count) }, () => '0');
}

export function familyOf(ip: Ip): IpFamily {
  return ip.includes(':') ? 'IPv6' : 'IPv4';
}

export function isV4(ip: Ip): ip is IpV4 {
  return !ip.includes(':');
}

export function isV6(ip: Ip): ip is IpV6 {
  return ip.includes(':');
}

/** Network byte order: 4 or 16 bytes. */
export function ipToBytes(ip: Ip): Uint8Array {
  return isV4(ip) ? v4Bytes(ip) : (v6Bytes(ip) as Uint8Array);
}

/** By character codes: datagrams name hundreds of addresses. */
function v4Bytes(ip: IpV4): Uint8Array {
  const bytes = new Uint8Array(4);
  let index = 0;
  for (let i = 0; i < ip.length; i++) {
    const code = ip.charCodeAt(i);
    if (code === 0x2e) index++;
    else bytes[index] = (bytes[index] as number) * 10 + (code - 0x30);
  }
  return bytes;
}

/** @param bytes 4 or 16 in network byte order; any other length is a programming error. */
export function ipFromBytes(bytes: Uint8Array): Ip {
  if (bytes.length === 4) return bytes.join('.') as IpV4;
  if (bytes.length !== 16) throw new RangeError(`an address has 4 or 16 bytes, not ${bytes.length}`);
  const groups = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i] as number) << 8) | (bytes[2 * i + 1] as number));
  return formatGroups(groups) as IpV6;
}

/** RFC 5952 section 4: lower case, the longest run of two or more zero groups as `::`, the first of equal runs. */
function formatGroups(groups: readonly number[]): string {
  let best = { start: 0, length: 1 };
  let run = { start: 0, length: 0 };
  groups.forEach((group, i) => {
    run = group !== 0 ? { start: i + 1, length: 0 } : { start: run.start, length: run.length + 1 };
    if (run.length > best.length) best = run;
  });
  const hex = (part: readonly number[]) => part.map((group) => group.toString(16)).join(':');
  if (best.length < 2) return hex(groups);
  return `${hex(groups.slice(0, best.start))}::${hex(groups.slice(best.start + best.length))}`;
}

export function ipToBigInt(ip: Ip): bigint {
  let value = 0n;
  for (const byte of ipToBytes(ip)) value = (value << 8n) | BigInt(byte);
  return value;
}

export function ipFromBigInt(value: bigint, family: IpFamily): Ip {
  const bytes = new Uint8Array(family === 'IPv4' ? 4 : 16);
  let rest = value;
  for (let i = bytes.length - 1; i >= 0; i--) {
    bytes[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return ipFromBytes(bytes);
}

/** IPv4 before IPv6, then numerically. */
export function compareIps(a: Ip, b: Ip): number {
  if (isV4(a) !== isV4(b)) return isV4(a) ? -1 : 1;
  const [x, y] = [ipToBigInt(a), ipToBigInt(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

export function isUnspecified(ip: Ip): boolean {
  return ip === UNSPECIFIED_V4 || ip === UNSPECIFIED_V6;
}

export function isMulticast(ip: Ip): boolean {
  const first = ipToBytes(ip)[0] as number;
  return isV4(ip) ? first >= 224 && first <= 239 : first === 0xff;
}

export function isLoopback(ip: Ip): boolean {
  return isV4(ip) ? ip.startsWith('127.') : ip === '::1';
}

/** 169.254.0.0/16 (RFC 3927) or fe80::/10 (RFC 4291). */
export function isLinkLocal(ip: Ip): boolean {
  const bytes = ipToBytes(ip);
  if (isV4(ip)) return bytes[0] === 169 && bytes[1] === 254;
  return bytes[0] === 0xfe && ((bytes[1] as number) & 0xc0) === 0x80;
}

/** ::ffff:0:0/96 (RFC 4291 section 2.5.5.2). */
export function isV4Mapped(ip: Ip): boolean {
  return (
    isV6(ip) &&
    ipToBytes(ip)
      .subarray(0, 12)
      .every((byte, i) => byte === (i < 10 ? 0 : 0xff))
  );
}
