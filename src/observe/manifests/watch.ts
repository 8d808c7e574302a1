import { relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { watch } from 'chokidar';
import type { ObjectChange } from '../objects.ts';
import { readFileText, unreadable } from './file.ts';
import { Folder } from './folder.ts';
import { fileProblem, formatManifestProblem, type ManifestProblem } from './problem.ts';
import { isHidden, isManifest, listManifests, readText, type Signature, signatureAt } from './scan.ts';

/** A writer that truncates a file fills it within this time, as a rule. */
const SETTLE_MS = 8;
/** chokidar swallows a second event within 50 ms, so what was read is looked at once more. */
const RECHECK_MS = 60;
/** Events get lost (network file systems, exhausted inotify watches, links that change their aim). */
const SCAN_INTERVAL_MS = 2000;
/** A scan of many files takes at most this share of the time. */
const SCAN_SHARE = 0.1;
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
  signal.addEventListener('abort', () => void watcher.close(), { once: true });
  void watcher.run(signal, scanIntervalMs);
}

class FolderWatcher {
  readonly #root: string;
  readonly #listener: ManifestListener;
  readonly #folder = new Folder();
  readonly #files = new Map<string, KnownFile>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #watcher;
  #expiry: NodeJS.Timeout | undefined;
  #rootProblem: ManifestProblem | undefined;
  #told = '';
  #closed = false;

  constructor(root: string, listener: ManifestListener) {
    this.#root = root;
    this.#listener = listener;
    this.#watcher = watch(root, {
      ignoreInitial: true,
      ignored: (path, stats) => isHidden(this.#nameOf(path)) || (stats?.isFile() === true && !isManifest(path)),
    });
    this.#watcher.on('all', (_event, path) => {
      if (isManifest(this.#nameOf(path))) this.#look(path, SETTLE_MS);
    });
    // What events miss the scans find.
    this.#watcher.on('error', () => undefined);
  }

  /** Scans now and then, the first time reading every file. */
  async run(signal: AbortSignal, scanIntervalMs: number): Promise<void> {
    let synced = false;
    while (!signal.aborted) {
      const start = performance.now();
      const complete = await this.#scan();
      if (complete && !synced && !this.#closed) {
        synced = true;
        this.#listener.onSynced();
      }
      const pause = Math.max(scanIntervalMs, (performance.now() - start) / SCAN_SHARE);
      await sleep(pause, undefined, { signal }).catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    clearTimeout(this.#expiry);
    await this.#watcher.close();
  }

  #nameOf(path: string): string {
    return relative(this.#root, path);
  }

  /** Looks at every file. @returns whether the folder could be read. */
  async #scan(): Promise<boolean> {
    let paths: readonly string[];
    try {
      paths = await listManifests(this.#root);
      this.#rootProblem = undefined;
    } catch (error) {
      const why = `cannot be read (${(error as Error).message})`;
      this.#rootProblem = fileProblem(this.#root, why, 'give it back; until then its objects stay in force');
      this.#tell([]);
      return false;
    }
    const all = [...new Set([...paths, ...this.#files.keys()])];
    for (let i = 0; i < all.length; i += BATCH) {
      await Promise.all(all.slice(i, i + BATCH).map((path) => this.#examine(path)));
    }
    this.#tell([]);
    return true;
  }

  #look(path: string, delay: number): void {
    if (this.#closed || this.#timers.has(path)) return;
    const timer = setTimeout(() => {
      this.#timers.delete(path);
      void this.#examine(path);
    }, delay);
    this.#timers.set(path, timer);
  }

  /** Reads the file if it is not as it was last read; one reading of a file at a time. */
  async #examine(path: string): Promise<void> {
    const file = this.#files.get(path) ?? { signature: undefined, readings: undefined, busy: false };
    if (file.busy) {
      this.#look(path, RECHECK_MS);
      return;
    }
    this.#files.set(path, file);
    file.busy = true;
    try {
      const signature = await signatureAt(path);
      if (signature === undefined || signature !== file.signature) await this.#read(path, file);
    } finally {
      file.busy = false;
    }
  }

  async #read(path: string, file: KnownFile): Promise<void> {
    const result = await readText(path);
    if (this.#closed) return;
    const name = this.#nameOf(path);
    const now = performance.now();
    switch (result.kind) {
      case 'text': {
        const contents = readFileText(name, result.text, file.readings);
        file.signature = result.signature;
        file.readings = contents.readings;
        this.#tell(this.#folder.update(name, contents, now));
        this.#look(path, RECHECK_MS);
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

interface KnownFile {
  /** As it was last read. */
  signature: Signature | undefined;
  readings: ReturnType<typeof readFileText>['readings'] | undefined;
  busy: boolean;
}
