import { tcpBackend } from '../harness/backends.ts';
import { askHttp, EchoConnection } from '../harness/clients.ts';
import { eventually } from '../harness/eventually.ts';
import { route, rule, service } from '../harness/manifests.ts';
import type { Pod } from '../harness/nodes.ts';
import { programmed } from '../harness/speaker.ts';
import { type DaemonLab, daemonLab, POOL, VIP, VIP6 } from './daemon-fixture.ts';

/** A dual-stack route with 80/TCP, 7/TCP (echo) and 53/UDP (echo), to Services by weight. */
export function directRoute(
  forwarding = 'Direct',
  spec: Readonly<Record<string, unknown>> = {},
  weights: Readonly<Record<string, number>> = { web: 1 },
) {
  const weighted = (name: string, protocol: string, port: number) => ({
    ...rule(name, protocol, port, 'web'),
    backendRefs: Object.entries(weights).map(([service, weight]) => ({ name: service, port, weight })),
  });
  return route('web', [weighted('http', 'TCP', 80), weighted('echo', 'TCP', 7), weighted('dns', 'UDP', 53)], {
    addresses: [VIP, VIP6],
    ipFamilyPolicy: 'PreferDualStack',
    forwarding,
    ...spec,
  });
}

export function webService(pods: readonly Pod[], name = 'web') {
  return service(
    name,
    [
      { name: 'http', port: 80, targetPort: 8080 },
      { name: 'echo', port: 7, targetPort: 7 },
      { name: 'dns', protocol: 'UDP', port: 53, targetPort: 5353 },
    ],
    pods,
  );
}

export interface DirectLab extends DaemonLab {
  readonly pods: readonly Pod[];
  /** Makes these the Service's endpoints. */
  serve(pods: readonly Pod[]): Promise<void>;
  forwardBy(forwarding: string, spec?: Readonly<Record<string, unknown>>): Promise<void>;
}

export async function directLab({ nodes = 3 } = {}): Promise<DirectLab> {
  const lab = await daemonLab({
    nodes,
    // A node that a busy machine keeps from its heartbeats would lose its slots, and each move is one to remember.
    flags: ['--profile', 'calm'],
    files: { 'pool.yaml': [POOL], 'web.yaml': [directRoute()] },
    settle: false,
  });
  const pods = lab.nodes.flatMap((node) => node.pods);
  for (const pod of pods) await tcpBackend(lab.lab, pod.namespace, 7);
  const direct: DirectLab = {
    ...lab,
    pods,
    serve: (some) => lab.manifests.write('services.yaml', ...webService(some)),
    forwardBy: (mode, spec) => lab.manifests.write('web.yaml', directRoute(mode, spec)),
    [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose](),
  };
  await direct.serve(pods);
  await Promise.all(lab.speakers.map((speaker) => programmed(speaker)));
  await Promise.all([VIP, VIP6].map((vip) => seesClient(direct, vip)));
  return direct;
}

/** Waits until all pods are reached and see the client: the leader alone would reach its own. */
export async function seesClient(lab: DirectLab, vip: string): Promise<void> {
  await eventually(
    'pods see the client',
    () => Promise.all(Array.from({ length: 40 }, () => askHttp(lab.client.namespace, vip, 80))),
    (answers) =>
      answers.every(({ client }) => client === lab.client.v4 || client === lab.client.v6) &&
      new Set(answers.map(({ backend }) => backend)).size === lab.pods.length,
    { within: 15_000 },
  );
}

/** Open connections with a line going both ways every so often. */
export class Connections {
  readonly #all: readonly EchoConnection[];
  readonly #failures = new Map<EchoConnection, unknown>();
  readonly #loops: Promise<void>[];
  #running = true;
  #exchanges = 0;

  private constructor(all: readonly EchoConnection[]) {
    this.#all = all;
    this.#loops = all.map((connection) => this.#talk(connection));
  }

  /** @param count half of them to each address */
  static async open(lab: DirectLab, count: number, addresses: readonly string[] = [VIP, VIP6]): Promise<Connections> {
    const all: EchoConnection[] = [];
    for (let i = 0; i < count; i += 20) {
      const some = Array.from({ length: Math.min(20, count - i) }, (_, k) =>
        EchoConnection.open(lab.client.namespace, addresses[(i + k) % addresses.length] as string, 7, 5_000),
      );
      all.push(...(await Promise.all(some)));
    }
    return new Connections(all);
  }

  get exchanges(): number {
    return this.#exchanges;
  }

  /** How many connections there are to each pod. */
  get backends(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { backend } of this.#all) counts.set(backend, (counts.get(backend) ?? 0) + 1);
    return counts;
  }

  /** Each must exchange once more; what failed, by the pod that the connection was to. */
  async finish(): Promise<{
    readonly exchanges: number;
    readonly failed: readonly string[];
    readonly why: readonly string[];
  }> {
    this.#running = false;
    await Promise.all(this.#loops);
    await Promise.all(this.#all.map((connection) => this.#exchange(connection, 2_500)));
    for (const connection of this.#all) connection.close();
    const failed = [...this.#failures.keys()].map(({ backend }) => backend);
    return { exchanges: this.#exchanges, failed, why: [...this.#failures.values()].map(String) };
  }

  async #talk(connection: EchoConnection): Promise<void> {
    while (this.#running && !this.#failures.has(connection)) {
      await this.#exchange(connection);
      await new Promise((resolve) => setTimeout(resolve, 40 + Math.random() * 20));
    }
  }

  async #exchange(connection: EchoConnection, timeout = 8_000): Promise<void> {
    if (this.#failures.has(connection)) return;
    try {
      await connection.exchange('still here', timeout);
      this.#exchanges++;
    } catch (error) {
      this.#failures.set(connection, error);
    }
  }
}
