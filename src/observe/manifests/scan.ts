import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Symbolic links may lead round in circles. */
const MAX_DEPTH = 16;
/** More than any person writes. */
const MAX_BYTES = 16n << 20n;

/** Whether a file or link of that name is read: hidden ones, such as editors' swap files, never are. */
export function isManifest(name: string): boolean {
  return /^[^.].*\.(?:ya?ml|json)$/.test(name);
}

export interface Tree {
  /** Paths of the manifests, in name order. */
  readonly files: readonly string[];
  /** The folder itself and those within it, by path, with what tells one from another that took its place. */
  readonly folders: ReadonlyMap<string, string>;
}

/** Finds the manifests of a folder and its sub-folders. A sub-folder that cannot be read has none. */
export async function scanTree(folder: string): Promise<Tree> {
  const files: string[] = [];
  const folders = new Map<string, string>();
  const visit = async (path: string, depth: number): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true });
    const { dev, ino } = await stat(path);
    folders.set(path, `${dev}:${ino}`);
    for (const entry of entries) {
      const child = join(path, entry.name);
      // Among them the `..data` of mounted ConfigMaps, whose files are links beside it.
      if (entry.name.startsWith('.')) continue;
      if (isManifest(entry.name) && !entry.isDirectory()) files.push(child);
      else if (depth < MAX_DEPTH && (entry.isDirectory() || (entry.isSymbolicLink() && (await isFolder(child))))) {
        await visit(child, depth + 1).catch(() => undefined);
      }
    }
  };
  await visit(folder, 0);
  return { files: files.sort(), folders };
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

/** Differs whenever the file was written or replaced: links are followed to what they name. */
export type Signature = string;

/** A folder in the place of a file is no file. */
export type FileText =
  | { readonly kind: 'text'; readonly text: string; readonly signature: Signature }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unreadable'; readonly why: string };

export async function readText(path: string): Promise<FileText> {
  let file: FileHandle | undefined;
  try {
    // Without O_NONBLOCK the opening of a FIFO would wait for a writer.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await file.stat({ bigint: true });
    if (stats.isDirectory()) return { kind: 'gone' };
    if (!stats.isFile()) return { kind: 'unreadable', why: 'it is not a regular file' };
    if (stats.size > MAX_BYTES) return { kind: 'unreadable', why: 'it is larger than 16 MiB' };
    return { kind: 'text', text: await file.readFile('utf8'), signature: signatureOf(stats) };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? { kind: 'gone' } : { kind: 'unreadable', why: message };
  } finally {
    await file?.close();
  }
}

/** Undefined for what is gone or cannot be read. */
export async function signatureAt(path: string): Promise<Signature | undefined> {
  const stats = await stat(path, { bigint: true }).catch(() => undefined);
  return stats && signatureOf(stats);
}

function signatureOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): Signature {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':');
}
