import { type FSWatcher, watch } from 'node:fs';
import { join, relative } from 'node:path';
import type { ObjectChange } from '../objects.ts';
import { type FileContents, readFileText, unreadable } from './file.ts';
import { Folder } from './folder.ts';
import { fileProblem, formatManifestProblem, type ManifestProblem } from './problem.ts';
import { isManifest, readText, type Signature, scanTree, signatureAt, type Tree } from './scan.ts';

/** A writer that truncates a file fills it within this time, as a rule. */
const SETTLE_MS = 8;
/** Events get lost: network file systems have none, and inotify watches can be exhausted. */
const SCAN_INTERVAL_MS = 2000;
/** A scan of very many files waits this many times as long as the last took: longer where no event asked for it. */
const REST = { wanted: 4, periodic: 49 };
/** Files that a scan looks at together. */
const BATCH = 64;

export interface FolderChange {
  readonly changes: readonly ObjectChange[];
  /** All there are now, one line each. */
  readonly problems: readonly string[];
}

export interface ManifestListener {
  readonly onChange: (change: FolderChange) => void;
  /** Every file that was there at the start has been read. */
  readonly onSynced: () => void;
}

/**
 * Follows a folder of YAML and its sub-folders until the signal aborts. What the files say is read from the files
 * alone: events and periodic scans only tell when to look. A folder that is gone leaves everything in force.
 */
export function watchManifests(
  folder: string,
  listener: ManifestListener,
  signal: AbortSignal,
  scanIntervalMs = SCAN_INTERVAL_MS,
): void {
  const watcher = new FolderWatcher(folder, listener);
  signal.addEventListener('abort', () => watcher.close(), { once: true });
  void watcher.run(scanIntervalMs);
}

interface KnownFile {
  /** As it was last read; undefined where it could not be. */
  signature: Signature | undefined;
  readings: FileContents['readings'] | undefined;
  reading: boolean;
}

interface WatchedFolder {
  readonly identity: string;
  readonly watcher: FSWatcher;
}

class FolderWatcher {
  readonly #root: string;
  readonly #listener: ManifestListener;
  readonly #folder = new Folder();
  readonly #files = new Map<string, KnownFile>();
  readonly #watched = new Map<string, WatchedFolder>();
  readonly #looks = new Map<string, NodeJS.Timeout>();
  #scanWanted = false;
  #wake: (() => void) | undefined;
  #expiry: NodeJS.Timeout | undefined;
  #rootProblem: ManifestProblem | undefined;
  #told = '';
  #closed = false;

  constructor(root: string, listener: ManifestListener) {
    this.#root = root;
    this.#listener = listener;
  }

  /** Scans now and then, the first time reading every file. */
  async run(scanIntervalMs: number): Promise<void> {
    let synced = false;
    for (;;) {
      const start = performance.now();
      this.#scanWanted = false;
      const complete = await this.#scan();
      if (this.#closed) return;
      if (complete && !synced) this.#listener.onSynced();
      synced ||= complete;
      const took = performance.now() - start;
      await this.#pause(took * REST.wanted, false);
      await this.#pause(Math.max(scanIntervalMs, took * REST.periodic), true);
    }
  }

  /** @param untilWanted whether an event that asks for a scan ends the pause */
  async #pause(milliseconds: number, untilWanted: boolean): Promise<void> {
    const isOver = () => this.#closed || (untilWanted && this.#scanWanted);
    if (isOver()) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        if (!isOver()) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }

  close(): void {
    this.#closed = true;
    this.#wake?.();
    for (const timer of this.#looks.values()) clearTimeout(timer);
    clearTimeout(this.#expiry);
    this.#watchFolders(new Map());
  }

  /** Looks at every file. @returns whether the folder could be read. */
  async #scan(): Promise<boolean> {
    const tree = await scanTree(this.#root).catch((error: unknown) => error as Error);
    if (this.#closed) return false;
    if (tree instanceof Error) {
      const why = `cannot be read (${tree.message})`;
      this.#rootProblem = fileProblem(this.#root, why, 'give it back; until then its objects stay in force');
      this.#watchFolders(new Map());
      this.#tell([]);
      return false;
    }
    this.#rootProblem = undefined;
    // Watched first: what is written after a file was looked at is an event.
    this.#watchFolders(tree.folders);
    const paths = [...new Set([...tree.files, ...this.#files.keys()])];
    for (let i = 0; i < paths.length; i += BATCH) {
      await Promise.all(paths.slice(i, i + BATCH).map((path) => this.#examine(path)));
    }
    this.#tell([]);
    return true;
  }

  #watchFolders(folders: Tree['folders']): void {
    for (const [path, { identity, watcher }] of this.#watched) {
      if (folders.get(path) === identity) continue;
      watcher.close();
      this.#watched.delete(path);
    }
    for (const [path, identity] of folders) if (!this.#watched.has(path)) this.#watchFolder(path, identity);
  }

  #watchFolder(path: string, identity: string): void {
    try {
      const watcher = watch(path, (_event, name) => this.#onEvent(path, name));
      this.#watched.set(path, { identity, watcher });
      watcher.on('error', () => {
        watcher.close();
        this.#watched.delete(path);
      });
    } catch {
      // The folder is gone again, or watches are exhausted: the next scan tries anew.
    }
  }

  #onEvent(folder: string, name: string | null): void {
    if (name !== null && isManifest(name)) this.#look(join(folder, name));
    // A folder came or went, or the link by which a mounted ConfigMap changes all its files at once.
    if (name === null || !isManifest(name)) {
      this.#scanWanted = true;
      this.#wake?.();
    }
  }

  #look(path: string): void {
    if (this.#closed || this.#looks.has(path)) return;
    const look = () => {
      this.#looks.delete(path);
      void this.#examine(path);
    };
    this.#looks.set(path, setTimeout(look, SETTLE_MS));
  }

  /** Reads the file if it is not as it was last read; one reading of a file at a time. */
  async #examine(path: string): Promise<void> {
    const file = this.#files.get(path) ?? { signature: undefined, readings: undefined, reading: false };
    if (file.reading) {
      this.#look(path);
      return;
    }
    this.#files.set(path, file);
    file.reading = true;
    const signature = await signatureAt(path);
    if (signature === undefined || signature !== file.signature) await this.#read(path, file);
    file.reading = false;
  }

  async #read(path: string, file: KnownFile): Promise<void> {
    const result = await readText(path);
    if (this.#closed) return;
    const name = relative(this.#root, path);
    const now = performance.now();
    switch (result.kind) {
      case 'text': {
        const contents = readFileText(name, result.text, file.readings);
        file.signature = result.signature;
        file.readings = contents.readings;
        this.#tell(this.#folder.update(name, contents, now));
        return;
      }
      case 'unreadable':
        file.signature = undefined;
        this.#tell(this.#folder.update(name, unreadable(name, result.why), now));
        return;
      case 'gone':
        if (!(await this.#rootIsThere())) return;
        this.#files.delete(path);
        this.#tell(this.#folder.remove(name, now));
    }
  }

  #tell(changes: readonly ObjectChange[]): void {
    if (this.#closed) return;
    const problems = this.#folder.problems().map(formatManifestProblem);
    if (this.#rootProblem !== undefined) problems.unshift(formatManifestProblem(this.#rootProblem));
    const told = problems.join('\n');
    if (changes.length > 0 || told !== this.#told) {
      this.#told = told;
      this.#listener.onChange({ changes, problems });
    }
    this.#scheduleExpiry();
  }

  #scheduleExpiry(): void {
    clearTimeout(this.#expiry);
    const next = this.#folder.nextExpiry();
    if (next === undefined) return;
    this.#expiry = setTimeout(() => void this.#expire(), Math.max(1, next - performance.now()));
  }

  async #expire(): Promise<void> {
    if (await this.#rootIsThere()) this.#tell(this.#folder.expire(performance.now()));
  }

  /** While the folder itself is gone nobody has deleted a file. */
  async #rootIsThere(): Promise<boolean> {
    return (await signatureAt(this.#root)) !== undefined;
  }
}
