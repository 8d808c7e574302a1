import { formatProblem } from '../../net/result.ts';
import { callDaemon } from './control-client.ts';
import { EXIT } from './exit-codes.ts';
import type { Output } from './output.ts';

/** Asks the daemon to move VIPs: `drain`, `undrain`, `rebalance`, `hand-over`. */
export async function askToMove(
  socket: string,
  command: 'drain' | 'undrain' | 'rebalance' | 'hand-over',
  body: Readonly<Record<string, string | undefined>>,
  output: Output,
): Promise<number> {
  const reply = await callDaemon(socket, 'POST', `/${command}`, body);
  if (reply.problem !== undefined) {
    output.err(`${formatProblem(reply.problem)}\n`);
    return EXIT.failed;
  }
  if (reply.ok.status !== 202) {
    output.err(`${(reply.ok.body as { message?: string }).message ?? 'refused'}\n`);
    return EXIT.failed;
  }
  output.out(`${command} is under way; see 'signpost status --watch'\n`);
  return EXIT.ok;
}
