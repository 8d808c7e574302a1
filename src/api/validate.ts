import { closest, distance } from 'fastest-levenshtein';
import * as z from 'zod';
import { ok, type Problem, problem, type Result } from '../../net/result.ts';
import { isKind, KINDS, type KnownObject } from './kinds.ts';

/** Checks one object of any kind that we know and fills in its defaults; every problem is named. */
export function checkObject(input: unknown): Result<KnownObject, readonly Problem[]> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return refused('', scalar(input), 'is not an object', 'write apiVersion, kind, metadata and spec');
  }
  const { apiVersion, kind } = input as { apiVersion?: unknown; kind?: unknown };
  if (typeof kind !== 'string' || !isKind(kind)) {
    const fix = propose(String(kind), Object.keys(KINDS), 4) ?? `known are ${Object.keys(KINDS).join(', ')}`;
    return refused('kind', scalar(kind), 'is not a kind that Signpost reads', fix);
  }
  const { apiVersions, schema } = KINDS[kind];
  if (!(apiVersions as readonly unknown[]).includes(apiVersion)) {
    return refused('apiVersion', scalar(apiVersion), `is not the version of ${kind}`, `write ${oneOf(apiVersions)}`);
  }
  const parsed = schema.safeParse(input);
  if (parsed.success) return ok(parsed.data);
  return { problem: parsed.error.issues.flatMap((issue) => describeIssue(issue, input, schema)) };
}

function refused(...of: Parameters<typeof problem>): Result<never, readonly Problem[]> {
  return { problem: [problem(...of).problem] };
}

/** The nearest known name, unless it is too far to be meant. */
function propose(name: string, known: readonly string[], most: number): string | undefined {
  if (known.length === 0) return undefined;
  const near = closest(name, known);
  return distance(near, name) <= most ? `did you mean ${near}` : undefined;
}

function describeIssue(issue: z.core.$ZodIssue, input: unknown, schema: z.ZodType): Problem[] {
  const field = formatPath(issue.path);
  const value = at(input, issue.path);
  if (issue.code !== 'unrecognized_keys') return [{ field, value: scalar(value), ...wording(issue, value) }];
  const known = keysAt(schema, issue.path);
  return issue.keys.map((key) => ({
    field: formatPath([...issue.path, key]),
    value: scalar(at(value, [key])),
    message: 'is not a field',
    fix: propose(key, known, Math.max(2, key.length / 3)) ?? `known here are ${known.join(', ')}`,
  }));
}

/** A whole object or list would drown its problem. */
function scalar(value: unknown): unknown {
  return typeof value === 'object' ? undefined : value;
}

const LESS: Readonly<Record<string, string>> = { array: 'has fewer items than', string: 'has fewer characters than' };
const MORE: Readonly<Record<string, string>> = { array: 'has more items than', string: 'has more characters than' };

function wording(issue: z.core.$ZodIssue, value: unknown): { message: string; fix: string } {
  switch (issue.code) {
    case 'invalid_type':
      return value === undefined
        ? { message: 'is missing', fix: `write a value of type ${issue.expected}` }
        : { message: `is not of type ${issue.expected}`, fix: `write a value of type ${issue.expected}` };
    case 'invalid_value':
      return {
        message: value === undefined ? 'is missing' : 'is not one of its values',
        fix: `write ${oneOf(issue.values.map((v) => (v === '' ? '""' : String(v))))}`,
      };
    case 'too_small':
      return {
        message: `${LESS[issue.origin] ?? 'is less than'} ${issue.minimum}`,
        fix: `give at least ${issue.minimum}`,
      };
    case 'too_big':
      return {
        message: `${MORE[issue.origin] ?? 'is more than'} ${issue.maximum}`,
        fix: `give at most ${issue.maximum}`,
      };
    default: {
      // Our own rules are worded "what is wrong; what to do".
      const [message = '', ...fix] = issue.message.split('; ');
      return { message, fix: fix.join('; ') };
    }
  }
}

/** `TCP, UDP or SCTP`. */
function oneOf(values: readonly string[]): string {
  const [last = '', ...others] = values.toReversed();
  return others.length === 0 ? last : `${others.reverse().join(', ')} or ${last}`;
}

/** `spec.rules[0].port`. */
function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, i) => (typeof part === 'number' ? `[${part}]` : `${i === 0 ? '' : '.'}${String(part)}`))
    .join('');
}

function at(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, part) => (typeof value === 'object' && value !== null ? Reflect.get(value, part) : undefined),
    input,
  );
}

/** Names of the fields that the schema knows at a path. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let current = unwrap(schema);
  for (const part of path) {
    if (current instanceof z.ZodObject) current = unwrap(current.shape[String(part)] as z.ZodType);
    else if (current instanceof z.ZodArray) current = unwrap(current.element as z.ZodType);
  }
  return current instanceof z.ZodObject ? Object.keys(current.shape) : [];
}

function unwrap(schema: z.ZodType): z.ZodType {
  let current = schema;
  while (
    current instanceof z.ZodOptional ||
    current instanceof z.ZodDefault ||
    current instanceof z.ZodPrefault ||
    current instanceof z.ZodNullable
  ) {
    current = current.unwrap() as z.ZodType;
  }
  return current;
}
