import { ok, type Result } from '../../net/result.ts';
import type { ApiClient } from './client.ts';
import { type ApiFailure, isStatus } from './failure.ts';
import { type ObjectName, objectPath, type Resource } from './resources.ts';

export interface DeleteRequest {
  readonly resource: Resource;
  readonly target: ObjectName;
  /** Foreground: the object stays, marked, until what it owns is gone. By default what it owns goes after it. */
  readonly propagation?: 'Foreground' | 'Background';
  readonly signal?: AbortSignal;
}

/** @returns whether it was there */
export async function deleteObject(
  client: ApiClient,
  { resource, target, propagation, signal }: DeleteRequest,
): Promise<Result<boolean, ApiFailure>> {
  const { problem } = await client.json({
    method: 'DELETE',
    path: objectPath(resource, target),
    query: { propagationPolicy: propagation },
    ...(signal && { signal }),
  });
  if (problem === undefined) return ok(true);
  return isStatus(problem, 404) ? ok(false) : { problem };
}
