import type { Brand } from '../../../net/brand.ts';
import type { Ip } from '../../../net/ip.ts';
import type { Mac } from '../../../net/mac.ts';
import type { InterfaceName, NodeName } from '../../../net/names.ts';
import type { Prefix } from '../../../net/prefix.ts';
import type { Port } from '../../decide/types.ts';

/** Text of the nft language. Made only here, from literals of this program and from parsed values. */
export type NftText = Brand<string, 'NftText'>;

type Safe = NftText | Ip | Prefix | Mac | InterfaceName | NodeName | Port | number;

/** A template whose values can only be ruleset text, parsed values and whole numbers: no string gets in unparsed. */
export function nft(parts: TemplateStringsArray, ...values: readonly Safe[]): NftText {
  let text = parts[0] ?? '';
  for (const [i, value] of values.entries()) text += checked(value) + (parts[i + 1] ?? '');
  return text as NftText;
}

export function join(texts: Iterable<NftText>, separator: ', ' | '; '): NftText {
  return [...texts].join(separator) as NftText;
}

function checked(value: Safe): string {
  if (typeof value !== 'number') return value;
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} in a ruleset`);
  return String(value);
}
