import type { Table } from '../../net/table.ts';
import type { Meta, NodeObject, Pool } from '../world/objects.ts';
import { selects } from '../world/objects.ts';
import type { AllocationPool } from './allocate.ts';
import type { NodeFacts } from './eligible.ts';

const EXCLUDE_LABEL = 'node.kubernetes.io/exclude-from-external-load-balancers';

export function nodeFacts(node: NodeObject): NodeFacts {
  return {
    name: node.name,
    excluded: EXCLUDE_LABEL in node.meta.labels,
    networkUnavailable: node.networkUnavailable,
    outOfService: node.outOfService,
    notReady: !node.ready,
  };
}

/** A pool as allocation sees it: with its namespaces resolved. */
export function allocationPool(pool: Pool, namespaces: Table<string, Meta>): AllocationPool {
  const { allow } = pool;
  const byLabel = Object.keys(allow.selector.matchLabels).length + allow.selector.matchExpressions.length > 0;
  const everybody = allow.namespaces.length === 0 && !byLabel;
  // Every namespace has this label (KEP-2161), in manifests too, where Namespace objects need not exist.
  const labelsOf = (name: string) => ({ 'kubernetes.io/metadata.name': name, ...namespaces.get(name)?.labels });
  return {
    name: pool.meta.name,
    ranges: pool.ranges,
    avoidBuggyAddresses: pool.avoidBuggyAddresses,
    autoAssign: pool.autoAssign,
    priority: pool.priority,
    sharing: pool.sharing,
    admits: (namespace) =>
      everybody || allow.namespaces.includes(namespace) || (byLabel && selects(allow.selector, labelsOf(namespace))),
  };
}
