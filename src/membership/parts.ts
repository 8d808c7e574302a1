import { Cursor, type Writer } from '../../net/cursor.ts';
import { ipFromBytes, ipToBytes } from '../../net/ip.ts';
import { type NodeName, parseNodeName, parseVip, type Vip } from '../../net/names.ts';

/** Reads until something is wrong; from then on every read gives a zero, and `failed` says so. */
export class Reader {
  readonly #cursor: Cursor;
  failed = false;

  constructor(bytes: Uint8Array) {
    this.#cursor = new Cursor(bytes);
  }

  get remaining(): number {
    return this.#cursor.remaining;
  }

  number(width: 8 | 16 | 32): number {
    const value = width === 8 ? this.#cursor.u8() : width === 16 ? this.#cursor.u16() : this.#cursor.u32();
    return value ?? this.fail(0);
  }

  bytes(length: number): Uint8Array {
    return this.#cursor.bytes(length) ?? this.fail(new Uint8Array());
  }

  fail<T>(value: T): T {
    this.failed = true;
    return value;
  }
}

/** One part of a datagram's body, both ways. */
export interface Part<T> {
  write(writer: Writer, value: T): void;
  read(reader: Reader): T;
}

export const u16: Part<number> = {
  write: (writer, value) => writer.u16(value),
  read: (reader) => reader.number(16),
};

export const u32: Part<number> = {
  write: (writer, value) => writer.u32(value),
  read: (reader) => reader.number(32),
};

/** An integer below 2^53 in eight bytes. */
export const u53: Part<number> = {
  write: (writer, value) => writer.u32(Math.floor(value / 2 ** 32)).u32(value % 2 ** 32),
  read(reader) {
    const value = reader.number(32) * 2 ** 32 + reader.number(32);
    return Number.isSafeInteger(value) ? value : reader.fail(0);
  },
};

export const flag: Part<boolean> = {
  write: (writer, value) => writer.u8(value ? 1 : 0),
  read(reader) {
    const value = reader.number(8);
    return value > 1 ? reader.fail(false) : value === 1;
  },
};

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

/** UTF-8 of at most 255 bytes. */
export const text: Part<string> = {
  write(writer, value) {
    const bytes = encoder.encode(value);
    writer.u8(Math.min(255, bytes.length)).bytes(bytes.subarray(0, 255));
  },
  read(reader) {
    const bytes = reader.bytes(reader.number(8));
    try {
      return decoder.decode(bytes);
    } catch {
      return reader.fail('');
    }
  },
};

/** Empty for nobody. */
export const nodeName: Part<NodeName> = {
  write: (writer, value) => text.write(writer, value),
  read(reader) {
    const value = text.read(reader);
    if (value === '') return '' as NodeName;
    return parseNodeName(value).ok ?? reader.fail('' as NodeName);
  },
};

export const vip: Part<Vip> = {
  write(writer, value) {
    const bytes = ipToBytes(value);
    writer.u8(bytes.length).bytes(bytes);
  },
  read(reader) {
    const length = reader.number(8);
    if (length !== 4 && length !== 16) return reader.fail('' as Vip);
    const bytes = reader.bytes(length);
    if (reader.failed) return '' as Vip;
    return parseVip(ipFromBytes(bytes)).ok ?? reader.fail('' as Vip);
  },
};

/** A number with a name of its own in the types. */
export function branded<T extends number>(part: Part<number>): Part<T> {
  return part as Part<T>;
}

/** One of at most 256 words. */
export function word<T extends string>(...words: readonly T[]): Part<T> {
  return {
    write: (writer, value) => writer.u8(words.indexOf(value)),
    read: (reader) => words[reader.number(8)] ?? reader.fail(words[0] as T),
  };
}

/** Up to 65,535 items; a count beyond what the body can hold fails at its end. */
export function list<T>(item: Part<T>): Part<readonly T[]> {
  return {
    write(writer, values) {
      writer.u16(values.length);
      for (const value of values) item.write(writer, value);
    },
    read(reader) {
      const count = reader.number(16);
      const values: T[] = [];
      for (let i = 0; i < count && !reader.failed; i++) values.push(item.read(reader));
      return values;
    },
  };
}

/** A property that may be absent: only for `struct`, which leaves it out. */
export function optional<T>(part: Part<T>): Part<T> {
  return {
    write(writer, value: T | undefined) {
      writer.u8(value === undefined ? 0 : 1);
      if (value !== undefined) part.write(writer, value);
    },
    read: (reader) => (flag.read(reader) ? part.read(reader) : (undefined as T)),
  };
}

/** Properties in the order in which they are named. */
export function struct<T extends object>(parts: { readonly [K in keyof T]-?: Part<T[K]> }): Part<T> {
  const entries = Object.entries(parts) as [keyof T, Part<unknown>][];
  return {
    write(writer, value) {
      for (const [key, part] of entries) part.write(writer, value[key]);
    },
    read(reader) {
      const value: Partial<T> = {};
      for (const [key, part] of entries) {
        const read = part.read(reader) as T[keyof T] | undefined;
        if (read !== undefined) value[key] = read;
      }
      return value as T;
    },
  };
}
