import { AttributeFlag, AttributeType } from '../../bgp/codec/constants.ts';
import {
  type Decoded,
  type DecodeError,
  explain,
  MessageReader,
  type SessionParameters,
} from '../../bgp/codec/index.ts';
import { invariants } from '../../bgp/codec/testing/invariants.ts';
import { externalSession, internalSession } from '../../bgp/codec/testing/sessions.ts';
import { bgpCaptures, bgpVectors } from '../vectors/bgp.ts';
import { generate } from './bgp-grammar.ts';
import { mutateBytes, splice } from './mutate.ts';
import { Random } from './random.ts';
import type { FuzzOptions, FuzzReport } from './target.ts';

const PEER = 65_001;

/** The sessions that bytes are read in; the first is the one of the vectors. */
export const SESSIONS: readonly SessionParameters[] = [
  externalSession(PEER),
  externalSession(PEER, { extendedMessage: true, extendedNextHop: true, enhancedRouteRefresh: true, role: 'customer' }),
  externalSession(PEER, { fourOctetAs: false, role: 'route-server-client' }),
  externalSession(PEER, { families: ['IPv4'], role: 'peer' }),
  internalSession(PEER, { families: ['IPv6'] }),
  internalSession(PEER, { fourOctetAs: false, extendedNextHop: true }),
];

const HEADER = 19;
/** Of a message: those that session limits refuse are there too. */
const MAXIMUM = 0xffff;
/** Few, so that a corpus stays a file that one reads. */
const CORPUS_LIMIT = 800;

/** Decodes mutated messages and stops at the first that breaks an invariant of the codec. */
export function fuzzBgp({ seed, runs, corpus: start, progress }: FuzzOptions): FuzzReport {
  const random = new Random(seed);
  const corpus = new Corpus();
  const seeds = [
    ...start,
    ...bgpVectors().map(({ bytes }) => bytes),
    ...bgpCaptures().flatMap(({ messages }) => messages),
  ];
  let pool: readonly Uint8Array[] = seeds;

  for (let run = 0; run < runs; run++) {
    const input = run < pool.length ? (pool[run] as Uint8Array) : mutated(pool, random);
    const index = random.below(SESSIONS.length);
    const session = SESSIONS[index] as SessionParameters;
    try {
      const decoded = invariants(input, session);
      const kind = decoded && signature(decoded, index, input);
      if (kind !== undefined) corpus.offer(kind, input);
      if (random.oneIn(16)) {
        stream(input, session, random);
        explain(input, session);
      }
    } catch (error) {
      const failure = { run, input, context: JSON.stringify(session), error };
      return { runs: run + 1, corpus: corpus.inputs(), failure };
    }
    if (run % 100_000 === 99_999) {
      pool = [...seeds, ...corpus.inputs()];
      progress?.(run + 1, corpus.size);
    }
  }
  return { runs, corpus: corpus.inputs() };
}

/** Half of the inputs come from the grammar, half are octets changed in an input that was of interest. */
function mutated(pool: readonly Uint8Array[], random: Random): Uint8Array {
  if (random.oneIn(2)) return generate(random);
  let body = random.pick(pool).subarray(HEADER - 1);
  for (let i = 1 + random.below(4); i > 0; i--) body = mutateBytes(body, random);
  if (random.oneIn(500)) body = inflate(body, random);
  const message = new Uint8Array(Math.min(HEADER - 1 + body.length, MAXIMUM)).fill(0xff, 0, 16);
  message.set(body.subarray(0, message.length - HEADER + 1), HEADER - 1);
  const lie = random.oneIn(16) ? random.pick([-1, 1, 4096]) : 0;
  new DataView(message.buffer).setUint16(16, (message.length + lie) & 0xffff);
  return message;
}

/** A part of it over and over, as long as messages may be. */
function inflate(body: Uint8Array, random: Random): Uint8Array {
  const at = random.below(body.length + 1);
  const part = body.subarray(at, at + 1 + random.below(12));
  const large = new Uint8Array(Math.max(part.length, random.pick([3000, 4077, 4200, 20_000, 65_516])));
  for (let offset = 0; part.length > 0 && offset + part.length <= large.length; offset += part.length) {
    large.set(part, offset);
  }
  return splice(body, at, 0, large);
}

/** The same octets as a stream cut at random give one answer for each message, and then no more. */
function stream(input: Uint8Array, session: SessionParameters, random: Random): void {
  const reader = new MessageReader();
  for (let at = 0; at < input.length; ) {
    const end = at + 1 + random.below(input.length);
    reader.push(input.slice(at, end));
    at = end;
    for (let next = reader.next(session); next !== undefined; next = reader.next(session)) {
      if (next.outcome === 'session-reset' && reader.next(session) !== undefined)
        throw new Error('it reads on after a reset');
    }
    if (reader.buffered > input.length) throw new Error('it holds more than it was given');
  }
}

/** What sets one outcome apart from another; undefined where it is only several of them at once. */
function signature(decoded: Decoded, session: number, input: Uint8Array): string | undefined {
  const kinds = [...new Set(decoded.errors.map(errorKey))].sort();
  if (kinds.length > 2) return undefined;
  const errors = kinds.join();
  if (decoded.outcome !== 'message') return `${decoded.outcome} ${errors}`;
  const { message } = decoded;
  if (message.type === 'OPEN') return `OPEN ${errors} ${alone(message.capabilities.map(({ kind }) => kind))}`;
  if (message.type !== 'UPDATE' || errors !== '') return `${message.type} ${errors}`;
  // In one session alone, or every count would be kept for each.
  const attributes = session === 0 ? Object.keys(message.attributes).length : '';
  return `${message.withdrawn.length}/${message.announced.length} ${attributes} ${alone(attributeTypes(input))}`;
}

/** All combinations would be too many: what stands beside few others is told apart. */
function alone(kinds: readonly (string | number)[]): string {
  const optional = kinds.filter((kind) => typeof kind === 'string' || kind > AttributeType.NEXT_HOP);
  return optional.length === 1 ? String(optional[0]) : '';
}

/** Types of the path attributes of an UPDATE that is well formed, read or not. */
export function attributeTypes(update: Uint8Array): readonly number[] {
  const u16 = (at: number): number => ((update[at] ?? 0) << 8) | (update[at + 1] ?? 0);
  const list = HEADER + 2 + u16(HEADER);
  const end = list + 2 + u16(list);
  const types: number[] = [];
  for (let at = list + 2; at < end; ) {
    types.push(update[at + 1] ?? 0);
    const extended = ((update[at] ?? 0) & AttributeFlag.EXTENDED_LENGTH) !== 0;
    at += extended ? 4 + u16(at + 2) : 3 + (update[at + 2] ?? 0);
  }
  return types;
}

function errorKey(error: DecodeError): string {
  if (error.kind === 'malformed-capability') return `${error.kind}:${error.code}`;
  return 'name' in error ? `${error.kind}:${error.name}` : error.kind;
}

/** For each signature the shortest input. */
class Corpus {
  readonly #inputs = new Map<string, Uint8Array>();

  get size(): number {
    return this.#inputs.size;
  }

  offer(key: string, input: Uint8Array): void {
    const known = this.#inputs.get(key);
    if (known === undefined ? this.size < CORPUS_LIMIT : input.length < known.length) this.#inputs.set(key, input);
  }

  inputs(): readonly Uint8Array[] {
    return [...this.#inputs.values()];
  }
}
