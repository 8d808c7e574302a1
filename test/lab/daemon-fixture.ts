import { httpBackend } from '../harness/backends.ts';
import { Lab } from '../harness/lab.ts';
import { ManifestFolder, pool, route, rule, service } from '../harness/manifests.ts';
import { type NodeLan, nodeLan } from '../harness/nodes.ts';
import { echoBackend } from '../harness/probe.ts';
import { makeKeyFile, programmed, Speaker } from '../harness/speaker.ts';

export const VIP = '192.168.50.100';
export const VIP6 = 'fd50::100';

export interface DaemonLab extends NodeLan, AsyncDisposable {
  readonly lab: Lab;
  readonly manifests: ManifestFolder;
  readonly speakers: readonly Speaker[];
  readonly keyFile: string;
}

export interface DaemonLabOptions {
  readonly nodes?: number;
  readonly flags?: readonly string[] | ((lab: Lab) => Promise<readonly string[]>);
  readonly through?: readonly string[];
  /** Files beside services.yaml; by default a pool and a dual-stack route `web` with 80/TCP and 53/UDP. */
  readonly files?: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
  /** Before the speakers start. */
  readonly prepare?: (lan: NodeLan, lab: Lab) => Promise<void>;
  /** Waits until every route is programmed; true by default. */
  readonly settle?: boolean;
}

export const POOL = pool('public', ['192.168.50.100-192.168.50.109', 'fd50::100-fd50::109']);
export const WEB = route('web', [rule('http', 'TCP', 80, 'web'), rule('dns', 'UDP', 53, 'web')], {
  addresses: [VIP, VIP6],
  ipFamilyPolicy: 'PreferDualStack',
});

/** Real speakers on a LAN of nodes with pods, which serve HTTP on 8080 and echo UDP on 5353. */
export async function daemonLab(options: DaemonLabOptions = {}): Promise<DaemonLab> {
  const lab = await Lab.open();
  try {
    const lan = await nodeLan(lab, { nodes: options.nodes ?? 3, podsPerNode: 1 });
    const pods = lan.nodes.flatMap((node) => node.pods);
    for (const pod of pods) {
      await httpBackend(lab, pod.namespace, 8080);
      await echoBackend(lab, pod.namespace, 5353);
    }
    const manifests = await ManifestFolder.make(lab);
    await manifests.write(
      'services.yaml',
      ...service(
        'web',
        [
          { name: 'http', port: 80, targetPort: 8080 },
          { name: 'dns', protocol: 'UDP', port: 53, targetPort: 5353 },
        ],
        pods,
      ),
    );
    const files = options.files ?? { 'pool.yaml': [POOL], 'web.yaml': [WEB] };
    for (const [file, objects] of Object.entries(files)) await manifests.write(file, ...objects);
    await options.prepare?.(lan, lab);
    const keyFile = await makeKeyFile(lab);
    const { flags = [] } = options;
    const given = typeof flags === 'function' ? await flags(lab) : flags;
    const start = (node: NodeLan['nodes'][number]) =>
      Speaker.start(lab, node, {
        manifests,
        peers: lan.nodes,
        keyFile,
        flags: given,
        through: options.through ?? [],
      });
    const speakers = await Promise.all(lan.nodes.map(start));
    if (options.settle !== false) await Promise.all(speakers.map((speaker) => programmed(speaker)));
    return { ...lan, lab, manifests, speakers, keyFile, [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose]() };
  } catch (error) {
    await lab[Symbol.asyncDispose]();
    throw error;
  }
}
