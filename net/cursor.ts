/**
 * A reader that cannot leave its slice (network byte order).
 * Every read answers undefined, and moves nothing, where the slice has too few bytes left.
 */
export class Cursor {
  readonly #bytes: Uint8Array;
  #offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get offset(): number {
    return this.#offset;
  }

  get remaining(): number {
    return this.#bytes.length - this.#offset;
  }

  u8(): number | undefined {
    return this.#unsigned(1);
  }

  u16(): number | undefined {
    return this.#unsigned(2);
  }

  u32(): number | undefined {
    return this.#unsigned(4);
  }

  u64(): bigint | undefined {
    if (this.remaining < 8) return undefined;
    const high = this.#unsigned(4) as number;
    return (BigInt(high) << 32n) | BigInt(this.#unsigned(4) as number);
  }

  /** A view, not a copy. */
  bytes(length: number): Uint8Array | undefined {
    if (length < 0 || length > this.remaining) return undefined;
    const view = this.#bytes.subarray(this.#offset, this.#offset + length);
    this.#offset += length;
    return view;
  }

  /** A cursor over the next `length` bytes alone, which this one passes over. */
  sub(length: number): Cursor | undefined {
    const view = this.bytes(length);
    return view && new Cursor(view);
  }

  rest(): Uint8Array {
    return this.bytes(this.remaining) as Uint8Array;
  }

  #unsigned(width: number): number | undefined {
    if (width > this.remaining) return undefined;
    let value = 0;
    for (let i = 0; i < width; i++) value = value * 256 + (this.#bytes[this.#offset + i] as number);
    this.#offset += width;
    return value;
  }
}

/** A growing buffer in network byte order. */
export class Writer {
  #bytes: Uint8Array;
  #length = 0;

  constructor(capacity = 64) {
    this.#bytes = new Uint8Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  u8(value: number): this {
    return this.#unsigned(value, 1);
  }

  u16(value: number): this {
    return this.#unsigned(value, 2);
  }

  u32(value: number): this {
    return this.#unsigned(value, 4);
  }

  u64(value: bigint): this {
    return this.#unsigned(Number(value >> 32n), 4).#unsigned(Number(value & 0xffff_ffffn), 4);
  }

  bytes(value: Uint8Array): this {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
    return this;
  }

  /** Writes over what stands at `offset`: for lengths known only at the end. */
  patchU16(offset: number, value: number): this {
    if (offset + 2 > this.#length) throw new RangeError(`offset ${offset} is beyond the ${this.#length} bytes written`);
    this.#bytes[offset] = (value >>> 8) & 0xff;
    this.#bytes[offset + 1] = value & 0xff;
    return this;
  }

  /** A copy of what was written. */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  #unsigned(value: number, width: number): this {
    this.#reserve(width);
    let rest = value;
    for (let i = width - 1; i >= 0; i--) {
      this.#bytes[this.#length + i] = rest % 256;
      rest = Math.floor(rest / 256);
    }
    this.#length += width;
    return this;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + more));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}
