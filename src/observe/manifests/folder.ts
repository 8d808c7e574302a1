import type { KnownObject } from '../../api/kinds.ts';
import type { ObjectChange } from '../objects.ts';
import { duplicate, type FileContents } from './file.ts';
import type { ManifestProblem } from './problem.ts';

/** How long an object outlives its removal, in milliseconds: editors delete and write anew, writers truncate first. */
export const REMOVAL_GRACE_MS = 500;

interface Given {
  readonly object: KnownObject;
  readonly line: number;
  /** When the object goes; undefined while the file names it. */
  readonly leaves: number | undefined;
}

type GivenById = ReadonlyMap<string, Given>;

/**
 * What the files of a folder say together: pure, times are arguments.
 *
 * - New and changed objects are in force at once; those that a file no longer names go after a grace.
 * - A file with a problem removes nothing: it leaves what it gave in force but for what it now says rightly.
 * - Of an object in several files the first file in name order has it; one that is leaving gives way to the others.
 */
export class Folder {
  readonly #files = new Map<string, GivenById>();
  readonly #problems = new Map<string, readonly ManifestProblem[]>();
  /** Files by the objects that they give. */
  readonly #givers = new Map<string, Set<string>>();
  /** Files of which some object is leaving. */
  readonly #leaving = new Set<string>();
  readonly #contested = new Set<string>();
  readonly #inForce = new Map<string, { readonly object: KnownObject; readonly file: string }>();

  /** Takes what a file says now. @returns what changes by it. */
  update(file: string, { objects, problems }: Pick<FileContents, 'objects' | 'problems'>, now: number): ObjectChange[] {
    const before = this.#given(file);
    const given = new Map<string, Given>();
    for (const [id, old] of before) {
      given.set(id, { ...old, leaves: problems.length > 0 ? undefined : (old.leaves ?? now + REMOVAL_GRACE_MS) });
    }
    for (const { id, object, line } of objects) given.set(id, { object, line, leaves: undefined });
    setOrDelete(this.#problems, file, problems, problems.length > 0);
    return this.#replace(file, given);
  }

  /** The file is gone. */
  remove(file: string, now: number): ObjectChange[] {
    return this.update(file, { objects: [], problems: [] }, now);
  }

  /** Lets go what has been leaving for the whole grace. */
  expire(now: number): ObjectChange[] {
    const changes: ObjectChange[] = [];
    for (const file of this.#leaving) {
      const given = this.#given(file);
      const staying = new Map([...given].filter(([, { leaves }]) => leaves === undefined || leaves > now));
      if (staying.size < given.size) changes.push(...this.#replace(file, staying));
    }
    return changes;
  }

  /** When `expire` has something to do next; undefined while nothing is leaving. */
  nextExpiry(): number | undefined {
    let next: number | undefined;
    for (const file of this.#leaving)
      for (const { leaves } of this.#given(file).values())
        if (leaves !== undefined && (next === undefined || leaves < next)) next = leaves;
    return next;
  }

  /** By file name and line. */
  problems(): ManifestProblem[] {
    const contested = [...this.#contested].flatMap((id) => this.#contention(id));
    return [...[...this.#problems.values()].flat(), ...contested].sort(byPlace);
  }

  #given(file: string): GivenById {
    return this.#files.get(file) ?? new Map<string, Given>();
  }

  #replace(file: string, given: GivenById): ObjectChange[] {
    const before = this.#given(file);
    setOrDelete(this.#files, file, given, given.size > 0);
    if ([...given.values()].some(({ leaves }) => leaves !== undefined)) this.#leaving.add(file);
    else this.#leaving.delete(file);
    const changes: ObjectChange[] = [];
    for (const id of new Set([...before.keys(), ...given.keys()])) {
      const givers = this.#givers.get(id) ?? new Set();
      if (given.has(id)) givers.add(file);
      else givers.delete(file);
      setOrDelete(this.#givers, id, givers, givers.size > 0);
      changes.push(...this.#choose(id, givers));
    }
    return changes;
  }

  /** Finds the file that has the object now. */
  #choose(id: string, givers: ReadonlySet<string>): ObjectChange[] {
    const present = this.#present(id);
    if (present.length > 1) this.#contested.add(id);
    else this.#contested.delete(id);
    const file = present[0] ?? [...givers].sort()[0];
    const object = file === undefined ? undefined : this.#given(file).get(id)?.object;
    const old = this.#inForce.get(id)?.object;
    if (file === undefined || object === undefined) this.#inForce.delete(id);
    else this.#inForce.set(id, { object, file });
    return same(object, old) ? [] : [{ id, object }];
  }

  /** Files that name the object, the first in name order first. */
  #present(id: string): string[] {
    const givers = [...(this.#givers.get(id) ?? [])];
    return givers.filter((file) => this.#given(file).get(id)?.leaves === undefined).sort();
  }

  #contention(id: string): ManifestProblem[] {
    const [first = '', ...others] = this.#present(id);
    return others.map((file) => {
      const line = this.#given(file).get(id)?.line ?? 0;
      return { ...duplicate(id, first), file, line, document: 0 };
    });
  }
}

function setOrDelete<K, V>(map: Map<K, V>, key: K, value: V, keep: boolean): void {
  if (keep) map.set(key, value);
  else map.delete(key);
}

/** Nobody is told of a file that was merely touched or laid out anew. */
function same(a: KnownObject | undefined, b: KnownObject | undefined): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function byPlace(a: ManifestProblem, b: ManifestProblem): number {
  return a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line;
}
