import { formatProblem } from '../../net/result.ts';
import type { Explanation } from '../decide/direct/explain.ts';
import { callDaemon } from './control-client.ts';
import { EXIT } from './exit-codes.ts';
import { type Format, type Output, structured } from './output.ts';

export interface ExplainOptions {
  readonly socket: string;
  readonly format: Format;
  readonly protocol: string;
}

/** `signpost explain CLIENT:PORT VIP:PORT`: which node and endpoint get a new connection. */
export async function explain(client: string, vip: string, options: ExplainOptions, output: Output): Promise<number> {
  const { socket, format, protocol } = options;
  const reply = await callDaemon(socket, 'POST', '/explain', { client, vip, protocol });
  if (reply.problem !== undefined) {
    output.err(`${formatProblem(reply.problem)}\n`);
    return EXIT.failed;
  }
  if (reply.ok.status !== 200) {
    output.err(`${(reply.ok.body as { message: string }).message}\n`);
    return EXIT.failed;
  }
  const found = reply.ok.body as Explanation;
  output.out(`${format === 'json' || format === 'yaml' ? structured(format, found) : inWords(found)}\n`);
  return EXIT.ok;
}

function inWords({ mode, slot, slots, node, endpoints }: Explanation): string {
  const [only, ...others] = endpoints;
  const who =
    only === undefined ? 'nobody: it is refused' : others.length === 0 ? only : `one of ${endpoints.join(', ')}`;
  switch (mode) {
    case 'Direct':
      return `Direct: slot ${slot} of ${slots} is of node ${node}, endpoint ${who}`;
    case 'Endpoints':
      return `Endpoints: whichever node it comes to, endpoint ${who}`;
    case 'ClusterIP':
      return `ClusterIP: by the service proxy, ${who}`;
  }
}
