import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Symbolic links may lead round in circles. */
const MAX_DEPTH = 16;
const MAX_BYTES = 64n << 20n;

/** Hidden files, such as editors' swap files and the `..data` of mounted ConfigMaps, are never manifests. */
export function isHidden(path: string): boolean {
  return /(?:^|\/)\.[^/]/.test(path);
}

export function isManifest(path: string): boolean {
  return /\.(?:ya?ml|json)$/.test(path) && !isHidden(path);
}

export interface Tree {
  /** Paths of the manifests, in name order. */
  readonly files: readonly string[];
  /** The folder itself and those within it. */
  readonly folders: readonly string[];
}

/** Finds the manifests of a folder and its sub-folders. A sub-folder that cannot be read has none. */
export async function scanTree(folder: string): Promise<Tree> {
  const files: string[] = [];
  const folders: string[] = [];
  const visit = async (path: string, depth: number): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true });
    folders.push(path);
    for (const entry of entries) {
      const child = join(path, entry.name);
      if (isHidden(entry.name)) continue;
      if (isManifest(child) && !entry.isDirectory()) files.push(child);
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
    if (!stats.isFile()) return { kind: 'unreadable', why: 'it is not a regular file' };
    if (stats.size > MAX_BYTES) return { kind: 'unreadable', why: 'it is larger than 64 MiB' };
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
