import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ok, problem, type Result } from '../../../net/result.ts';
import type { PasswordRef } from '../../decide/bgp/types.ts';

/** TCP_MD5SIG_MAXKEYLEN of <linux/tcp.h>, bytes. */
const MAX_BYTES = 80;

/**
 * The password in `FOLDER/NAME/KEY`, as a mounted Secret has it, or in the file `FOLDER/NAME`. Where it cannot be had
 * the session must not start: a peer with a password and one without never meet, but silence would not say why.
 */
export async function readPassword(folder: string, { name, key }: PasswordRef): Promise<Result<string>> {
  const candidates = [join(folder, name, key), join(folder, name)];
  for (const file of candidates) {
    const found = await readSecret(file);
    if (found !== undefined) return found;
  }
  const fix = `write the password to ${candidates[0]}, mode 0600`;
  return problem('spec.passwordSecretRef', name, 'has no file with a password', fix);
}

/** @param where it was read, for the problem */
export function parsePassword(text: string, where: string): Result<string> {
  const password = text.replace(/\r?\n$/, '');
  if (password !== '' && Buffer.byteLength(password) <= MAX_BYTES) return ok(password);
  const fix = `write a password of 1 to ${MAX_BYTES} bytes`;
  return problem('spec.passwordSecretRef', where, `does not hold 1 to ${MAX_BYTES} bytes`, fix);
}

async function readSecret(file: string): Promise<Result<string> | undefined> {
  try {
    const stats = await stat(file);
    if (!stats.isFile()) return undefined;
    if ((stats.mode & 0o077) !== 0) {
      return problem('spec.passwordSecretRef', file, 'may be read by others', `run 'chmod 0600 ${file}'`);
    }
    return parsePassword(await readFile(file, 'utf8'), file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    const fix = 'name a file that this user may read';
    return problem('spec.passwordSecretRef', file, `cannot be read: ${code ?? message}`, fix);
  }
}
