import type { Table } from '../../net/table.ts';
import type { SectionName, Sections, SectionUpdate } from './protocol.ts';

type UpdateOf<S extends SectionName> = Extract<SectionUpdate, { section: S }>;

/** The sending side of one section: latest wins, one update on the way at a time. */
export class SectionSender<S extends SectionName> {
  readonly #section: S;
  readonly #send: (update: UpdateOf<S>) => void;
  readonly #empty: Table<string, Sections[S]>;
  #wanted: Table<string, Sections[S]>;
  /** What the receiver has, and what is on the way to it. */
  #acknowledged: { readonly generation: number; readonly table: Table<string, Sections[S]> };
  #flying: { readonly generation: number; readonly table: Table<string, Sections[S]> } | undefined;
  #generation = 0;

  constructor(section: S, empty: Table<string, Sections[S]>, send: (update: UpdateOf<S>) => void) {
    this.#section = section;
    this.#empty = empty;
    this.#wanted = empty;
    this.#acknowledged = { generation: 0, table: empty };
    this.#send = send;
  }

  set(table: Table<string, Sections[S]>): void {
    this.#wanted = table;
    this.#next();
  }

  onAcknowledge(generation: number): void {
    if (this.#flying?.generation !== generation) return;
    this.#acknowledged = this.#flying;
    this.#flying = undefined;
    this.#next();
  }

  onResend(): void {
    this.#acknowledged = { generation: 0, table: this.#empty };
    this.#flying = undefined;
    this.#next(true);
  }

  #next(force = false): void {
    if (this.#flying !== undefined) return;
    const upserts: (readonly [string, Sections[S]])[] = [];
    const deletes: string[] = [];
    for (const { key, after } of this.#wanted.changes(this.#acknowledged.table)) {
      if (after === undefined) deletes.push(key);
      else upserts.push([key, after]);
    }
    if (upserts.length === 0 && deletes.length === 0 && !force) return;
    const generation = ++this.#generation;
    this.#flying = { generation, table: this.#wanted };
    const base = this.#acknowledged.generation;
    this.#send({
      type: 'section',
      section: this.#section,
      base,
      generation,
      upserts,
      deletes,
    } as unknown as UpdateOf<S>);
  }
}

/** The receiving side. */
export class SectionReceiver<S extends SectionName> {
  readonly rows = new Map<string, Sections[S]>();
  #generation = 0;

  /** The difference as it took effect here, or undefined where the whole must be asked for. */
  apply(update: UpdateOf<S>): AppliedUpdate<S> | undefined {
    if (update.base !== 0 && update.base !== this.#generation) return undefined;
    const upserts = update.upserts as AppliedUpdate<S>['upserts'];
    const named = new Set(upserts.map(([key]) => key));
    const deletes = update.base === 0 ? [...this.rows.keys()].filter((key) => !named.has(key)) : update.deletes;
    this.#generation = update.generation;
    for (const key of deletes) this.rows.delete(key);
    for (const [key, value] of upserts) this.rows.set(key, value);
    return { upserts, deletes };
  }
}

export interface AppliedUpdate<S extends SectionName> {
  readonly upserts: readonly (readonly [string, Sections[S]])[];
  readonly deletes: readonly string[];
}
