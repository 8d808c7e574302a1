import { type AddressRange, parsePrefix, parseRange, prefixRange, rangesOverlap } from '../../net/prefix.ts';
import { must, problem, type Result } from '../../net/result.ts';

/** Addresses that no route can have, whoever asks. */
const UNUSABLE: readonly { readonly range: AddressRange; readonly what: string }[] = [
  ['0.0.0.0/8', 'addresses of "this network" (RFC 1122)'],
  ['127.0.0.0/8', 'loopback addresses'],
  ['169.254.0.0/16', 'link-local addresses (RFC 3927)'],
  ['224.0.0.0/3', 'multicast, reserved or broadcast addresses'],
  ['::/127', 'the unspecified or the loopback address'],
  ['::ffff:0:0/96', 'IPv4-mapped addresses'],
  ['fe80::/10', 'link-local addresses'],
  ['ff00::/8', 'multicast addresses'],
].map(([prefix = '', what = '']) => ({ range: prefixRange(must(parsePrefix(prefix))), what }));

/** A range of addresses that routes can have. */
export function parsePoolRange(text: string, field = ''): Result<AddressRange> {
  const range = parseRange(text, field);
  if (range.problem !== undefined) return range;
  const unusable = UNUSABLE.find((candidate) => rangesOverlap(candidate.range, range.ok));
  return unusable === undefined
    ? range
    : problem(field, text, `holds ${unusable.what}`, 'name unicast addresses that clients can route to');
}
