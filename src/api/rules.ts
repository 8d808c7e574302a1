import type { z } from 'zod';

/** Where schemas keep the rules of the API server (KEP-2876); the CRD has them under the same name. */
const CEL_RULES = 'x-kubernetes-validations';

/** A CEL rule of a CRD. Messages read "what is wrong; what to do". */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
}

/** A CEL rule with its twin in TypeScript: one text for both verdicts. */
export interface Rule<T> extends CelRule {
  readonly holds: (value: T) => boolean;
}

/** Adds the rules to the schema as checks here and as `x-kubernetes-validations` in the CRD. */
export function withRules<S extends z.ZodType>(schema: S, ...rules: readonly Rule<z.output<S>>[]): S {
  let checked: z.ZodType = schema;
  for (const { holds, message } of rules) {
    checked = checked.refine((value) => holds(value as z.output<S>), { error: message });
  }
  return withCel(checked, ...rules.map(({ rule, message }) => ({ rule, message }))) as S;
}

/** Rules for the API server alone: transitions, and those that a parser checks here in more detail. */
export function withCel<S extends z.ZodType>(schema: S, ...rules: readonly CelRule[]): S {
  return schema.meta({ [CEL_RULES]: rules });
}

/** A field that the API server lets nobody change. */
export function immutable<S extends z.ZodType>(schema: S, field: string): S {
  return withCel(schema, {
    rule: 'self == oldSelf',
    message: `${field} cannot be changed; delete the object and create it anew`,
  });
}

export function unique(list: readonly unknown[]): boolean {
  return new Set(list).size === list.length;
}

/** A list whose items differ in `key`, by which server-side apply merges them. */
export function keyedBy<S extends z.ZodType>(key: string, list: S): S {
  const keys = (items: unknown) => (items as readonly Record<string, unknown>[]).map((item) => item[key]);
  return list
    .refine((items) => unique(keys(items)), { error: `holds two items of the same ${key}; give each its own` })
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] });
}

/** A list without repetitions. */
export function setOf<S extends z.ZodType>(list: S): S {
  return list
    .refine((items) => unique(items as readonly unknown[]), { error: 'names something twice; remove one' })
    .meta({ 'x-kubernetes-list-type': 'set' });
}
