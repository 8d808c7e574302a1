import { setTimeout as delay } from 'node:timers/promises';
import { ok, type Result } from '../../../net/result.ts';
import { deleteObject } from '../../kubernetes/delete.ts';
import { type ApiFailure, isStatus } from '../../kubernetes/failure.ts';
import { objectPath, RESOURCES, type Resource } from '../../kubernetes/resources.ts';
import { EXIT } from '../exit-codes.ts';
import { fail, listPeers, listPools, listRoutes, listSpeakers, type PluginContext } from './context.ts';

export interface UninstallOptions {
  /** Where the DaemonSet is. */
  readonly namespace: string;
  /** Also the CRDs, and with them every route, pool and peer. */
  readonly crds: boolean;
  /** Go on where pods do not end in time. */
  readonly force: boolean;
  readonly timeoutSeconds: number;
  /** Whether the user agrees. */
  readonly confirm: () => Promise<boolean>;
}

interface Part {
  readonly kind: string;
  readonly resource: Resource;
  readonly name: string;
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const DAEMON_SET: Part = {
  kind: 'DaemonSet',
  resource: { root: '/apis/apps/v1', plural: 'daemonsets', namespaced: true },
  name: 'signpost',
};
/** In the order in which they go: the rights last, for which the speakers have use until their end. */
const PARTS: readonly Part[] = [
  part('Lease', '/apis/coordination.k8s.io/v1', 'leases', true, 'signpost-coordinator'),
  part('Secret', '/api/v1', 'secrets', true, 'signpost-keys'),
  part('PodMonitor', '/apis/monitoring.coreos.com/v1', 'podmonitors', true, 'signpost'),
  part('PrometheusRule', '/apis/monitoring.coreos.com/v1', 'prometheusrules', true, 'signpost'),
  part('ConfigMap', '/api/v1', 'configmaps', true, 'signpost-dashboard'),
  part('RoleBinding', RBAC, 'rolebindings', true, 'signpost'),
  part('Role', RBAC, 'roles', true, 'signpost'),
  part('ClusterRoleBinding', RBAC, 'clusterrolebindings', false, 'signpost'),
  part('ClusterRole', RBAC, 'clusterroles', false, 'signpost'),
  part('ServiceAccount', '/api/v1', 'serviceaccounts', true, 'signpost'),
];
const DEFINITIONS: readonly Part[] = ['serviceroutes', 'addresspools', 'bgppeers', 'speakers'].map((plural) =>
  part(
    'CustomResourceDefinition',
    '/apis/apiextensions.k8s.io/v1',
    'customresourcedefinitions',
    false,
    `${plural}.signpost.dev`,
  ),
);
const LOOK_EVERY_MS = 500;

/** `kubectl signpost uninstall`: the speakers clean up behind themselves, then all else that was installed goes. */
export async function uninstall(context: PluginContext, options: UninstallOptions): Promise<number> {
  const { output } = context;
  const plan = await describePlan(context, options);
  if (plan.problem !== undefined) return fail(context, plan.problem);
  output.out(plan.ok);
  if (!(await options.confirm())) {
    output.err('nothing was removed; agree by "yes" or --yes\n');
    return EXIT.failed;
  }
  const ended = await endSpeakers(context, options);
  if (ended.problem !== undefined) return fail(context, ended.problem);
  if (!ended.ok) {
    output.err(
      `pods of DaemonSet signpost did not end within ${options.timeoutSeconds} s. Run this again when their nodes are` +
        ' back, or with --force to leave those nodes as they are.\n',
    );
    if (!options.force) return EXIT.failed;
  }
  const left = await removeSpeakers(context);
  if (left.problem !== undefined) return fail(context, left.problem);
  for (const gone of [...PARTS, ...(options.crds ? DEFINITIONS : [])]) {
    const removed = await remove(context, gone, options.namespace);
    if (removed.problem !== undefined) return fail(context, removed.problem);
  }
  if (left.ok.length === 0) return EXIT.ok;
  output.err(
    `nodes that did not clean up: ${left.ok.join(', ')}. Run 'signpost cleanup' there, or reboot them: until then` +
      ' their nftables tables stay.\n',
  );
  return EXIT.failed;
}

async function describePlan(
  context: PluginContext,
  { namespace, crds }: UninstallOptions,
): Promise<Result<string, ApiFailure>> {
  const everywhere = { ...context, namespace: undefined };
  const lists = await Promise.all([listRoutes(everywhere), listPools(everywhere), listPeers(everywhere)]);
  const counts: number[] = [];
  for (const list of lists) {
    // Without CRDs, as after an earlier attempt, there are none.
    if (list.problem !== undefined && !isStatus(list.problem, 404)) return list;
    counts.push(list.ok?.length ?? 0);
  }
  const objects = `ServiceRoutes (${counts[0]}), AddressPools (${counts[1]}) and BGPPeers (${counts[2]})`;
  const fate = crds
    ? `and the CustomResourceDefinitions, with which ${objects} go`
    : `but not the CustomResourceDefinitions, nor ${objects}: see --crds`;
  return ok(
    `This removes Signpost from ${context.server}, namespace ${namespace}: the DaemonSet, whose speakers remove their\n` +
      `nftables tables, its Lease, Secret, Speakers and rights, ${fate}.\nEvery VIP is out of service then.\n`,
  );
}

/** @returns whether all of them have ended, in which case their DaemonSet is gone */
async function endSpeakers(
  context: PluginContext,
  { namespace, timeoutSeconds }: UninstallOptions,
): Promise<Result<boolean, ApiFailure>> {
  const { client, output } = context;
  const target = { namespace, name: DAEMON_SET.name };
  const { resource } = DAEMON_SET;
  // It stays, marked, until its pods have ended, which ask it whether to clean up.
  const asked = await deleteObject(client, { resource, target, propagation: 'Foreground' });
  if (asked.problem !== undefined) return asked;
  const deadline = performance.now() + timeoutSeconds * 1000;
  while (performance.now() < deadline) {
    const { problem } = await client.json({ path: objectPath(resource, target) });
    if (isStatus(problem, 404)) {
      if (asked.ok) output.out(`removed ${DAEMON_SET.kind} ${DAEMON_SET.name} and its pods\n`);
      return ok(true);
    }
    if (problem !== undefined) return { problem };
    await delay(LOOK_EVERY_MS);
  }
  return ok(false);
}

/** A speaker that cleaned up has removed its Speaker. @returns the nodes of those that did not */
async function removeSpeakers(context: PluginContext): Promise<Result<readonly string[], ApiFailure>> {
  const speakers = await listSpeakers(context);
  if (isStatus(speakers.problem, 404)) return ok([]);
  if (speakers.problem !== undefined) return speakers;
  const names = speakers.ok.map(({ metadata }) => metadata.name);
  for (const name of names) {
    const removed = await remove(context, { kind: 'Speaker', resource: RESOURCES.Speaker[0], name }, '');
    if (removed.problem !== undefined) return removed;
  }
  return ok(names);
}

async function remove(
  { client, output }: PluginContext,
  { kind, resource, name }: Part,
  namespace: string,
): Promise<Result<boolean, ApiFailure>> {
  const target = resource.namespaced ? { namespace, name } : { name };
  const removed = await deleteObject(client, { resource, target });
  if (removed.ok === true) output.out(`removed ${kind} ${name}\n`);
  return removed;
}

function part(kind: string, root: string, plural: string, namespaced: boolean, name: string): Part {
  return { kind, resource: { root, plural, namespaced }, name };
}
