import { formatProblem } from '../../net/result.ts';
import { loadConfig } from '../config.ts';
import { startDaemon } from '../daemon.ts';
import { createLogger } from '../observability/log.ts';
import { EXIT } from './exit-codes.ts';
import type { Output } from './output.ts';

/** A hand-over takes milliseconds; a supervisor's patience begins at seconds. */
const STOP_WITHIN_MS = 1500;

/** `signpost run`: until SIGTERM or SIGINT. */
export async function run(flags: Readonly<Record<string, unknown>>, output: Output): Promise<number> {
  const config = loadConfig(flags);
  if (config.problem !== undefined) {
    for (const problem of config.problem) output.err(`signpost run: ${formatProblem(problem)}\n`);
    return EXIT.configuration;
  }
  const log = createLogger({ level: config.ok.logLevel, format: config.ok.logFormat });
  let fail: (reason: string) => void = () => undefined;
  const failed = new Promise<string>((resolve) => {
    fail = resolve;
  });
  const ending = new AbortController();
  process.once('SIGTERM', () => ending.abort()).once('SIGINT', () => ending.abort());
  const asked = new Promise<undefined>((resolve) => ending.signal.addEventListener('abort', () => resolve(undefined)));
  const daemon = await startDaemon(config.ok, log, {
    onFatal: fail,
    // Beside the bundle, which this is when it runs.
    workerFile: new URL('./wire-worker.mjs', import.meta.url),
    signal: ending.signal,
  });
  if (ending.signal.aborted && daemon.problem !== undefined) return EXIT.ok;
  if (daemon.problem !== undefined) {
    output.err(`signpost run: ${formatProblem(daemon.problem)}\n`);
    return EXIT.configuration;
  }
  const reason = await Promise.race([asked, failed]);
  if (reason === undefined) {
    await daemon.ok.stop(STOP_WITHIN_MS);
    return EXIT.ok;
  }
  log.error({}, reason);
  // Nothing is cleaned up: the kernel's table carries on until the supervisor has restarted us.
  process.exit(EXIT.internal);
}
