import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { watch } from 'chokidar';
import { readDocuments } from './documents.ts';
import { Folder, type FolderChange } from './folder.ts';

/** An editor that renames its file into place deletes the old one a moment before. */
const DELETE_GRACE_MS = 500;

const isManifest = (path: string) => /\.(?:ya?ml|json)$/.test(path);
const isHidden = (path: string) => /(?:^|\/)\.[^/]/.test(path);

export interface ManifestListener {
  readonly onChange: (change: FolderChange) => void;
  /** Every file that was there at the start has been read. */
  readonly onSynced: () => void;
}

/** Watches a folder of YAML and its sub-folders until the signal aborts. Hidden files and folders are passed over. */
export function watchManifests(folder: string, listener: ManifestListener, signal: AbortSignal): void {
  const state = new Folder();
  const deletions = new Map<string, NodeJS.Timeout>();
  const latest = new Map<string, number>();
  let reading = 0;
  let scanned = false;
  const nameOf = (path: string) => relative(folder, path);

  const settle = () => {
    if (!scanned || reading > 0) return;
    scanned = false;
    listener.onSynced();
  };
  const read = async (path: string) => {
    clearTimeout(deletions.get(path));
    const turn = (latest.get(path) ?? 0) + 1;
    latest.set(path, turn);
    reading++;
    try {
      const text = await readFile(path, 'utf8');
      // A later reading of the same file may have overtaken this one.
      if (latest.get(path) === turn) listener.onChange(state.update(nameOf(path), readDocuments(nameOf(path), text)));
    } catch (error) {
      const gone = (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (!gone) listener.onChange(state.unreadable(nameOf(path), (error as Error).message));
    } finally {
      reading--;
      settle();
    }
  };
  const forget = (path: string) => {
    const remove = () => listener.onChange(state.remove(nameOf(path)));
    deletions.set(path, setTimeout(remove, DELETE_GRACE_MS));
  };

  const watcher = watch(folder, {
    ignored: (path, stats) => isHidden(nameOf(path)) || (stats?.isFile() === true && !isManifest(path)),
    alwaysStat: true,
  });
  watcher.on('add', (path) => void read(path));
  watcher.on('change', (path) => void read(path));
  watcher.on('unlink', forget);
  watcher.on('error', (error) => listener.onChange(state.unreadable('.', (error as Error).message)));
  watcher.on('ready', () => {
    scanned = true;
    settle();
  });
  signal.addEventListener('abort', () => {
    for (const timer of deletions.values()) clearTimeout(timer);
    void watcher.close();
  });
}
