import { parseSelector } from '../api/parse.ts';
import type { ApiClient } from '../kubernetes/client.ts';
import { isStatus } from '../kubernetes/failure.ts';
import { objectPath, type Resource } from '../kubernetes/resources.ts';
import { selects } from '../world/objects.ts';

const DAEMON_SETS: Resource = { root: '/apis/apps/v1', plural: 'daemonsets', namespaced: true };

/** An `apps/v1` DaemonSet, as far as it says on which nodes it wants a pod. */
export interface DaemonSet {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string | null };
  readonly spec: { readonly template: { readonly spec: PodSpec } };
}

interface PodSpec {
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: {
        readonly nodeSelectorTerms?: readonly NodeSelectorTerm[];
      };
    };
  };
}

interface NodeSelectorTerm {
  readonly matchExpressions?: readonly Requirement[];
  /** `metadata.name` is the only field that Kubernetes supports. */
  readonly matchFields?: readonly Requirement[];
}

interface Requirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';
  readonly values?: readonly string[];
}

export interface LeavingNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * Asks why no speaker will come back to this node. Undefined where one will, and where the API server does not say
 * before the signal aborts: then what is in the kernel stays.
 */
export async function askWhyLeaving(
  client: ApiClient,
  name: string,
  node: LeavingNode,
  signal: AbortSignal,
): Promise<string | undefined> {
  const path = objectPath(DAEMON_SETS, { namespace: client.namespace, name });
  const { ok: daemonSet, problem } = await client.json<DaemonSet>({ path, signal });
  if (daemonSet !== undefined) return whyLeaving(daemonSet, node);
  return isStatus(problem, 404) ? `DaemonSet ${name} is gone` : undefined;
}

export function whyLeaving({ metadata, spec }: DaemonSet, node: LeavingNode): string | undefined {
  if (metadata.deletionTimestamp) return `DaemonSet ${metadata.name} is being deleted`;
  return wants(spec.template.spec, node) ? undefined : `DaemonSet ${metadata.name} no longer selects this node`;
}

/** Terms are alternatives, the requirements of one hold together. */
function wants({ nodeSelector = {}, affinity }: PodSpec, node: LeavingNode): boolean {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return (
    Object.entries(nodeSelector).every(([key, value]) => node.labels[key] === value) &&
    (terms === undefined || terms.some((term) => fits(term, node)))
  );
}

function fits({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, { name, labels }: LeavingNode): boolean {
  const requirements = [...matchExpressions, ...matchFields];
  const fields = { 'metadata.name': name };
  // "A null or empty node selector term matches no objects."
  return (
    requirements.length > 0 &&
    matchExpressions.every((requirement) => holds(requirement, labels)) &&
    matchFields.every((requirement) => holds(requirement, fields))
  );
}

/** What compares numbers is taken to hold: rules that stay in vain harm less than rules that go. */
function holds({ key, operator, values }: Requirement, labels: Readonly<Record<string, string>>): boolean {
  if (operator === 'Gt' || operator === 'Lt') return true;
  return selects(parseSelector({ matchExpressions: [{ key, operator, values }] }), labels);
}
