import type { ControlPlane } from './control-plane.ts';

const READY = [{ type: 'Ready', status: 'True', reason: 'Lab', message: 'there is no kubelet' }];

export interface NodeSpec {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly podCIDRs?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
}

/** A Node that is Ready, without a kubelet. */
export async function createNode(plane: ControlPlane, { name, addresses, podCIDRs = [], labels }: NodeSpec) {
  await plane.apply({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...labels } },
    spec: podCIDRs.length > 0 ? { podCIDR: podCIDRs[0], podCIDRs } : {},
  });
  const internal = addresses.map((address) => ({ type: 'InternalIP', address }));
  await patchStatus(plane, ['node', name], {
    addresses: [...internal, { type: 'Hostname', address: name }],
    conditions: READY,
  });
}

export interface PodSpec {
  readonly name: string;
  readonly namespace?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly node: string;
  readonly ips: readonly string[];
  /** Named `http`. */
  readonly port?: number;
  readonly ready?: boolean;
}

/** A Pod that is Running, and Ready unless said otherwise, without a kubelet. */
export async function createPod(plane: ControlPlane, pod: PodSpec): Promise<void> {
  const { name, namespace = 'default', labels, node, ips, port = 8080, ready = true } = pod;
  const image = 'none';
  await plane.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: 0,
      tolerations: [{ operator: 'Exists' }],
      containers: [{ name: 'c', image, ports: [{ name: 'http', containerPort: port }] }],
    },
  });
  const status = ready ? 'True' : 'False';
  await patchStatus(plane, ['pod', '-n', namespace, name], {
    phase: 'Running',
    podIP: ips[0],
    podIPs: ips.map((ip) => ({ ip })),
    conditions: ['Ready', 'ContainersReady', 'Initialized', 'PodScheduled'].map((type) => ({
      type,
      status: type.endsWith('Ready') ? status : 'True',
    })),
    containerStatuses: [
      { name: 'c', image, imageID: image, ready, restartCount: 0, started: true, state: { running: {} } },
    ],
  });
}

/** A Service of TCP port 80 to the pods' port `http`. */
export function serviceOf(name: string, selector: Readonly<Record<string, string>>, spec: object = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default' },
    spec: { selector, ports: [{ name: 'http', port: 80, targetPort: 'http' }], ...spec },
  };
}

async function patchStatus(plane: ControlPlane, what: readonly string[], status: object): Promise<void> {
  await plane.kubectl(['patch', ...what, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status })]);
}
