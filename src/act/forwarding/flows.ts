import type { Ip } from '../../../net/ip.ts';
import type { Vip } from '../../../net/names.ts';
import type { ForwardingEndpoint, ForwardingKey, Port } from '../../decide/types.ts';

type Target = Pick<ForwardingEndpoint, 'address' | 'port'>;

/** UDP flows that the kernel would keep sending to an endpoint that has gone, for as long as the client goes on. */
export interface StaleFlow {
  readonly vip: Vip;
  readonly port: Port;
  readonly endpoint: { readonly address: Ip; readonly port: Port };
}

/** Those of the endpoints `before` that `after` does not have, not even drained. */
export function staleFlows(
  key: ForwardingKey,
  before: Iterable<Target | undefined>,
  after: readonly ForwardingEndpoint[],
): StaleFlow[] {
  const [vip, protocol, port] = key.split('|');
  if (protocol !== 'UDP') return [];
  const kept = new Set(after.map(({ address, port }) => `${address} ${port}`));
  return Array.from(before)
    .filter((endpoint) => endpoint !== undefined)
    .filter(({ address, port }) => !kept.has(`${address} ${port}`))
    .map((endpoint) => ({ vip: vip as Vip, port: Number(port) as Port, endpoint }));
}
