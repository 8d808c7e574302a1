import type { Result } from '../../net/result.ts';
import type { ApiClient } from './client.ts';
import type { ApiFailure } from './failure.ts';
import { apiVersionOf, type ObjectName, objectPath, type Resource } from './resources.ts';

export interface ApplyRequest {
  readonly resource: Resource;
  readonly kind: string;
  readonly target: ObjectName;
  /** Everything that this manager wants of the object: what it applied before and leaves out now is removed. */
  readonly fields: { readonly metadata?: object; readonly spec?: object; readonly status?: object };
  readonly subresource?: 'status';
  /** Where given, the server refuses with 409 unless the object is still at this version. */
  readonly resourceVersion?: string | undefined;
  readonly manager: string;
  readonly signal?: AbortSignal;
}

export interface StoredObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
  };
  readonly spec?: unknown;
  readonly status?: unknown;
}

/**
 * Server-side apply. Fields that others manage are taken over: what is written here has one writer.
 * https://kubernetes.io/docs/reference/using-api/server-side-apply
 */
export function applyObject(client: ApiClient, request: ApplyRequest): Promise<Result<StoredObject, ApiFailure>> {
  const { resource, kind, target, fields, subresource, resourceVersion, manager, signal } = request;
  const metadata = { ...fields.metadata, name: target.name, namespace: target.namespace, resourceVersion };
  return client.json({
    method: 'PATCH',
    path: objectPath(resource, target, subresource),
    query: { fieldManager: manager, force: true },
    contentType: 'application/apply-patch+yaml',
    body: { apiVersion: apiVersionOf(resource), kind, ...fields, metadata },
    ...(signal && { signal }),
  });
}
