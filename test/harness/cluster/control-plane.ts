import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import { type Claim, claimPorts } from '../claim.ts';
import { Background, type Output, type RunOptions, run } from '../command.ts';
import { eventually } from '../eventually.ts';
import type { Namespace } from '../namespace.ts';
import { tcpSocket } from '../sockets.ts';
import type { Program } from './programs.ts';

export interface ControlPlaneOptions {
  /** Where it runs; absent: on the loopback of this host. */
  readonly at?: { readonly namespace: Namespace; readonly address: string };
  /** One or two, comma-separated. */
  readonly serviceCidr?: string;
  /** Whether the controller manager runs: it makes EndpointSlices, and collects garbage. */
  readonly controllers?: boolean;
}

/** Ports, counted from the first that was claimed. */
const PORT = { api: 0, etcd: 1, etcdPeers: 2, controllers: 3 } as const;
const STARTUP = { within: 60_000, every: 50 };

/** An empty control plane of its own ports and folder, gone with its processes when it is disposed of. */
export class ControlPlane implements AsyncDisposable {
  /** Path of a kubeconfig of a cluster admin. */
  readonly kubeconfig: string;
  readonly server: string;
  readonly token = randomBytes(16).toString('hex');
  readonly #programs: string;
  readonly #folder: string;
  readonly #ports: Claim & { readonly first: number };
  readonly #options: ControlPlaneOptions;
  readonly #running = new Map<string, Background>();

  private constructor(
    programs: string,
    folder: string,
    ports: Claim & { first: number },
    options: ControlPlaneOptions,
  ) {
    this.#programs = programs;
    this.#folder = folder;
    this.#ports = ports;
    this.#options = options;
    this.kubeconfig = join(folder, 'kubeconfig');
    this.server = `https://${this.#address}:${this.#port('api')}`;
  }

  /** @param programs the folder of `findPrograms` */
  static async start(programs: string, options: ControlPlaneOptions = {}): Promise<ControlPlane> {
    const folder = await mkdtemp(join(tmpdir(), 'signpost-control-plane-'));
    const plane = new ControlPlane(programs, folder, await claimPorts(), options);
    try {
      await plane.#writeFiles();
      plane.#startEtcd();
      await plane.startApiServer();
      if (options.controllers ?? true) plane.#startControllers();
      return plane;
    } catch (error) {
      await plane[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The certificate by which clients trust the API server, in a file. */
  get certificateAuthority(): string {
    return join(this.#folder, 'certs', 'apiserver.crt');
  }

  /** The API server makes a new one when it starts. */
  async renewCertificate(): Promise<void> {
    await Promise.all(['crt', 'key'].map((end) => rm(join(this.#folder, 'certs', `apiserver.${end}`))));
  }

  kubectl(args: readonly string[], options?: RunOptions): Promise<Output> {
    const kubectl = this.#command(join(this.#programs, 'kubectl'), '--kubeconfig', this.kubeconfig, ...args);
    return run(kubectl, options);
  }

  /** Applies objects, or YAML as it stands, as a user would. */
  async apply(...objects: readonly (object | string)[]): Promise<void> {
    const text = objects
      .map((object) => (typeof object === 'string' ? object : JSON.stringify(object)))
      .join('\n---\n');
    await this.kubectl(['apply', '-f', '-'], { input: text });
  }

  /** @returns the object as the server has it. */
  async send(method: string, path: string, body?: object, type = 'application/json'): Promise<unknown> {
    const { status, text } = await this.#request(method, path, body, type);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return JSON.parse(text);
  }

  /** Keeps what etcd holds now; the result sets it back to that. Without an API server meanwhile. */
  async saveEtcd(): Promise<() => Promise<void>> {
    const saved = join(this.#folder, 'etcd-saved');
    const whileStopped = async (work: () => Promise<void>) => {
      await this.stop('etcd');
      await work();
      this.#startEtcd();
    };
    await whileStopped(() => cp(this.#etcdFolder, saved, { recursive: true }));
    return () =>
      whileStopped(async () => {
        await rm(this.#etcdFolder, { recursive: true });
        await rename(saved, this.#etcdFolder);
      });
  }

  /** Returns when the API server is ready. */
  async startApiServer(): Promise<void> {
    const certs = join(this.#folder, 'certs');
    const server = this.#start('kube-apiserver', {
      'etcd-servers': `http://127.0.0.1:${this.#port('etcd')}`,
      'cert-dir': certs,
      'bind-address': this.#address,
      'advertise-address': this.#address,
      'secure-port': this.#port('api'),
      'service-cluster-ip-range': this.#options.serviceCidr ?? '10.96.0.0/16',
      'authorization-mode': 'RBAC',
      'allow-privileged': true,
      'token-auth-file': join(this.#folder, 'tokens.csv'),
      'service-account-issuer': 'https://kubernetes.default.svc',
      'service-account-key-file': join(certs, 'sa.pub'),
      'service-account-signing-key-file': join(certs, 'sa.key'),
      'disable-admission-plugins': 'ServiceAccount,TaintNodesByCondition',
    });
    const readiness = async () => {
      if (!server.running) throw new Error(`kube-apiserver ended:\n${server.lines.slice(-5).join('\n')}`);
      return (await this.#request('GET', '/readyz')).text;
    };
    await eventually('the API server is ready', readiness, (text) => text === 'ok', STARTUP);
  }

  /** Ends one of the programs: SIGKILL is a crash. */
  async stop(program: Program, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const process = this.#running.get(program);
    this.#running.delete(program);
    await process?.stop(signal, 10_000);
  }

  /** The real kube-proxy of a node, in the node's network namespace. */
  startProxy(node: Namespace, nodeName: string, mode: 'nftables' | 'iptables' = 'nftables'): Background {
    return node.start([
      join(this.#programs, 'kube-proxy'),
      ...flags({
        'proxy-mode': mode,
        kubeconfig: this.kubeconfig,
        'hostname-override': nodeName,
        'cluster-cidr': '10.244.0.0/16',
        'conntrack-max-per-core': 0,
        'conntrack-tcp-timeout-established': 0,
        'conntrack-tcp-timeout-close-wait': 0,
      }),
    ]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of ['kube-controller-manager', 'kube-apiserver', 'etcd'] as const) {
      await this.stop(program, 'SIGKILL');
    }
    await rm(this.#folder, { recursive: true, force: true });
    this.#ports.release();
  }

  get #etcdFolder(): string {
    return join(this.#folder, 'etcd');
  }

  get #address(): string {
    return this.#options.at?.address ?? '127.0.0.1';
  }

  #port(name: keyof typeof PORT): number {
    return this.#ports.first + PORT[name];
  }

  #startEtcd(): void {
    const url = (port: keyof typeof PORT) => `http://127.0.0.1:${this.#port(port)}`;
    this.#start('etcd', {
      name: 'default',
      'data-dir': this.#etcdFolder,
      'unsafe-no-fsync': true,
      'listen-client-urls': url('etcd'),
      'advertise-client-urls': url('etcd'),
      'listen-peer-urls': url('etcdPeers'),
      'initial-advertise-peer-urls': url('etcdPeers'),
      'initial-cluster': `default=${url('etcdPeers')}`,
      logger: 'zap',
      'log-level': 'warn',
    });
  }

  #startControllers(): void {
    const certs = join(this.#folder, 'certs');
    this.#start('kube-controller-manager', {
      kubeconfig: this.kubeconfig,
      'service-account-private-key-file': join(certs, 'sa.key'),
      'use-service-account-credentials': true,
      'cert-dir': certs,
      'leader-elect': false,
      'bind-address': '127.0.0.1',
      'secure-port': this.#port('controllers'),
      'kube-api-qps': 500,
      'kube-api-burst': 1000,
      'concurrent-service-endpoint-syncs': 20,
      controllers: '*,-nodelifecycle,-node-ipam-controller,-cloud-node-lifecycle-controller',
    });
  }

  #start(program: Program, options: Readonly<Record<string, string | number | boolean>>): Background {
    // The kernel ends it with this process, however that ends.
    const dying = ['setpriv', '--pdeathsig', 'KILL'];
    const started = new Background(this.#command(...dying, join(this.#programs, program), ...flags(options)));
    this.#running.set(program, started);
    return started;
  }

  #command(...argv: readonly string[]): [string, ...string[]] {
    return this.#options.at?.namespace.command(...argv) ?? (argv as [string, ...string[]]);
  }

  async #writeFiles(): Promise<void> {
    const certs = join(this.#folder, 'certs');
    await mkdir(certs);
    await mkdir(this.#etcdFolder, { mode: 0o700 });
    const { publicKey, privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    });
    await writeFile(join(certs, 'sa.key'), privateKey, { mode: 0o600 });
    await writeFile(join(certs, 'sa.pub'), publicKey);
    await writeFile(join(this.#folder, 'tokens.csv'), `${this.token},admin,admin,system:masters\n`, { mode: 0o600 });
    await writeFile(this.kubeconfig, this.kubeconfigFor({ token: this.token }), { mode: 0o600 });
  }

  /** Text of a kubeconfig: another user, or another way to the server. */
  kubeconfigFor(user: object, server = this.server, namespace = 'default'): string {
    const trust = server.startsWith('https:')
      ? { 'certificate-authority': this.certificateAuthority }
      : { 'insecure-skip-tls-verify': true };
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster: { server, ...trust } }],
      users: [{ name: 'user', user }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'user', namespace } }],
      'current-context': 'test',
    });
  }

  /** Into the namespace of the control plane, if it has one. */
  #connection(ca: Buffer) {
    const { at } = this.#options;
    if (at === undefined) return {};
    const createConnection = (_: unknown, created: (error: Error | null, socket: Duplex) => void) => {
      const socket = tcpSocket(at.namespace.path, at.address).connect(this.#port('api'), at.address);
      socket.once('connect', () => created(null, connect({ socket, ca, host: at.address })));
      socket.once('error', (error) => created(error, socket));
      return undefined;
    };
    return { createConnection };
  }

  async #request(method: string, path: string, body?: object, type = 'application/json') {
    const ca = await readFile(this.certificateAuthority);
    const headers = { authorization: `Bearer ${this.token}`, 'content-type': type };
    return new Promise<{ status: number; text: string }>((resolve, reject) => {
      const options = { method, ca, headers, timeout: 30_000, ...this.#connection(ca) };
      const sent = request(new URL(path, this.server), options, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.once('error', reject);
        response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      sent.once('timeout', () => sent.destroy(new Error('no answer within 30 s')));
      sent.once('error', reject);
      sent.end(body && JSON.stringify(body));
    });
  }
}

function flags(options: Readonly<Record<string, string | number | boolean>>): string[] {
  return Object.entries(options).map(([name, value]) => `--${name}=${value}`);
}
