import { z } from 'zod';
import { parseIp } from '../../net/ip.ts';
import { parsePrefix, parseRange } from '../../net/prefix.ts';
import type { Result } from '../../net/result.ts';

/** One CEL rule of a CRD (KEP-2876) with its twin in TypeScript: one text for both verdicts. */
export interface Rule<T> {
  readonly rule: string;
  readonly message: string;
  readonly holds: (value: T) => boolean;
}

/** Adds the rule to the schema as a check here and as `x-kubernetes-validations` in the CRD. */
export function withRules<S extends z.ZodType>(schema: S, ...rules: readonly Rule<z.output<S>>[]): S {
  let checked: z.ZodType = schema;
  for (const { holds, message } of rules) {
    checked = checked.refine((value) => holds(value as z.output<S>), { error: message });
  }
  return checked.meta({ 'x-kubernetes-validations': rules.map(({ rule, message }) => ({ rule, message })) }) as S;
}

/** A string that `parse` accepts. What the parser knows CEL cannot say: the API server takes it, `Accepted` tells. */
function textOf(parse: (text: string) => Result<unknown>, description: string, maxLength: number) {
  return z
    .string()
    .min(1)
    .max(maxLength)
    .superRefine((text, context) => {
      const { problem } = parse(text);
      if (problem !== undefined)
        context.addIssue({ code: 'custom', message: `${problem.message}; ${problem.fix}`, input: text });
    })
    .describe(description);
}

export const ipText = (description: string) => textOf(parseIp, description, 45);
export const prefixText = (description: string) => textOf(parsePrefix, description, 49);
export const rangeText = (description: string) => textOf(parseRange, description, 91);

export const port = (description: string) => z.int().min(1).max(65535).describe(description);
export const name = (description: string) =>
  z
    .string()
    .min(1)
    .max(253)
    .regex(
      /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/,
      'is not a Kubernetes name; write lower-case letters, digits, "-" and "."',
    )
    .describe(description);

export const labels = z.record(z.string(), z.string());

export const labelSelector = z
  .strictObject({
    matchLabels: labels.optional().describe('Labels that must have exactly these values.'),
    matchExpressions: z
      .array(
        z.strictObject({
          key: z.string().min(1).describe('Label key.'),
          operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']).describe('How the values are compared.'),
          values: z.array(z.string()).max(64).optional().describe('Values for In and NotIn.'),
        }),
      )
      .max(16)
      .optional()
      .describe('Further requirements, all of which must hold.'),
  })
  .describe('Kubernetes label selector; empty selects everything.');

/** `metadata` as far as it is read. */
export const metadata = z.object({
  name: z.string().min(1).max(253),
  namespace: z.string().max(63).optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  generation: z.number().int().optional(),
  creationTimestamp: z.string().nullish(),
  deletionTimestamp: z.string().nullish(),
  labels: labels.nullish(),
  annotations: labels.nullish(),
});

export const condition = z
  .strictObject({
    type: z.string().describe('Accepted, ResolvedRefs, Programmed, Reachable and others; see docs/conditions.md.'),
    status: z.enum(['True', 'False', 'Unknown']).describe('Whether the condition holds.'),
    reason: z.string().describe('One word of a documented, closed list.'),
    message: z.string().max(4096).describe('What to do, in words.'),
    observedGeneration: z.int().min(0).optional().describe('Generation of the spec that was judged.'),
    lastTransitionTime: z.string().meta({ format: 'date-time' }).describe('When the status last changed.'),
  })
  .describe('One observation of the object.');

export const conditions = z
  .array(condition)
  .max(16)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
  .optional()
  .describe('What is true of the object now.');

export const GROUP = 'signpost.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}` as const;
