import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { callDaemon } from '../../src/cli/control-client.ts';
import type { ConditionView, RouteView, StatusDocument, VipView } from '../../src/observability/status-document.ts';
import type { Background, Exit } from './command.ts';
import { eventually, type Patience } from './eventually.ts';
import type { Lab } from './lab.ts';
import { type ManifestFolder, temporaryFolder } from './manifests.ts';
import type { Node } from './nodes.ts';

const PROGRAM = resolve(import.meta.dirname, '../../dist/signpost.mjs');

export type SpeakerOptions = (ManifestSource | ClusterSource) & {
  readonly flags?: readonly string[];
  /** A command that runs the daemon's command line in its own process, e.g. with fewer capabilities. */
  readonly through?: readonly string[];
};

export interface ManifestSource {
  readonly manifests: ManifestFolder;
  readonly peers: readonly Peer[];
  readonly keyFile: string;
}

export interface ClusterSource {
  readonly kubeconfig: string;
}

/** Another speaker, with its address on each LAN. */
export interface Peer {
  readonly name: string;
  readonly v4: string;
  readonly v6: string;
  readonly more?: readonly string[];
}

/** A real daemon on a node of the lab. */
export class Speaker {
  readonly node: Node;
  readonly socket: string;
  readonly #argv: readonly string[];
  #process: Background;

  private constructor(node: Node, socket: string, argv: readonly string[]) {
    this.node = node;
    this.socket = socket;
    this.#argv = argv;
    this.#process = node.namespace.start(argv);
  }

  static async start(lab: Lab, node: Node, options: SpeakerOptions): Promise<Speaker> {
    const folder = await temporaryFolder(lab, node.name);
    const socket = join(folder, 'signpost.sock');
    const argv = [
      ...(options.through ?? []),
      PROGRAM,
      'run',
      ...['--node', node.name, '--state-dir', join(folder, 'state'), '--socket', socket],
      ...sourceFlags(options),
      ...(options.flags ?? []),
    ];
    return new Speaker(node, socket, argv);
  }

  get name(): string {
    return this.node.name;
  }

  get pid(): number {
    return this.#process.pid;
  }

  get log(): readonly string[] {
    return this.#process.lines;
  }

  restart(): void {
    this.#process = this.node.namespace.start(this.#argv);
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.signal(signal);
  }

  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    return this.#process.stop(signal);
  }

  /** Throws while the daemon does not answer. */
  async status(): Promise<StatusDocument> {
    const reply = await callDaemon(this.socket, 'GET', '/status');
    if (reply.problem !== undefined) throw new Error(`${this.name} does not answer\n${this.log.join('\n')}`);
    return reply.ok.body as StatusDocument;
  }

  async command(name: string, body: object = {}): Promise<void> {
    const reply = await callDaemon(this.socket, 'POST', `/${name}`, body);
    if (reply.problem !== undefined || reply.ok.status !== 202)
      throw new Error(`${name} was refused: ${JSON.stringify(reply)}`);
  }

  async route(name: string): Promise<RouteView | undefined> {
    return (await this.status()).routes.find((route) => route.name === name);
  }

  async vip(vip: string): Promise<VipView | undefined> {
    return (await this.status()).vips.find((view) => view.vip === vip);
  }
}

function sourceFlags(source: ManifestSource | ClusterSource): string[] {
  if ('kubeconfig' in source) return ['--kubeconfig', source.kubeconfig];
  const peers = source.peers
    .flatMap(({ name, v4, v6, more = [] }) => [v4, v6, ...more].map((address) => `${name}=${address}`))
    .join();
  return ['--manifests', source.manifests.path, '--peers', peers, '--key-file', source.keyFile];
}

/** The same on every speaker of a lab. */
export async function makeKeyFile(lab: Lab): Promise<string> {
  const file = join(await temporaryFolder(lab, 'key'), 'key');
  await writeFile(file, randomBytes(32), { mode: 0o600 });
  return file;
}

export function conditionOf(route: RouteView | undefined, type: string): ConditionView | undefined {
  return route?.conditions.find((condition) => condition.type === type);
}

/** Waits until the speaker says that every route is programmed, and returns its status. */
export function programmed(speaker: Speaker, patience: Patience = { within: 10_000 }): Promise<StatusDocument> {
  const all = (status: StatusDocument) =>
    status.routes.length > 0 && status.routes.every((route) => conditionOf(route, 'Programmed')?.status === 'True');
  return eventually(`every route is programmed, says ${speaker.name}`, () => speaker.status(), all, patience);
}

/** Waits until all speakers name one leader of the VIP, and returns it. */
export async function leaderOf(speakers: readonly Speaker[], vip: string, patience?: Patience): Promise<Speaker> {
  const holders = await eventually(
    `one leader of ${vip}`,
    () => Promise.all(speakers.map(async (speaker) => (await speaker.vip(vip))?.holder)),
    (seen) => seen[0] !== undefined && seen.every((holder) => holder === seen[0]),
    { within: 10_000, ...patience },
  );
  const leader = speakers.find((speaker) => speaker.name === holders[0]);
  if (leader === undefined) throw new Error(`${String(holders[0])} leads ${vip} and is none of the speakers asked`);
  return leader;
}
