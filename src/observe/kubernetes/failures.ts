import type { Kind } from '../../api/kinds.ts';
import { type ApiFailure, describeFailure, isStatus } from '../../kubernetes/failure.ts';
import { RESOURCES } from '../../kubernetes/resources.ts';

/** What keeps kinds from being read now, in words; nothing twice. */
export function describeFailures(failures: ReadonlyMap<Kind, ApiFailure>): string[] {
  const lines = Array.from(failures, ([kind, failure]) =>
    failure.kind === 'unreachable' ? describeFailure(failure) : describeRefusal(kind, failure),
  );
  return [...new Set(lines)];
}

function describeRefusal(kind: Kind, failure: ApiFailure): string {
  const [{ plural }] = RESOURCES[kind];
  return `${plural} cannot be read: ${describeFailure(failure)}${remedy(failure)}`;
}

function remedy(failure: ApiFailure): string {
  if (isStatus(failure, 404)) return '; apply the CustomResourceDefinitions';
  if (isStatus(failure, 401)) return '; renew the credentials';
  if (isStatus(failure, 403)) return '; apply the ClusterRole and its binding';
  return '';
}
