import { identify, type KnownObject } from '../../api/kinds.ts';
import type { ObjectChange } from '../objects.ts';
import type { FileContents } from './documents.ts';

interface FileState {
  /** Of the last reading without problems, or what of a later one was right. */
  readonly objects: ReadonlyMap<string, KnownObject>;
  readonly problems: readonly string[];
}

export interface FolderChange {
  readonly changes: readonly ObjectChange[];
  readonly problems: readonly string[];
}

/**
 * What the files of a folder say together. A file with a problem leaves what it last gave in force, and what it
 * newly says rightly is taken; only a file that is deleted, or read without problems, lets objects go.
 * The same object in two files is taken from the first in name order.
 */
export class Folder {
  readonly #files = new Map<string, FileState>();
  #objects = new Map<string, { readonly object: KnownObject; readonly text: string }>();

  update(file: string, contents: FileContents): FolderChange {
    const before = this.#files.get(file)?.objects ?? new Map<string, KnownObject>();
    const now = new Map(contents.objects.map((object) => [identify(object), object]));
    const objects = contents.problems.length > 0 ? new Map([...before, ...now]) : now;
    const twice = contents.objects.length - now.size;
    const problems =
      twice > 0 ? [...contents.problems, `${file}: names an object twice; the last is taken`] : contents.problems;
    this.#files.set(file, { objects, problems });
    return this.#merge();
  }

  /** The file cannot be read, for a reason other than that it is gone. */
  unreadable(file: string, why: string): FolderChange {
    const objects = this.#files.get(file)?.objects ?? new Map<string, KnownObject>();
    this.#files.set(file, { objects, problems: [`${file}: cannot be read: ${why}`] });
    return this.#merge();
  }

  remove(file: string): FolderChange {
    this.#files.delete(file);
    return this.#merge();
  }

  #merge(): FolderChange {
    const merged = new Map<string, { readonly object: KnownObject; readonly file: string }>();
    const problems: string[] = [];
    for (const [file, state] of [...this.#files].sort(([a], [b]) => (a < b ? -1 : 1))) {
      problems.push(...state.problems);
      for (const [id, object] of state.objects) {
        const first = merged.get(id);
        if (first === undefined) merged.set(id, { object, file });
        else problems.push(`${file}: ${id} is in ${first.file} already; that one is taken`);
      }
    }
    const next = new Map(Array.from(merged, ([id, { object }]) => [id, this.#keep(id, object)]));
    const changes: ObjectChange[] = [];
    for (const [id, entry] of next) if (this.#objects.get(id) !== entry) changes.push({ id, object: entry.object });
    for (const id of this.#objects.keys()) if (!next.has(id)) changes.push({ id, object: undefined });
    this.#objects = next;
    return { changes, problems };
  }

  /** The entry as it was where the object says the same: nobody is told of a file that was merely touched. */
  #keep(id: string, object: KnownObject) {
    const before = this.#objects.get(id);
    const text = JSON.stringify(object);
    return before?.text === text ? before : { object, text };
  }
}
