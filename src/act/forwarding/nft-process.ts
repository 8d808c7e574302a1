import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { ok, problem, type Result } from '../../../net/result.ts';
import type { NftText } from './text.ts';

/** The programs, and the Debian packages that have them. */
const PACKAGE = { nft: 'nftables' } as const;

/** The command line that starts a program: in a network namespace for tests, else its name alone. */
export type Launcher = (program: keyof typeof PACKAGE) => readonly [string, ...string[]];

export const launchDirectly: Launcher = (program) => [program];

/** `describe` asks nothing of the kernel and prints exactly this: the end of the answer to the line before it. */
const MARKER_QUERY = 'describe ipv4_addr';
const MARKER = 'datatype ipv4_addr (IPv4 address) (basetype integer), 32 bits\n';

/** A transaction that takes longer than this is taken for a hang. Milliseconds. */
const PATIENCE = 60_000;

/** More than this of an error's echo of our own line is of no use. */
const STDERR_KEPT = 2_000;

interface Pending {
  readonly settle: (result: Result<string>) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * One long-lived `nft -i`: a line is a transaction, 20 times cheaper than a process for each. It is started when it
 * is needed, and anew after it died.
 */
export class NftProcess implements AsyncDisposable {
  readonly #launch: Launcher;
  #child: ChildProcessWithoutNullStreams | undefined;
  #pending: Pending | undefined;
  #stdout = '';
  #stderr = '';

  constructor(launch: Launcher) {
    this.#launch = launch;
  }

  /**
   * Runs one line to its end and returns what it printed. One at a time. After a problem the state of the kernel is
   * not known: the process may have died before or after the commit.
   */
  run(line: NftText): Promise<Result<string>> {
    if (this.#pending) throw new Error('one line at a time');
    const child = (this.#child ??= this.#start());
    return new Promise((settle) => {
      const timer = setTimeout(() => {
        child.kill('SIGKILL');
      }, PATIENCE);
      this.#stdout = '';
      this.#stderr = '';
      this.#pending = { settle, timer };
      child.stdin.write(`${line}\n${MARKER_QUERY}\n`);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#child;
    if (!child) return;
    const gone = new Promise((resolve) => child.once('close', resolve));
    // nft ends at the end of its input, after what it is doing.
    child.stdin.end();
    await gone;
  }

  #start(): ChildProcessWithoutNullStreams {
    const [command, ...args] = this.#launch('nft');
    // Else nft reads and writes all lines of all runs in ~/.nft.history.
    const env = { ...process.env, HOME: '/nonexistent' };
    const child = spawn(command, [...args, '-i'], { stdio: 'pipe', env });
    let failure: Error | undefined;
    child.on('error', (error) => {
      failure = error;
    });
    child.on('close', (code, signal) => {
      if (this.#child === child) this.#child = undefined;
      this.#finish(failure ? startProblem('nft', failure) : exitProblem(signal ?? `exit code ${code}`, this.#stderr));
    });
    // What the write cannot tell, the end of the process does.
    child.stdin.on('error', () => undefined);
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (this.#stderr.length < STDERR_KEPT) this.#stderr += text.slice(0, STDERR_KEPT);
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text;
      // Errors were written before the marker, but the other pipe may be read after this one in the same turn.
      if (this.#stdout.endsWith(MARKER)) setImmediate(() => this.#finish(this.#answer()));
    });
    return child;
  }

  #answer(): Result<string> {
    return /\bError: /.test(this.#stderr) ? refusal(this.#stderr) : ok(this.#stdout.slice(0, -MARKER.length));
  }

  #finish(result: Result<string>): void {
    const pending = this.#pending;
    if (!pending) return;
    this.#pending = undefined;
    clearTimeout(pending.timer);
    pending.settle(result);
  }
}

/** Runs a program to its end; what it printed. */
export function runProgram(
  launch: Launcher,
  program: keyof typeof PACKAGE,
  args: readonly string[],
  input = '',
): Promise<Result<string> & { readonly code: number }> {
  const [command, ...before] = launch(program);
  return new Promise((resolve) => {
    const options = { maxBuffer: 1 << 30, timeout: PATIENCE };
    const child = execFile(command, [...before, ...args], options, (error, stdout, stderr) => {
      if (error === null) resolve({ ...ok(stdout), code: 0 });
      else if (typeof error.code === 'number') resolve({ ...refusal(stderr), code: error.code });
      else resolve({ ...startProblem(program, error), code: -1 });
    });
    // What the write cannot tell, the end of the process does.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

function startProblem(program: keyof typeof PACKAGE, error: Error & { code?: unknown }): Result<never> {
  return error.code === 'ENOENT'
    ? problem('', undefined, `${program} is not installed`, `install the package ${PACKAGE[program]}`)
    : problem('', undefined, `${program} failed: ${error.message}`, 'see that this process may start programs');
}

function exitProblem(how: string, stderr: string): Result<never> {
  const said = firstLine(stderr);
  return problem('', undefined, `nft ended with ${how}${said === '' ? '' : `: ${said}`}`, 'it is started again');
}

function refusal(stderr: string): Result<never> {
  const said = firstLine(stderr);
  const fix = /not permitted/.test(said)
    ? 'run as root, or give the container the capability NET_ADMIN'
    : /not supported|No such file/.test(said)
      ? 'the state of the table is read again and mended'
      : 'it is tried again';
  return problem('', undefined, `the kernel refused the rules: ${said}`, fix);
}

function firstLine(text: string): string {
  return (text.split('\n')[0] ?? '').replace(/^(?:\S+: )?Error: (?:Could not process rule: )?/, '').slice(0, 300);
}
