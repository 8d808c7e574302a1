import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { httpBackend } from '../backends.ts';
import type { Background } from '../command.ts';
import { Lab } from '../lab.ts';
import { temporaryFolder } from '../manifests.ts';
import { type Node, type NodeLan, nodeLan } from '../nodes.ts';
import { Speaker } from '../speaker.ts';
import { ControlPlane } from './control-plane.ts';
import { createNode, createPod } from './objects.ts';

export interface ClusterLabOptions {
  readonly nodes?: number;
  readonly podsPerNode?: number;
  /** The real kube-proxy on every node; by default in nftables mode. */
  readonly proxy?: 'nftables' | 'iptables' | 'none';
  /** Of every speaker. */
  readonly flags?: readonly string[];
}

const DAEMONSET = new URL('../../../daemonset', import.meta.url).pathname;
const CONTROL_PLANE = { v4: '192.168.50.3', v6: 'fd50::3' };

/**
 * A real cluster on a LAN of namespaces: API server, controllers, and on each node a kube-proxy and the speaker under
 * the rights of the DaemonSet. Pods have the label `app: web` and serve HTTP on 8080. There is no kubelet.
 */
export class ClusterLab implements AsyncDisposable {
  readonly lab: Lab;
  readonly net: NodeLan;
  readonly plane: ControlPlane;
  readonly proxies: readonly Background[];
  readonly kubeconfig: string;
  readonly #flags: readonly string[];

  private constructor(
    lab: Lab,
    net: NodeLan,
    plane: ControlPlane,
    proxies: readonly Background[],
    kubeconfig: string,
    flags: readonly string[],
  ) {
    this.lab = lab;
    this.net = net;
    this.plane = plane;
    this.proxies = proxies;
    this.kubeconfig = kubeconfig;
    this.#flags = flags;
  }

  /** @param programs the folder of `findPrograms` */
  static async open(programs: string, options: ClusterLabOptions = {}): Promise<ClusterLab> {
    const lab = await Lab.open();
    try {
      const net = await nodeLan(lab, { nodes: options.nodes ?? 3, podsPerNode: options.podsPerNode ?? 1 });
      const host = await lab.host('cp', net.lan, [`${CONTROL_PLANE.v4}/24`, `${CONTROL_PLANE.v6}/64`]);
      // Without a route, a node's own process cannot even send to a ClusterIP.
      await Promise.all(net.nodes.map(({ namespace }) => namespace.ip(...defaultRoutes())));
      const plane = lab.use(await ControlPlane.start(programs, { at: { namespace: host, address: CONTROL_PLANE.v4 } }));
      await plane.kubectl(['apply', '-k', DAEMONSET]);
      await plane.kubectl(['wait', '--for=condition=Established', 'crd', '--all']);
      for (const [i, node] of net.nodes.entries()) await describeNode(lab, plane, node, i + 1);
      const { proxy = 'nftables' } = options;
      const proxies =
        proxy === 'none' ? [] : net.nodes.map((node) => plane.startProxy(node.namespace, node.name, proxy));
      const { stdout: token } = await plane.kubectl(['-n', 'signpost', 'create', 'token', 'signpost']);
      const kubeconfig = join(await temporaryFolder(lab, 'access'), 'kubeconfig');
      await writeFile(kubeconfig, plane.kubeconfigFor({ token: token.trim() }, plane.server, 'signpost'));
      return new ClusterLab(lab, net, plane, proxies, kubeconfig, options.flags ?? []);
    } catch (error) {
      await lab[Symbol.asyncDispose]();
      throw error;
    }
  }

  get nodes(): readonly Node[] {
    return this.net.nodes;
  }

  startSpeaker(node: Node): Promise<Speaker> {
    return Speaker.start(this.lab, node, { kubeconfig: this.kubeconfig, flags: this.#flags });
  }

  startSpeakers(): Promise<readonly Speaker[]> {
    return Promise.all(this.nodes.map((node) => this.startSpeaker(node)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.lab[Symbol.asyncDispose]();
  }
}

async function describeNode(lab: Lab, plane: ControlPlane, node: Node, number: number): Promise<void> {
  await createNode(plane, {
    name: node.name,
    addresses: [node.v4, node.v6],
    podCIDRs: [`10.244.${number}.0/24`, `fd10:244:${number}::/64`],
  });
  for (const pod of node.pods) {
    await httpBackend(lab, pod.namespace, 8080);
    await createPod(plane, { name: pod.name, labels: { app: 'web' }, node: node.name, ips: [pod.v4, pod.v6] });
  }
}

function defaultRoutes(): string[] {
  return [`route add default via ${CONTROL_PLANE.v4}`, `route add ::/0 via ${CONTROL_PLANE.v6}`];
}
