import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Answer, AnswerRecord, longestSilence, type Turn, turnsOf } from './answers.ts';
import { tcpBackend } from './backends.ts';
import { eventually } from './eventually.ts';
import { Lab } from './lab.ts';
import { ManifestFolder, pool, route, rule, service } from './manifests.ts';
import type { Namespace } from './namespace.ts';
import { type Dual, type NodeLan, nodeLan } from './nodes.ts';
import { echoBackend, Probe, type ProbeResult } from './probe.ts';
import { leaderOf, makeKeyFile, programmed, Speaker } from './speaker.ts';

export const VIP = '192.168.50.100';
export const VIP6 = 'fd50::100';
export const VIPS = [VIP, VIP6] as const;
/** Port of the VIPs that leads to an echo of UDP, and to an echo of TCP. */
export const ECHO = { udp: 53, tcp: 7000 } as const;

export interface LeaderLabOptions {
  readonly nodes?: number;
  readonly vips?: readonly string[];
  /** Addresses of the pool. */
  readonly ranges?: readonly string[];
  readonly flags?: readonly string[];
  /** Of the pool: `{ l2: { fencing: 'Require' } }`. */
  readonly pool?: Readonly<Record<string, unknown>>;
  /** Before the speakers start. */
  readonly prepare?: (lan: NodeLan) => Promise<void>;
  /** Further flags of the speaker of one node, by its name. */
  readonly flagsOf?: Readonly<Record<string, readonly string[]>>;
  /** Addresses of the nodes on further LANs, by name. */
  readonly addressesOf?: Readonly<Record<string, readonly string[]>>;
}

/** What happened on the LAN and at the client during a fault. */
export interface Seen extends ProbeResult {
  readonly answers: readonly Answer[];
  /** The longest time in milliseconds that this process, and so perhaps the speakers, had to wait for a processor. */
  readonly stall: number;
  /** Milliseconds in which nobody answered for the first VIP. */
  readonly unanswered: number;
  /** Of the first VIP, with the names of the nodes. */
  readonly turns: readonly (Turn & { readonly node: string })[];
}

/**
 * Speakers on a LAN whose only endpoint is a host beside the nodes: what a client loses is lost by the leaders alone,
 * not by a pod of the node that fails.
 */
export class LeaderLab implements AsyncDisposable {
  readonly lab: Lab;
  readonly net: NodeLan;
  readonly keyFile: string;
  readonly manifests: ManifestFolder;
  readonly speakers: readonly Speaker[];
  /** A second client. */
  readonly newcomer: Dual & { readonly namespace: Namespace };
  /** Where the endpoint is. */
  readonly server: Namespace;
  readonly #names: ReadonlyMap<string, string>;

  private constructor(
    made: Pick<LeaderLab, 'lab' | 'net' | 'keyFile' | 'manifests' | 'speakers' | 'newcomer' | 'server'>,
    names: ReadonlyMap<string, string>,
  ) {
    this.lab = made.lab;
    this.net = made.net;
    this.keyFile = made.keyFile;
    this.manifests = made.manifests;
    this.speakers = made.speakers;
    this.newcomer = made.newcomer;
    this.server = made.server;
    this.#names = names;
  }

  static async open(options: LeaderLabOptions = {}): Promise<LeaderLab> {
    const lab = await Lab.open();
    try {
      return await LeaderLab.#build(lab, options);
    } catch (error) {
      await lab[Symbol.asyncDispose]();
      throw error;
    }
  }

  static async #build(lab: Lab, options: LeaderLabOptions): Promise<LeaderLab> {
    const net = await nodeLan(lab, { nodes: options.nodes ?? 3, podsPerNode: 0 });
    const endpoint = { v4: '192.168.50.240', v6: 'fd50::240' };
    const late = { v4: '192.168.50.3', v6: 'fd50::3' };
    const server = await lab.host('server', net.lan, [`${endpoint.v4}/24`, `${endpoint.v6}/64`]);
    const namespace = await lab.host('newcomer', net.lan, [`${late.v4}/24`, `${late.v6}/64`]);
    await echoBackend(lab, server, 5353);
    await tcpBackend(lab, server, ECHO.tcp);
    // The client and the endpoint are neighbours: the kernel would tell the client the short way.
    for (const node of net.nodes)
      node.namespace.sysctl({ 'ipv4.conf.all.send_redirects': 0, 'ipv4.conf.eth0.send_redirects': 0 });
    const manifests = await ManifestFolder.make(lab);
    const ports = [
      { name: 'udp', protocol: 'UDP', port: ECHO.udp, targetPort: 5353 },
      { name: 'tcp', protocol: 'TCP', port: ECHO.tcp, targetPort: ECHO.tcp },
    ] as const;
    const rules = ports.map(({ name, protocol, port }) => rule(name, protocol, port, 'echo'));
    const vips = options.vips ?? VIPS;
    const ranges = options.ranges ?? ['192.168.50.100-192.168.50.199', 'fd50::100-fd50::199'];
    await manifests.write('service.yaml', ...service('echo', ports, [{ ...endpoint, node: { name: 'server' } }]));
    await manifests.write('pool.yaml', pool('public', ranges, options.pool));
    await manifests.write('routes.yaml', ...vips.map((vip, i) => route(`echo-${i + 1}`, rules, { addresses: [vip] })));
    await options.prepare?.(net);
    const keyFile = await makeKeyFile(lab);
    const peers = net.nodes.map(({ name, v4, v6 }) => ({ name, v4, v6, more: options.addressesOf?.[name] ?? [] }));
    const speakers = await Promise.all(
      net.nodes.map((node) => {
        const flags = [...(options.flags ?? []), ...(options.flagsOf?.[node.name] ?? [])];
        return Speaker.start(lab, node, { manifests, peers, keyFile, flags });
      }),
    );
    await Promise.all(speakers.map((speaker) => programmed(speaker, { within: 20_000 })));
    const hosts = [...net.nodes.map((node) => node.namespace), net.client.namespace, namespace, server];
    const names = await Promise.all(hosts.map(async (host) => [await host.mac(), host.name] as const));
    return new LeaderLab(
      { lab, net, keyFile, manifests, speakers, newcomer: { ...late, namespace }, server },
      new Map(names),
    );
  }

  /** Waits until all those speakers name one leader. */
  leader(vip: string = VIP, among: readonly Speaker[] = this.speakers): Promise<Speaker> {
    return leaderOf(among, vip);
  }

  others(speaker: Speaker): Speaker[] {
    return this.speakers.filter((other) => other !== speaker);
  }

  /** Waits until another than `last` leads. */
  async successor(last: Speaker, among: readonly Speaker[] = this.speakers, vip: string = VIP): Promise<Speaker> {
    return eventually(
      `another leader of ${vip} than ${last.name}`,
      () => leaderOf(among, vip),
      (next) => next !== last,
      { within: 10_000 },
    );
  }

  /** Waits until every speaker has its lease. */
  async settled(among: readonly Speaker[] = this.speakers): Promise<void> {
    await eventually(
      'every speaker has its lease',
      () => Promise.all(among.map((speaker) => speaker.status())),
      (all) => all.every(({ leases }) => leases.length > 0 && leases.every(({ held }) => held)),
      { within: 15_000 },
    );
  }

  /** Runs a fault while the client sends datagrams to the first of `vips` and asks who has each of them. */
  async watch(fault: () => Promise<void>, { vips = [VIP] as readonly string[], perSecond = 500 } = {}): Promise<Seen> {
    const [vip = VIP] = vips;
    const { namespace, ...own } = this.net.client;
    await using record = await AnswerRecord.start(namespace, own, vips);
    const probe = await Probe.start(namespace, vip, ECHO.udp, perSecond);
    await eventually(
      'probes are answered',
      () => probe.answered,
      (count) => count > 20,
    );
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    let result: ProbeResult;
    try {
      await fault();
    } finally {
      delay.disable();
      result = await probe.stop();
    }
    const answers = await record.stop();
    const unanswered = longestSilence(answers, vip);
    return { ...result, stall: Math.round(delay.max / 1e6), answers, unanswered, turns: this.turns(answers, vip) };
  }

  turns(answers: readonly Answer[], vip: string = VIP): (Turn & { readonly node: string })[] {
    return turnsOf(answers, vip).map((turn) => ({ ...turn, node: this.nameOf(turn.mac) }));
  }

  nameOf(mac: string): string {
    return this.#names.get(mac) ?? mac;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.lab[Symbol.asyncDispose]();
  }
}
