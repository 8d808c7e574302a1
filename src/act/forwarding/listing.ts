import type { Element, Presence, TableObject } from './table.ts';
import type { NftText } from './text.ts';

/** A table as `nft -s list table` tells it. */
export interface ListedTable extends Presence {
  readonly comment: string | undefined;
  /** Of all sets and maps but the dynamic ones, whose elements the kernel adds by itself. */
  readonly elements: readonly Element[];
}

/**
 * The kernel is not an author of rulesets: what it lists is the table that an earlier run wrote, or that somebody
 * changed. Text of it reaches a ruleset only to delete what is listed.
 */
export function parseListing(text: string): ListedTable {
  const objects = new Map<string, TableObject['kind']>();
  const elements: Element[] = [];
  const rules = new Map<string, number>();
  let comment: string | undefined;
  let chain: string | undefined;
  let set: NftText | undefined;
  let dynamic = false;
  let listing = false;
  for (const line of text.split('\n').map((raw) => raw.trim())) {
    const opened = /^(set|map|chain) (\S+) \{$/.exec(line);
    if (opened) {
      const [, kind, name] = opened as unknown as [string, TableObject['kind'], NftText];
      objects.set(name, kind);
      set = kind === 'chain' ? undefined : name;
      chain = kind === 'chain' ? name : undefined;
      if (chain !== undefined) rules.set(chain, 0);
      dynamic = false;
      continue;
    }
    if (set === undefined) {
      comment ??= /^comment "(.*)"$/.exec(line)?.[1];
      if (chain !== undefined && isRule(line)) rules.set(chain, (rules.get(chain) ?? 0) + 1);
      continue;
    }
    if (line.startsWith('flags ')) dynamic = line.includes('dynamic');
    const body: string | undefined = listing
      ? line
      : line.startsWith('elements = {')
        ? line.slice('elements = {'.length)
        : undefined;
    if (body === undefined) continue;
    listing = !body.endsWith('}');
    if (!dynamic) elements.push(...parseElements(set, body.replace(/\}$/, '')));
  }
  return { comment, objects, rules, elements };
}

function isRule(line: string): boolean {
  return line !== '' && line !== '}' && !/^type \S+ hook /.test(line);
}

function parseElements(set: NftText, list: string): Element[] {
  return list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map((item) => {
      const [left, data] = item.split(' : ') as [string, NftText?];
      const key = left.replace(/ counter\b.*$/, '') as NftText;
      return data === undefined ? { set, key } : { set, key, data };
    });
}
