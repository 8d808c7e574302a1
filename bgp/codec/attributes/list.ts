import { Cursor, Writer } from '../../../net/cursor.ts';
import { AttributeFlag, AttributeType } from '../constants.ts';
import type { DecodeError } from '../errors.ts';
import type { SessionParameters } from '../types.ts';
import type { AttributeCheck, AttributeCodec } from './attribute.ts';
import { ATTRIBUTE_KEYS, ATTRIBUTES, type AttributeKey, type AttributeValues, recognize } from './table.ts';

/** One attribute as it stands in the list, its value undecoded. */
export interface RawAttribute {
  readonly flags: number;
  readonly type: number;
  readonly value: Uint8Array;
  /** Flags, type, length and value: what a NOTIFICATION quotes. */
  readonly whole: Uint8Array;
}

/**
 * Splits the path attributes of an UPDATE.
 * @returns how the list conflicts with Total Attribute Length, if it does (RFC 7606 section 4).
 */
export function* splitAttributes(bytes: Uint8Array): Generator<RawAttribute, string | undefined> {
  const cursor = new Cursor(bytes);
  while (cursor.remaining > 0) {
    const start = cursor.offset;
    const flags = cursor.u8() as number;
    const type = cursor.u8();
    const length = (flags & AttributeFlag.EXTENDED_LENGTH) === 0 ? cursor.u8() : cursor.u16();
    if (type === undefined || length === undefined) return `${bytes.length - start} octets are left over`;
    const value = cursor.bytes(length);
    if (value === undefined) return `attribute ${type} of ${length} octets exceeds the total`;
    yield { flags, type, value, whole: bytes.subarray(start, cursor.offset) };
  }
  return undefined;
}

export interface DecodedAttributes {
  readonly values: AttributeValues;
  /** Type codes in their order, the unrecognized ones too. */
  readonly types: readonly number[];
  readonly errors: readonly DecodeError[];
}

/** Decodes every attribute, however many of them are in error: the strongest reaction is found last. */
export function decodeAttributes(bytes: Uint8Array, session: SessionParameters): DecodedAttributes {
  const values: Partial<Record<AttributeKey, unknown>> = {};
  const errors: DecodeError[] = [];
  const seen = new Set<number>();
  const repeated = new Set<number>();
  const list = splitAttributes(bytes);
  let next = list.next();
  for (; next.done !== true; next = list.next()) {
    const raw = next.value;
    if (seen.has(raw.type)) {
      repeated.add(raw.type);
      continue;
    }
    seen.add(raw.type);
    errors.push(...decodeInto(values, raw, session));
  }
  // One error a type, so that the errors are few however many attributes there are.
  errors.push(...Array.from(repeated, duplicate));
  if (next.value !== undefined) errors.push({ kind: 'attribute-length-conflict', detail: next.value });
  return { values: values as AttributeValues, types: [...seen], errors };
}

/** RFC 7606 section 3 (g): of other attributes all but the first are discarded. */
function duplicate(type: number): DecodeError {
  const name = attributeName(type);
  return type === AttributeType.MP_REACH_NLRI || type === AttributeType.MP_UNREACH_NLRI
    ? { kind: 'malformed-attribute-list', detail: `${name} appears twice` }
    : { kind: 'duplicate-attribute', name };
}

function decodeInto(
  values: Partial<Record<AttributeKey, unknown>>,
  raw: RawAttribute,
  session: SessionParameters,
): readonly DecodeError[] {
  const recognized = recognize(raw.type);
  if (recognized === undefined) {
    // RFC 4271 section 5: unrecognized optional attributes are passed over; we pass no routes on.
    return (raw.flags & AttributeFlag.OPTIONAL) !== 0
      ? []
      : [{ kind: 'unrecognized-well-known-attribute', type: raw.type, attribute: raw.whole }];
  }
  const { key, rule } = recognized;
  const errors: DecodeError[] = [];
  // RFC 7606 section 3 (c): the other bits do not count.
  if ((raw.flags & (AttributeFlag.OPTIONAL | AttributeFlag.TRANSITIVE)) !== rule.flags) {
    errors.push({ kind: 'attribute-flags', name: rule.name, flags: raw.flags });
  }
  const unexpected = rule.unexpected?.(session);
  if (unexpected !== undefined)
    return [...errors, { kind: 'unexpected-attribute', name: rule.name, detail: unexpected }];

  const cursor = new Cursor(raw.value);
  if (key === undefined) {
    const problem = rule.check(cursor);
    return problem === undefined ? errors : [...errors, malformed(rule, problem, raw)];
  }
  const decoded = rule.decode(cursor, session);
  if (decoded.problem !== undefined) return [...errors, malformed(rule, decoded.problem, raw)];
  values[key] = decoded.ok;
  return errors;
}

function malformed(
  { name, malformed: reaction }: AttributeCheck | AttributeCodec<unknown>,
  detail: string,
  { whole }: RawAttribute,
): DecodeError {
  return reaction === 'session-reset'
    ? { kind: 'optional-attribute', name, detail, attribute: whole }
    : { kind: 'malformed-attribute', name, detail, reaction };
}

export function attributeName(type: number): string {
  return recognize(type)?.rule.name ?? `attribute ${type}`;
}

/** The attributes that are there, in the order of the table. */
export function encodeAttributes(values: AttributeValues, session: SessionParameters): Uint8Array {
  const out = new Writer();
  for (const key of ATTRIBUTE_KEYS) {
    const value = values[key];
    if (value === undefined) continue;
    const { type, flags, encode } = ATTRIBUTES[key] as AttributeCodec<unknown>;
    writeAttribute(out, type, flags, encode(value, session));
  }
  return out.finish();
}

function writeAttribute(out: Writer, type: number, flags: number, value: Uint8Array): void {
  if (value.length > 0xffff) throw new RangeError(`${attributeName(type)} has ${value.length} octets`);
  if (value.length > 0xff)
    out
      .u8(flags | AttributeFlag.EXTENDED_LENGTH)
      .u8(type)
      .u16(value.length);
  else out.u8(flags).u8(type).u8(value.length);
  out.bytes(value);
}
