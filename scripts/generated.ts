import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Writes generated files; with `--check` says which are not fresh instead. @returns the exit code. */
export function writeGenerated(files: ReadonlyMap<string, string>, argv: readonly string[]): number {
  if (!argv.includes('--check')) {
    for (const [path, text] of files) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    return 0;
  }
  const stale = [...files].filter(([path, text]) => current(path) !== text).map(([path]) => path);
  for (const path of stale) console.error(`${path} is not fresh; run npm run generate and commit it`);
  return stale.length === 0 ? 0 : 1;
}

function current(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
