import { readFileSync, writeFileSync } from 'node:fs';

/** One input a line, in hexadecimal. */
export function readCorpus(target: string): readonly Uint8Array[] {
  const lines = readFileSync(pathOf(target), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => Uint8Array.from(Buffer.from(line, 'hex')));
}

export function writeCorpus(target: string, inputs: readonly Uint8Array[]): void {
  const lines = inputs
    .map((input) => Buffer.from(input).toString('hex'))
    .sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  writeFileSync(pathOf(target), lines.map((line) => `${line}\n`).join(''));
}

function pathOf(target: string): URL {
  return new URL(`corpus/${target}.txt`, import.meta.url);
}
