import { type Cursor, Writer } from '../../../net/cursor.ts';
import type { Result } from '../../../net/result.ts';

/** A value of four octets. */
export function readU32(value: Cursor): Result<number, string> {
  return value.remaining === 4 ? { ok: value.u32() as number } : { problem: `length ${value.remaining} is not 4` };
}

export function writeU32(value: number): Uint8Array {
  return new Writer(4).u32(value).finish();
}

/** A value that is a list of items of `size` octets, at least one. */
export function readItems<T>(value: Cursor, size: number, read: (item: Cursor) => T): Result<T[], string> {
  const problem = itemsProblem(value, size);
  if (problem !== undefined) return { problem };
  return { ok: Array.from({ length: value.remaining / size }, () => read(value.sub(size) as Cursor)) };
}

export function itemsProblem(value: Cursor, size: number): string | undefined {
  return value.remaining === 0 || value.remaining % size !== 0
    ? `length ${value.remaining} is not a non-zero multiple of ${size}`
    : undefined;
}
