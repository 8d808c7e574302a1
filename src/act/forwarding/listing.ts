import type { Element, Presence, TableObject } from './table.ts';
import type { NftText } from './text.ts';

/** A table as `nft -s list table` tells it. */
export interface ListedTable extends Presence {
  readonly comment: string | undefined;
  /** Of all sets and maps but the dynamic ones, whose elements the kernel adds by itself. */
  readonly elements: readonly Element[];
}

/** An indented block of a table: kind, name and what is between the braces. */
const OBJECT = /^\t(set|map|chain) ([\w.-]+) \{\n(.*?)^\t\}$/gms;
const DYNAMIC = /^\t\tflags .*\bdynamic\b/m;
const ELEMENTS = /^\t\telements = \{(.*?)\}/ms;
const RULE = /^\t\t(?!type \S+ hook )\S/;

/**
 * The kernel is not an author of rulesets: what it lists is the table that an earlier run wrote, or that somebody
 * changed. Text of it reaches a ruleset only to delete what is listed, and only if it looks like what we write.
 */
export function parseListing(text: string): ListedTable {
  const objects = new Map<string, TableObject['kind']>();
  const rules = new Map<string, number>();
  const elements: Element[] = [];
  for (const match of text.matchAll(OBJECT)) {
    const [, kind, name, body] = match as unknown as [string, TableObject['kind'], NftText, string];
    objects.set(name, kind);
    if (kind === 'chain') rules.set(name, body.split('\n').filter((line) => RULE.test(line)).length);
    else if (!DYNAMIC.test(body)) for (const element of elementsOf(name, body)) elements.push(element);
  }
  return { comment: /^\tcomment "(.*)"$/m.exec(text)?.[1], objects, rules, elements };
}

/** Of an element with its data and a counter. */
const ELEMENT = /^(?<key>[\w.:/"@+ -]+?)(?: counter(?: packets \d+ bytes \d+)?)?(?: : (?<data>[\w.: -]+))?$/;

function* elementsOf(set: NftText, body: string): Generator<Element> {
  for (const item of (ELEMENTS.exec(body)?.[1] ?? '').split(',')) {
    const { key, data } = (ELEMENT.exec(item.trim())?.groups ?? {}) as { key?: NftText; data?: NftText };
    if (key !== undefined) yield data === undefined ? { set, key } : { set, key, data };
  }
}
