import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { type Claim, claimFirst } from './claim.ts';
import { run } from './command.ts';
import { Lan } from './lan.ts';
import { Namespace } from './namespace.ts';

const PREFIXES = Array.from({ length: 200 }, (_, i) => `sp${i}`);

/**
 * Network namespaces under a prefix of their own, gone with everything that runs in them when the lab is disposed of
 * or the process ends. What a killed process left behind is removed by the next one that gets its prefix.
 *
 *     await using lab = await Lab.open();
 *     const lan = await lab.lan('lan');
 *     const client = await lab.host('client', lan, ['192.0.2.2/24']);
 */
export class Lab implements AsyncDisposable {
  readonly prefix: string;
  readonly #claim: Claim;
  readonly #cleanups: (() => unknown)[] = [];
  readonly #atExit = () => this.#sweepNow();
  readonly #atSignal = (signal: NodeJS.Signals) => {
    this.#sweepNow();
    this.#forgetProcess();
    process.kill(process.pid, signal);
  };

  private constructor(claim: Claim) {
    this.#claim = claim;
    this.prefix = claim.name;
    process.on('exit', this.#atExit);
    for (const signal of SIGNALS) process.on(signal, this.#atSignal);
  }

  static async open(): Promise<Lab> {
    const lab = new Lab(await claimFirst(PREFIXES));
    lab.#sweepNow();
    return lab;
  }

  /** Called at disposal, the last deferred first. */
  defer(cleanup: () => unknown): void {
    this.#cleanups.push(cleanup);
  }

  /** Disposed of with the lab. */
  use<T extends AsyncDisposable>(resource: T): T {
    this.defer(() => resource[Symbol.asyncDispose]());
    return resource;
  }

  /** An empty namespace with the loopback up, no duplicate address detection and no router solicitation. */
  async namespace(name: string): Promise<Namespace> {
    const path = `${this.prefix}-${name}`;
    await run(['ip', 'netns', 'add', path]);
    const namespace = new Namespace(name, path, (process) => this.use(process));
    namespace.sysctl(QUIET_IPV6);
    await namespace.ip('link set lo up');
    return namespace;
  }

  /** A switch without addresses. */
  async lan(name: string): Promise<Lan> {
    return Lan.build(await this.namespace(name));
  }

  /** A namespace with `eth0` on the LAN. Addresses with their prefix length. */
  async host(name: string, lan: Lan, addresses: readonly string[]): Promise<Namespace> {
    const host = await this.namespace(name);
    await lan.attach(host, addresses);
    return host;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      for (const cleanup of this.#cleanups.reverse()) await cleanup();
    } finally {
      this.#sweepNow();
      this.#forgetProcess();
      this.#claim.release();
    }
  }

  #forgetProcess(): void {
    process.off('exit', this.#atExit);
    for (const signal of SIGNALS) process.off(signal, this.#atSignal);
  }

  /** Synchronous, because nothing else runs at a process' exit. */
  #sweepNow(): void {
    const mine = namespaces().filter((name) => name.startsWith(`${this.prefix}-`));
    for (const name of mine) {
      const pids = execFileSync('ip', ['netns', 'pids', name], { encoding: 'utf8' });
      for (const pid of pids.split('\n').filter(Boolean).map(Number)) if (pid !== process.pid) killNow(pid);
    }
    if (mine.length > 0) {
      execFileSync('ip', ['-force', '-batch', '-'], { input: mine.map((name) => `netns del ${name}`).join('\n') });
    }
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const QUIET_IPV6 = {
  'ipv6.conf.default.accept_dad': 0,
  'ipv6.conf.default.router_solicitations': 0,
  'ipv6.conf.all.accept_ra': 0,
  'ipv6.conf.default.accept_ra': 0,
};

function namespaces(): string[] {
  try {
    return readdirSync('/run/netns');
  } catch {
    return [];
  }
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It went by itself.
  }
}
