import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { isIPv6 } from 'node:net';
import { delimiter, join } from 'node:path';
import { ok, problem, type Result } from '../../net/result.ts';

/** What reaches the API server and proves who asks. */
export interface ClusterAccess {
  readonly server: URL;
  /** Namespace that is meant where none is named: the pod's own, or that of the kubeconfig's context. */
  readonly namespace: string;
  /** TLS material and headers as they are now: tokens and certificates are rotated while we run. May reject. */
  options(): Promise<RequestOptions>;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface PodEnvironment {
  readonly host: string | undefined;
  readonly port: string | undefined;
}

/**
 * Access of a pod by its service account. It does without the client library, which costs 20 MB in every speaker.
 * https://kubernetes.io/docs/tasks/run-application/access-api-from-pod
 */
export async function podAccess(
  { host, port }: PodEnvironment,
  folder = SERVICE_ACCOUNT,
): Promise<Result<ClusterAccess>> {
  if (host === undefined || port === undefined) {
    const fix = 'run in a pod, or give --kubeconfig or --manifests';
    return problem('KUBERNETES_SERVICE_HOST', host, 'is missing: this is no pod of a cluster', fix);
  }
  const read = (name: string) => readFile(join(folder, name), 'utf8');
  try {
    return ok({
      server: new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`),
      namespace: (await read('namespace')).trim(),
      async options() {
        const [ca, token] = await Promise.all([read('ca.crt'), read('token')]);
        return { ca, headers: { authorization: `Bearer ${token.trim()}` } };
      },
    });
  } catch (error) {
    const fix = 'let automountServiceAccountToken be true';
    return problem('service account', folder, `cannot be read: ${(error as Error).message}`, fix);
  }
}

/**
 * Access by a kubeconfig, with all the ways of authentication that the client library knows.
 * @param files merged as kubectl does: of two entries of one name the first counts
 * @param context by default the current one
 */
export async function kubeconfigAccess(files: readonly string[], context?: string): Promise<Result<ClusterAccess>> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const named = files.join(delimiter);
  const config = new KubeConfig();
  try {
    const loaded = files.map((file) => {
      const part = new KubeConfig();
      part.loadFromFile(file);
      return part;
    });
    const current = context ?? loaded.map(({ currentContext }) => currentContext).find(Boolean);
    config.loadFromOptions({
      clusters: firstOfName(loaded.flatMap(({ clusters }) => clusters)),
      users: firstOfName(loaded.flatMap(({ users }) => users)),
      contexts: firstOfName(loaded.flatMap(({ contexts }) => contexts)),
      currentContext: current ?? '',
    });
  } catch (error) {
    return problem('--kubeconfig', named, `cannot be read: ${(error as Error).message}`, 'name a kubeconfig file');
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null) {
    const what = context === undefined ? 'has no current context' : `has no context ${context}`;
    return problem('--kubeconfig', named, `${what} that names a cluster`, `see 'kubectl config get-contexts'`);
  }
  return ok({
    server: new URL(cluster.server),
    namespace: config.getContextObject(config.currentContext)?.namespace ?? 'default',
    async options() {
      const options: RequestOptions = { headers: {} };
      await config.applyToHTTPSOptions(options);
      // Its agent is a new one for each request; only one that goes through a proxy cannot be ours.
      if (cluster.proxyUrl === undefined) delete options.agent;
      return options;
    },
  });
}

function firstOfName<T extends { readonly name: string }>(entries: readonly T[]): T[] {
  return [...new Map(entries.toReversed().map((entry) => [entry.name, entry])).values()];
}
