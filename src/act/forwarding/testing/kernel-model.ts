import type { ListedTable } from '../listing.ts';
import type { Element, TableObject } from '../table.ts';
import type { NftText } from '../text.ts';

/**
 * One table as nf_tables keeps it, as far as this program's transactions use it: it refuses what the kernel refuses,
 * and a refused line changes nothing.
 */
export class KernelModel {
  #table: TableModel | undefined;

  run(line: string): void {
    const table = this.#table?.copy();
    this.#table = line.split(/; (?=(?:add|delete|flush) )/).reduce(apply, table);
  }

  list(): ListedTable | undefined {
    return this.#table?.list();
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

  /** Counts what a rule or an element's data names, by one more or one less. */
  refer(text: string | undefined, by: 1 | -1): void {
    for (const [, name = ''] of (text ?? '').matchAll(/(?:@|jump |goto )([\w-]+)/g)) {
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

function apply(table: TableModel | undefined, command: string): TableModel | undefined {
  const made = /^add table inet signpost \{ comment "(.*)"; \}$/.exec(command);
  if (made) return table ?? new TableModel(made[1] ?? '');
  if (table === undefined) refuse(command, 'there is no such table');
  if (command === 'delete table inet signpost') return undefined;
  for (const [pattern, run] of COMMANDS) {
    const match = pattern.exec(command);
    if (!match) continue;
    run(table, match.slice(1));
    return table;
  }
  return refuse(command, 'syntax error');
}

const COMMANDS: readonly Command[] = [
  [
    /^add (set|map|chain) inet signpost (\S+)(?: \{ .* \})?$/s,
    (table, [kind, name = '']) => {
      if (table.objects.has(name)) refuse(name, 'exists');
      table.objects.set(name, kind as TableObject['kind']);
      if (kind === 'chain') table.rules.set(name, []);
      else table.elements.set(name, new Map());
    },
  ],
  [
    /^add rule inet signpost (\S+) (.+)$/,
    (table, [chain = '', rule = '']) => {
      table.refer(rule, 1);
      present(table.rules, chain).push(rule);
    },
  ],
  [/^flush chain inet signpost (\S+)$/, (table, [chain = '']) => empty(table, chain)],
  [
    /^delete (?:set|map|chain) inet signpost (\S+)$/,
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
    /^add element inet signpost (\S+) \{ (.+) \}$/,
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
    /^delete element inet signpost (\S+) \{ (.+) \}$/,
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
