import { randomBytes } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { ok, problem, type Result } from '../net/result.ts';

const MIN_BYTES = 32;

/** Reads the keys of heartbeats. Without any, one of this process' own: nobody else can then be heard. */
export async function readKeys(files: readonly string[]): Promise<Result<readonly Uint8Array[]>> {
  if (files.length === 0) return ok([randomBytes(MIN_BYTES)]);
  const keys: Uint8Array[] = [];
  for (const file of files) {
    try {
      const { mode } = await stat(file);
      if ((mode & 0o077) !== 0) {
        const shown = `0${(mode & 0o777).toString(8)}`;
        return problem('--key-file', file, `may be read by others (mode ${shown})`, `run 'chmod 0600 ${file}'`);
      }
      const key = await readFile(file);
      if (key.length < MIN_BYTES) {
        const fix = `write at least ${MIN_BYTES} random bytes: head -c 32 /dev/urandom > ${file}`;
        return problem('--key-file', file, `holds only ${key.length} bytes`, fix);
      }
      keys.push(key);
    } catch (error) {
      return problem(
        '--key-file',
        file,
        `cannot be read: ${(error as Error).message}`,
        'name a file that this user may read',
      );
    }
  }
  return ok(keys);
}
