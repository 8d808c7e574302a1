import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { parseVip, type Vip } from '../../net/names.ts';
import { Table } from '../../net/table.ts';
import type { RouteAddresses } from '../decide/allocate.ts';
import type { RouteKey } from '../world/keys.ts';

const FILE = 'assignments.json';

export type Memory = Table<RouteKey, readonly Vip[]>;

/** What this node had assigned when it last ran; what cannot be read is forgotten, with the reason. */
export async function loadMemory(
  folder: string,
): Promise<{ readonly memory: Memory; readonly problem: string | undefined }> {
  const file = join(folder, FILE);
  try {
    const content: unknown = JSON.parse(await readFile(file, 'utf8'));
    const rows = Object.entries((content as { routes?: Record<string, string[]> }).routes ?? {});
    const memory = rows.map(([key, texts]) => {
      const vips = texts.map((text) => parseVip(text).ok).filter((vip) => vip !== undefined);
      return [key as RouteKey, vips] as const;
    });
    return { memory: Table.from(memory), problem: undefined };
  } catch (error) {
    const isFirstRun = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const problem = isFirstRun ? undefined : `${file} cannot be read and is ignored: ${(error as Error).message}`;
    return { memory: Table.empty(), problem };
  }
}

/** Writes assignments to the state folder: one write at a time, the latest wins, complete or not at all. */
export class MemoryWriter implements AsyncDisposable {
  readonly #folder: string;
  readonly #onProblem: (problem: string) => void;
  #wanted: Table<RouteKey, RouteAddresses> | undefined;
  #written: Table<RouteKey, RouteAddresses> | undefined;
  #writing: Promise<void> | undefined;

  constructor(folder: string, onProblem: (problem: string) => void) {
    this.#folder = folder;
    this.#onProblem = onProblem;
  }

  set(routes: Table<RouteKey, RouteAddresses>): void {
    this.#wanted = routes;
    this.#writing ??= this.#write();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    try {
      while (this.#wanted !== this.#written && this.#wanted !== undefined) {
        const routes = this.#wanted;
        await this.#store(routes);
        this.#written = routes;
      }
    } catch (error) {
      this.#written = this.#wanted;
      this.#onProblem(`assignments cannot be remembered in ${this.#folder}: ${(error as Error).message}`);
    } finally {
      this.#writing = undefined;
    }
  }

  async #store(routes: Table<RouteKey, RouteAddresses>): Promise<void> {
    const rows = [...routes].filter(([, { assigned }]) => assigned.length > 0).sort(([a], [b]) => (a < b ? -1 : 1));
    const content = {
      routes: Object.fromEntries(rows.map(([key, { assigned }]) => [key, assigned.map(({ vip }) => vip)])),
    };
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const temporary = join(this.#folder, `.${FILE}.new`);
    const handle = await open(temporary, 'w', 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(content, null, 1)}\n`);
      await handle.datasync();
    } finally {
      await handle.close();
    }
    await rename(temporary, join(this.#folder, FILE));
  }
}
