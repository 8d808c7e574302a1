import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { eventually, type Patience } from './eventually.ts';

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** Written to its standard input. */
  readonly input?: string;
  /** Milliseconds; then it is killed and the run fails. */
  readonly timeout?: number;
  /** Do not throw when it exits with another code than 0. */
  readonly mayFail?: boolean;
}

/** Runs a program to its end, without a shell. */
export function run(argv: readonly [string, ...string[]], options: RunOptions = {}): Promise<Output> {
  const [command, ...args] = argv;
  const { timeout = 45_000, input = '', mayFail = false } = options;
  return new Promise((resolve, reject) => {
    const child = execFile(command, args, { timeout, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      if (code === 0 || (mayFail && code > 0)) resolve({ code, stdout, stderr });
      else
        reject(
          new Error(`${argv.join(' ')}: ${error?.killed ? `no end in ${timeout} ms` : `exit ${code}`}\n${stderr}`),
        );
    });
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A program that runs until it is stopped. Its output lines are kept, both streams in order of arrival. */
export class Background implements AsyncDisposable {
  readonly lines: string[] = [];
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;

  constructor(argv: readonly [string, ...string[]], env: NodeJS.ProcessEnv = process.env) {
    const [command, ...args] = argv;
    this.#child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
    this.exited = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => this.lines.push(line));
    }
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error(`${this.#child.spawnfile} did not start`);
    return this.#child.pid;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The first output line that matches; fails with all output when none does in time. */
  async line(pattern: RegExp, patience?: Patience): Promise<string> {
    const find = () => this.lines.find((line) => pattern.test(line));
    try {
      return (await eventually(`${this.#child.spawnfile} prints ${pattern}`, find, undefined, patience)) ?? '';
    } catch (error) {
      throw new Error(`${String(error)}\n${this.lines.join('\n')}`);
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Ends it, by SIGKILL where it has not gone by itself after `grace` milliseconds. */
  async stop(signal: NodeJS.Signals = 'SIGTERM', grace = 3_000): Promise<Exit> {
    this.#child.kill(signal);
    const killer = setTimeout(() => this.#child.kill('SIGKILL'), grace);
    try {
      return await this.exited;
    } finally {
      clearTimeout(killer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.running) await this.stop();
  }
}
