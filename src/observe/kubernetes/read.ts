import type { z } from 'zod';
import { formatProblem } from '../../../net/result.ts';
import { KINDS, type Kind, type KnownObject } from '../../api/kinds.ts';
import { CONTROLLER_NAME } from '../../api/service-route.ts';
import { checkObject } from '../../api/validate.ts';
import type { RawChange, RawObject } from '../../kubernetes/reflector/inventory.ts';
import type { ObjectEdit } from '../../world/reduce-objects.ts';

type Raw = RawObject & {
  readonly metadata: { readonly generation?: number };
  readonly spec?: { readonly controllerName?: unknown };
  readonly status?: unknown;
};

/**
 * What came from the API server, as manifests would give it; only what is used is kept. Fields that this version does
 * not know are left out, as every client of Kubernetes does, because a newer CRD may have them. A status, which is
 * written by Signpost of this or another version, never makes an object invalid.
 */
export function readChange(kind: Kind, apiVersion: string, { key, object }: RawChange): ObjectEdit {
  const id = `${kind} ${key}`;
  if (object === undefined) return { id, object };
  // Items of a list lack what the list itself says.
  const input: Raw = { ...object, apiVersion, kind } as Raw;
  // Another implementation of the API judges its own routes.
  if (kind === 'ServiceRoute' && !isOurs(input)) return { id, object: undefined };
  const known = parseLeniently(kind, input) ?? parseLeniently(kind, { ...input, status: undefined });
  if (known !== undefined) return { id, object: known };
  const { problem = [] } = checkObject(input);
  const message = problem.map(formatProblem).join('; ');
  return { id, invalid: { generation: input.metadata.generation ?? 0, message } };
}

function isOurs({ spec }: Raw): boolean {
  return spec?.controllerName === undefined || spec.controllerName === CONTROLLER_NAME;
}

function parseLeniently(kind: Kind, input: object): KnownObject | undefined {
  const { schema } = KINDS[kind];
  const first = schema.safeParse(input);
  if (first.success) return first.data;
  if (!first.error.issues.some(({ code }) => code === 'unrecognized_keys')) return undefined;
  const trimmed = structuredClone(input);
  for (const issue of first.error.issues) if (issue.code === 'unrecognized_keys') dropKeys(trimmed, issue);
  return schema.safeParse(trimmed).data;
}

function dropKeys(input: object, { path, keys }: z.core.$ZodIssueUnrecognizedKeys): void {
  const parent = path.reduce<object>((value, part) => Reflect.get(value, part) as object, input);
  for (const key of keys) Reflect.deleteProperty(parent, key);
}
