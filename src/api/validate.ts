import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { ok, type Problem, type Result } from '../../net/result.ts';
import { isKind, KINDS, type KnownObject } from './kinds.ts';

/** Checks one object of any kind that we know; every problem is named. */
export function checkObject(input: unknown): Result<KnownObject, readonly Problem[]> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return {
      problem: [
        { field: '', value: input, message: 'is not an object', fix: 'write apiVersion, kind, metadata and spec' },
      ],
    };
  }
  const { apiVersion, kind } = input as { apiVersion?: unknown; kind?: unknown };
  if (typeof kind !== 'string' || !isKind(kind)) {
    const near = typeof kind === 'string' ? closest(kind, Object.keys(KINDS)) : undefined;
    const fix =
      near !== undefined && distance(near, String(kind)) <= 4
        ? `did you mean ${near}`
        : `known are ${Object.keys(KINDS).join(', ')}`;
    return { problem: [{ field: 'kind', value: kind, message: 'is not a kind that Signpost reads', fix }] };
  }
  const { apiVersions, schema } = KINDS[kind];
  if (!(apiVersions as readonly unknown[]).includes(apiVersion)) {
    const problem = {
      field: 'apiVersion',
      value: apiVersion,
      message: `is not the version of ${kind}`,
      fix: `write ${oneOf(apiVersions)}`,
    };
    return { problem: [problem] };
  }
  const parsed = schema.safeParse(input);
  if (parsed.success) return ok(parsed.data);
  return { problem: parsed.error.issues.flatMap((issue) => describeIssue(issue, input, schema)) };
}

function describeIssue(issue: z.core.$ZodIssue, input: unknown, schema: z.ZodType): Problem[] {
  const field = formatPath(issue.path);
  const value = at(input, issue.path);
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(schema, issue.path);
    return issue.keys.map((key) => {
      const near = known.length > 0 ? closest(key, known) : undefined;
      const likely = near !== undefined && distance(near, key) <= Math.max(2, key.length / 3);
      return {
        field: field === '' ? key : `${field}.${key}`,
        value: scalar(at(input, [...issue.path, key])),
        message: 'is not a field',
        fix: likely ? `did you mean ${near}` : `known here are ${known.join(', ')}`,
      };
    });
  }
  return [{ field, value: scalar(value), ...wording(issue, value) }];
}

function fewer(origin: string): string {
  return origin === 'array'
    ? 'has fewer items than'
    : origin === 'string'
      ? 'has fewer characters than'
      : 'is less than';
}

function more(origin: string): string {
  return origin === 'array' ? 'has more items than' : origin === 'string' ? 'has more characters than' : 'is more than';
}

/** A whole object or list would drown its problem. */
function scalar(value: unknown): unknown {
  return typeof value === 'object' ? undefined : value;
}

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
      return { message: `${fewer(issue.origin)} ${issue.minimum}`, fix: `give at least ${issue.minimum}` };
    case 'too_big':
      return { message: `${more(issue.origin)} ${issue.maximum}`, fix: `give at most ${issue.maximum}` };
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
