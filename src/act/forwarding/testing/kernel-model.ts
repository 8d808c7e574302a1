import type { ListedTable } from '../listing.ts';
import type { Element, TableObject } from '../table.ts';
import type { NftText } from '../text.ts';

/**
 * Tables as nf_tables keeps them, as far as this program's transactions use them: it refuses what the kernel refuses,
 * and a refused line changes nothing.
 */
export class KernelModel {
  #tables: ReadonlyMap<string, TableModel> = new Map();

  run(line: string): void {
    const tables = new Map(Array.from(this.#tables, ([name, table]) => [name, table.copy()] as const));
    for (const command of line.split(/; (?=(?:add|delete|flush) )/)) apply(tables, command);
    this.#tables = tables;
  }

  list(table = 'inet signpost'): ListedTable | undefined {
    return this.#tables.get(table)?.list();
  }

  /** As nft prints it. */
  text(table: string): string | undefined {
    return this.#tables.get(table)?.text();
  }

  rules(table: string, chain: string): readonly string[] {
    return this.#tables.get(table)?.rules.get(chain) ?? [];
  }

  /** What a map gives for a key. */
  lookup(table: string, map: string, key: string): string | undefined {
    return this.#tables.get(table)?.elements.get(map)?.get(key);
  }
}

class TableModel {
  readonly comment: string;
  readonly objects = new Map<string, TableObject['kind']>();
  readonly rules = new Map<string, string[]>();
  readonly elements = new Map<string, Map<string, string | undefined>>();
  /** How many rules and elements name an object. */
  readonly users = new Map<string, number>();

  constructor(comment: string) {
    this.comment = comment;
  }

  copy(): TableModel {
    return copyOf(this);
  }

  list(): ListedTable {
    const elements: Element[] = [];
    for (const [set, members] of this.elements) {
      for (const [key, data] of members) {
        elements.push({
          set: set as NftText,
          key: key as NftText,
          ...(data !== undefined && { data: data as NftText }),
        });
      }
    }
    const rules = new Map(Array.from(this.rules, ([chain, list]) => [chain, list.length] as const));
    return { comment: this.comment, objects: new Map(this.objects), rules, elements };
  }

  text(): string {
    const blocks = Array.from(this.objects, ([name, kind]) => {
      const members = Array.from(this.elements.get(name) ?? [], ([key, data]) => (data ? `${key} : ${data}` : key));
      const elements = members.length > 0 ? [`\t\telements = { ${members.join(',\n\t\t\t     ')} }`] : [];
      const lines = kind === 'chain' ? (this.rules.get(name) ?? []).map((rule) => `\t\t${rule}`) : elements;
      return [`\t${kind} ${name} {`, ...lines, '\t}'].join('\n');
    });
    return [`table {`, `\tcomment "${this.comment}"`, ...blocks, '}', ''].join('\n');
  }

  /** Counts what a rule or an element's data names, by one more or one less. */
  refer(text: string | undefined, by: 1 | -1): void {
    for (const [, name = ''] of (text ?? '').matchAll(/(?:@|jump |goto )([\w.-]+)/g)) {
      if (!this.objects.has(name)) refuse(name, 'does not exist');
      this.users.set(name, (this.users.get(name) ?? 0) + by);
    }
  }
}

function copyOf(table: TableModel): TableModel {
  const copy = new TableModel(table.comment);
  for (const [name, kind] of table.objects) copy.objects.set(name, kind);
  for (const [name, rules] of table.rules) copy.rules.set(name, [...rules]);
  for (const [name, members] of table.elements) copy.elements.set(name, new Map(members));
  for (const [name, users] of table.users) copy.users.set(name, users);
  return copy;
}

type Command = readonly [pattern: RegExp, run: (table: TableModel, match: readonly string[]) => void];

function apply(tables: Map<string, TableModel>, command: string): void {
  const [, verb = '', name = '', rest = ''] = /^(\w+ \w+) (\w+ [\w-]+) ?(.*)$/s.exec(command) ?? [];
  const table = tables.get(name);
  if (verb === 'add table') {
    if (table === undefined) tables.set(name, new TableModel(/comment "(.*)"/.exec(rest)?.[1] ?? ''));
    return;
  }
  if (table === undefined) refuse(command, 'there is no such table');
  if (verb === 'delete table') {
    tables.delete(name);
    return;
  }
  for (const [pattern, run] of COMMANDS) {
    const match = pattern.exec(`${verb} ${rest}`);
    if (!match) continue;
    run(table, match.slice(1));
    return;
  }
  refuse(command, 'syntax error');
}

const COMMANDS: readonly Command[] = [
  [
    /^add (set|map|chain) (\S+)(?: \{ .* \})?$/s,
    (table, [kind, name = '']) => {
      if (table.objects.has(name)) refuse(name, 'exists');
      table.objects.set(name, kind as TableObject['kind']);
      if (kind === 'chain') table.rules.set(name, []);
      else table.elements.set(name, new Map());
    },
  ],
  [
    /^add rule (\S+) (.+)$/,
    (table, [chain = '', rule = '']) => {
      table.refer(rule, 1);
      present(table.rules, chain).push(rule);
    },
  ],
  [/^flush chain (\S+)$/, (table, [chain = '']) => empty(table, chain)],
  [
    /^delete (?:set|map|chain) (\S+)$/,
    (table, [name = '']) => {
      if (table.users.get(name)) refuse(name, 'is in use');
      if (!table.objects.has(name)) refuse(name, 'does not exist');
      if (table.rules.has(name)) empty(table, name);
      table.objects.delete(name);
      table.rules.delete(name);
      table.elements.delete(name);
    },
  ],
  [
    /^add element (\S+) \{ (.+) \}$/,
    (table, [set = '', list = '']) => {
      const members = present(table.elements, set);
      for (const [key, data] of items(list)) {
        if (members.has(key) && members.get(key) !== data) refuse(key, 'exists with other data');
        if (!members.has(key)) table.refer(data, 1);
        members.set(key, data);
      }
    },
  ],
  [
    /^delete element (\S+) \{ (.+) \}$/,
    (table, [set = '', list = '']) => {
      const members = present(table.elements, set);
      for (const [key] of items(list)) {
        table.refer(members.get(key), -1);
        if (!members.delete(key)) refuse(key, 'does not exist');
      }
    },
  ],
];

function empty(table: TableModel, chain: string): void {
  for (const rule of present(table.rules, chain).splice(0)) table.refer(rule, -1);
}

function items(list: string): [key: string, data: string | undefined][] {
  return list
    .split(', ')
    .map((item) => item.split(' : ') as [string, string?])
    .map(([key, data]) => [key, data]);
}

function present<V>(map: Map<string, V>, name: string): V {
  return map.get(name) ?? refuse(name, 'does not exist');
}

function refuse(what: string, why: string): never {
  throw new Error(`refused: ${what}: ${why}`);
}
