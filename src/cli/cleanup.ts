import { rm } from 'node:fs/promises';
import { formatProblem } from '../../net/result.ts';
import { removeForwarding } from '../act/forwarding/cleanup.ts';
import { callDaemon } from './control-client.ts';
import { EXIT } from './exit-codes.ts';
import type { Output } from './output.ts';

export interface CleanupOptions {
  readonly socket: string;
  readonly stateDir: string;
  /** Keep what was assigned, so that the next run gives the same VIPs. */
  readonly keepState: boolean;
}

/** `signpost cleanup`: removes every trace from this node. Refuses while the daemon runs, which would put it back. */
export async function cleanup(options: CleanupOptions, output: Output): Promise<number> {
  const daemon = await callDaemon(options.socket, 'GET', '/status');
  if (daemon.problem === undefined) {
    output.err(`the daemon behind ${options.socket} runs and would install its rules again; stop it first\n`);
    return EXIT.failed;
  }
  const removed = await removeForwarding();
  if (removed.problem !== undefined) {
    output.err(`${formatProblem(removed.problem)}\n`);
    return EXIT.failed;
  }
  await rm(options.socket, { force: true });
  if (!options.keepState) await rm(options.stateDir, { recursive: true, force: true });
  output.out('nftables tables inet, ip and ip6 signpost and network namespace signpost are gone');
  output.out(options.keepState ? '\n' : `, and ${options.stateDir}\n`);
  return EXIT.ok;
}
