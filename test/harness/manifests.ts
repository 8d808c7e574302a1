import { rmSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Lab } from './lab.ts';
import type { Dual } from './nodes.ts';

type Manifest = Readonly<Record<string, unknown>>;

/** A folder of manifests, written as an editor does: to the side, then renamed into place. */
export class ManifestFolder {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(lab: Lab): Promise<ManifestFolder> {
    const path = await temporaryFolder(lab, 'manifests');
    return new ManifestFolder(path);
  }

  async write(file: string, ...objects: readonly Manifest[]): Promise<void> {
    await this.writeText(file, objects.map((object) => stringify(object)).join('---\n'));
  }

  async writeText(file: string, text: string): Promise<void> {
    const side = join(this.path, `.${file}.new`);
    await writeFile(side, text);
    await rename(side, join(this.path, file));
  }

  async remove(file: string): Promise<void> {
    await rm(join(this.path, file));
  }
}

/** Gone with the lab, or with the process. */
export async function temporaryFolder(lab: Lab, name: string): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), `signpost-${name}-`));
  const remove = () => rmSync(path, { recursive: true, force: true });
  process.once('exit', remove);
  lab.defer(() => {
    process.off('exit', remove);
    remove();
  });
  return path;
}

export function pool(name: string, addresses: readonly string[], spec: Manifest = {}): Manifest {
  return {
    apiVersion: 'signpost.dev/v1alpha1',
    kind: 'AddressPool',
    metadata: { name },
    spec: { addresses, l2: {}, ...spec },
  };
}

export function route(name: string, rules: readonly Manifest[], spec: Manifest = {}): Manifest {
  return { apiVersion: 'signpost.dev/v1alpha1', kind: 'ServiceRoute', metadata: { name }, spec: { ...spec, rules } };
}

export function rule(name: string, protocol: string, port: number, service: string, servicePort = port): Manifest {
  return { name, protocol, port, backendRefs: [{ name: service, port: servicePort }] };
}

export interface ServicePort {
  readonly name: string;
  readonly protocol?: 'TCP' | 'UDP' | 'SCTP';
  readonly port: number;
  readonly targetPort: number;
}

/** Where a Service's connections end: a pod, or anything else that has an address. */
export interface Endpoint extends Dual {
  readonly node: { readonly name: string };
}

/** A Service and its EndpointSlices, one for each family, as the cluster's controllers would make them. */
export function service(
  name: string,
  ports: readonly ServicePort[],
  pods: readonly Endpoint[],
  spec: Manifest = {},
): Manifest[] {
  const slice = (family: 'IPv4' | 'IPv6') => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${name}-${family.toLowerCase()}`, labels: { 'kubernetes.io/service-name': name } },
    addressType: family,
    ports: ports.map(({ name: port, protocol = 'TCP', targetPort }) => ({ name: port, protocol, port: targetPort })),
    endpoints: pods.map((pod) => ({
      addresses: [family === 'IPv4' ? pod.v4 : pod.v6],
      nodeName: pod.node.name,
      conditions: { ready: true, serving: true, terminating: false },
    })),
  });
  const made = ports.map(({ name: port, protocol = 'TCP', port: number, targetPort }) => ({
    name: port,
    protocol,
    port: number,
    targetPort,
  }));
  return [
    { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { ports: made, ...spec } },
    slice('IPv4'),
    slice('IPv6'),
  ];
}
