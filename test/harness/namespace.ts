import { writeFileSync } from 'node:fs';
import { Capture } from './capture.ts';
import { Background, type Output, type RunOptions, run } from './command.ts';
import { inNamespace } from './sockets.ts';

/** A network namespace of a lab: a host, a node, a pod, or the switch between them. */
export class Namespace {
  /** Short name, unique in its lab. */
  readonly name: string;
  /** Name in /run/netns, unique on this machine. */
  readonly path: string;
  readonly #own: (process: Background) => void;

  /** `own` is told of each process that is started, to end it with the lab. */
  constructor(name: string, path: string, own: (process: Background) => void) {
    this.name = name;
    this.path = path;
    this.#own = own;
  }

  /** The command line that runs `argv` in here. The process that it starts has the pid of the command itself. */
  command(...argv: readonly string[]): [string, ...string[]] {
    return ['ip', 'netns', 'exec', this.path, ...argv];
  }

  run(argv: readonly string[], options?: RunOptions): Promise<Output> {
    return run(this.command(...argv), options);
  }

  start(argv: readonly string[], env?: NodeJS.ProcessEnv): Background {
    const process = new Background(this.command(...argv), env);
    this.#own(process);
    return process;
  }

  /** Runs synchronous `work` with this thread in here. */
  enter<T>(work: () => T): T {
    return inNamespace(this.path, work);
  }

  /** Lines for `ip -batch`, e.g. `route add default via 192.0.2.1`. */
  async ip(...lines: readonly string[]): Promise<void> {
    await run(['ip', '-n', this.path, '-batch', '-'], { input: lines.join('\n') });
  }

  /** Keys below `net.`, with dots: `{ 'ipv4.ip_forward': 1 }`. */
  sysctl(values: Readonly<Record<string, string | number>>): void {
    this.enter(() => {
      for (const [key, value] of Object.entries(values)) {
        writeFileSync(`/proc/sys/net/${key.replaceAll('.', '/')}`, String(value));
      }
    });
  }

  async mac(device = 'eth0'): Promise<string> {
    return (await this.#link(device)).address;
  }

  /** Interface index. */
  async index(device = 'eth0'): Promise<number> {
    return (await this.#link(device)).ifindex;
  }

  async #link(device: string): Promise<{ readonly address: string; readonly ifindex: number }> {
    const { stdout } = await run(['ip', '-n', this.path, '-j', 'link', 'show', 'dev', device]);
    const [link] = JSON.parse(stdout) as { address: string; ifindex: number }[];
    if (!link) throw new Error(`${this.name} has no ${device}`);
    return link;
  }

  /** Pings once; `size` is the ICMP payload, with don't-fragment set where it is given. */
  async pings(address: string, { size, timeout = 1 }: { size?: number; timeout?: number } = {}): Promise<boolean> {
    const sized = size === undefined ? [] : ['-s', String(size), '-M', 'do'];
    const { code } = await this.run(['ping', '-n', '-c1', `-W${timeout}`, ...sized, address], { mayFail: true });
    return code === 0;
  }

  /** Returns when it captures; `filter` is a pcap expression. */
  async capture(filter: string, device = 'eth0'): Promise<Capture> {
    const argv = ['tcpdump', '-l', '-n', '-e', '-tt', '-v', '--immediate-mode', '-i', device, filter];
    const tcpdump = this.start(argv);
    await tcpdump.line(/listening on/);
    return new Capture(tcpdump);
  }
}
