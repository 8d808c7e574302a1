import { ok, type Result } from '../../net/result.ts';
import type { Config } from '../config.ts';
import { readKeys } from '../keys.ts';
import { kubeconfigAccess, podAccess } from '../kubernetes/access.ts';
import type { Logger } from '../observability/log.ts';
import { Cluster } from './cluster.ts';
import type { RunningDaemon } from './running.ts';

export function sourceOf({ manifests, kubeconfig }: Config): { kind: 'manifests' | 'kubernetes'; detail: string } {
  if (manifests !== undefined) return { kind: 'manifests', detail: manifests };
  return { kind: 'kubernetes', detail: kubeconfig ?? 'service account' };
}

/** Where objects come from also has the keys of heartbeats. */
export interface Origin {
  readonly keys: readonly Uint8Array[];
  /** Undefined with manifests. */
  readonly cluster: Cluster | undefined;
}

export async function connectOrigin(
  config: Config,
  log: Logger,
  running: RunningDaemon,
  signal: AbortSignal,
): Promise<Result<Origin>> {
  if (config.manifests !== undefined) {
    const keys = await readKeys(config.keyFiles);
    return keys.problem === undefined ? ok({ keys: keys.ok, cluster: undefined }) : keys;
  }
  const access = await (config.kubeconfig === undefined
    ? podAccess(config.pod)
    : kubeconfigAccess([config.kubeconfig]));
  if (access.problem !== undefined) return access;
  const cluster = await Cluster.connect(
    access.ok,
    {
      node: config.node,
      daemonSet: config.daemonset,
      log,
      dispatch: running.dispatch,
      onState: (state) => running.onSource(state),
      onKeys: (keys) => running.onKeys(keys),
      onApiFailure: () => running.onApiFailure(),
    },
    signal,
  );
  return cluster.problem === undefined ? ok({ keys: cluster.ok.keys, cluster: cluster.ok }) : cluster;
}
