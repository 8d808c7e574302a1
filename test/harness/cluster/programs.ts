import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { claimFirst } from '../claim.ts';
import { run } from '../command.ts';
import { eventually } from '../eventually.ts';

const PROGRAMS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-proxy', 'kubectl'] as const;
export type Program = (typeof PROGRAMS)[number];

const SOURCE = new URL('../../control-plane/', import.meta.url).pathname;
const BUILD_MS = 1_200_000;

/**
 * The folder with the programs of a control plane: KUBEBUILDER_ASSETS, or built from the Go module proxy where `go`
 * is present. Undefined where there is none; where SIGNPOST_REQUIRE_CLUSTER is set that is an error.
 */
export async function findPrograms(): Promise<string | undefined> {
  const named = process.env['KUBEBUILDER_ASSETS'];
  if (named !== undefined && (await isComplete(named))) return named;
  const built = await cacheFolder();
  if (await isComplete(built)) return built;
  if (await hasGo()) {
    await build(built);
    return built;
  }
  const how = `set KUBEBUILDER_ASSETS to a folder with ${PROGRAMS.join(', ')}, or install Go 1.26 to build them`;
  if (process.env['SIGNPOST_REQUIRE_CLUSTER']) throw new Error(`no Kubernetes control plane: ${how}`);
  console.warn(`SKIPPED: tests on a real Kubernetes control plane; ${how}`);
  return undefined;
}

/** A suite that gets the folder of the programs, or is skipped with a line that says how to get them. */
export async function describeOnCluster(name: string, suite: (programs: string) => void): Promise<void> {
  const programs = await findPrograms();
  if (programs === undefined) describe.skip(name, () => suite(''));
  else describe(name, () => suite(programs));
}

async function cacheFolder(): Promise<string> {
  const modules = await readFile(join(SOURCE, 'go.mod'), 'utf8');
  const version = /k8s\.io\/kubernetes v(\S+)/.exec(modules)?.[1] ?? 'unknown';
  return join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'signpost', `kubernetes-${version}`);
}

async function isComplete(folder: string): Promise<boolean> {
  const looks = PROGRAMS.map((program) => access(join(folder, program), constants.X_OK));
  return (await Promise.allSettled(looks)).every(({ status }) => status === 'fulfilled');
}

async function hasGo(): Promise<boolean> {
  return run(['go', 'version']).then(
    () => true,
    () => false,
  );
}

/** Test files run at the same time: one builds, the others wait. */
async function build(folder: string): Promise<void> {
  const patience = { within: BUILD_MS, every: 1_000 };
  const claim = await eventually(
    'the build by another process',
    () => claimFirst(['control-plane']),
    Boolean,
    patience,
  );
  try {
    if (await isComplete(folder)) return;
    console.warn('building a Kubernetes control plane for the tests, once: about 4 minutes');
    await run([join(SOURCE, 'build.sh'), folder], { timeout: BUILD_MS });
  } finally {
    claim.release();
  }
}
