import { styleText } from 'node:util';
import Table from 'cli-table3';
import { stringify } from 'yaml';

/** Where a command writes: tests hand in strings, `main.ts` the process' own streams. */
export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Colours are for a terminal whose user did not ask for none (NO_COLOR). */
  readonly colour: boolean;
}

export type Format = 'table' | 'wide' | 'json' | 'yaml';

type Style = Parameters<typeof styleText>[0];

export function paint(output: Output, style: Style, text: string): string {
  return output.colour ? styleText(style, text, { validateStream: false }) : text;
}

/** Columns without borders, as kubectl prints them. */
export function columns(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const nothing = Object.fromEntries(
    ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right']
      .concat(['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'])
      .map((part) => [part, '']),
  );
  const table = new Table({
    chars: nothing,
    style: { 'padding-left': 0, 'padding-right': 3, head: [], border: [] },
  });
  table.push([...head], ...rows.map((row) => [...row]));
  return table.toString().replace(/[ \t]+$/gm, '');
}

export function structured(format: 'json' | 'yaml', value: unknown): string {
  return format === 'json' ? JSON.stringify(value, null, 2) : stringify(value).trimEnd();
}
