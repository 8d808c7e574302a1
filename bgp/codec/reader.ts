import { HEADER_LENGTH } from './constants.ts';
import { type Decoded, resetBy } from './errors.ts';
import { readHeader } from './header.ts';
import { checkHeader, decodeBody } from './messages/table.ts';
import type { SessionParameters } from './types.ts';

const EMPTY = new Uint8Array();

/**
 * Messages out of a stream of bytes cut anywhere. Holds what was pushed and not yet taken, so a caller that takes
 * all messages after each push holds less than one message and one chunk. After a session reset it gives no more.
 */
export class MessageReader {
  #buffer: Uint8Array = EMPTY;
  #start = 0;
  #end = 0;
  /** The buffer was made here and may be written to: chunks are never. */
  #own = false;
  #failed = false;

  /** Octets that were pushed and not yet taken. */
  get buffered(): number {
    return this.#end - this.#start;
  }

  /** The chunk may be kept, and views of it given out: the caller does not write to it again. */
  push(chunk: Uint8Array): void {
    if (this.#failed || chunk.length === 0) return;
    if (this.buffered === 0) {
      this.#adopt(chunk);
      return;
    }
    if (!this.#own || this.#end + chunk.length > this.#buffer.length) this.#grow(this.buffered + chunk.length);
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /** The next whole message, or undefined until more is pushed. The session may differ from call to call. */
  next(session: SessionParameters): Decoded | undefined {
    if (this.#failed || this.buffered < HEADER_LENGTH) return undefined;
    const header = readHeader(this.#buffer.subarray(this.#start, this.#end));
    const error = checkHeader(header, session);
    if (error !== undefined) return this.#fail(resetBy([error]));
    if (this.buffered < header.length) return undefined;
    const body = this.#buffer.subarray(this.#start + HEADER_LENGTH, this.#start + header.length);
    this.#start += header.length;
    // An idle session holds no memory.
    if (this.buffered === 0) this.#adopt(EMPTY);
    const decoded = decodeBody(header.type, body, session);
    return decoded.outcome === 'session-reset' ? this.#fail(decoded) : decoded;
  }

  #adopt(chunk: Uint8Array): void {
    this.#buffer = chunk;
    this.#start = 0;
    this.#end = chunk.length;
    this.#own = false;
  }

  /** Doubling keeps the cost in proportion to the bytes, even for a peer that sends one at a time. */
  #grow(needed: number): void {
    const grown = new Uint8Array(2 * needed);
    grown.set(this.#buffer.subarray(this.#start, this.#end));
    this.#end = this.buffered;
    this.#start = 0;
    this.#buffer = grown;
    this.#own = true;
  }

  #fail(decoded: Decoded): Decoded {
    this.#failed = true;
    this.#adopt(EMPTY);
    return decoded;
  }
}
