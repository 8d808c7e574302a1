import { ok, type Result } from '../../net/result.ts';
import type { ApiClient } from './client.ts';
import type { ApiFailure } from './failure.ts';
import { collectionPath, type Resource } from './resources.ts';

export interface ListRequest {
  readonly resource: Resource;
  /** Absent: all. */
  readonly namespace?: string | undefined;
  readonly fieldSelector?: string;
}

interface Page {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly unknown[];
}

const PAGE = 500;

/**
 * Every object of a collection as the API server has it, which has checked it by the schema.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
export async function listObjects<T>(
  client: ApiClient,
  { resource, namespace, fieldSelector }: ListRequest,
): Promise<Result<readonly T[], ApiFailure>> {
  const path = collectionPath(resource, namespace);
  const items: unknown[] = [];
  let next: string | undefined;
  do {
    const page = await client.json<Page>({ path, query: { limit: PAGE, continue: next, fieldSelector } });
    if (page.problem !== undefined) return page;
    items.push(...page.ok.items);
    next = page.ok.metadata.continue;
  } while (next);
  return ok(items as readonly T[]);
}
