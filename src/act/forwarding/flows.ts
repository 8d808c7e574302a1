import type { Vip } from '../../../net/names.ts';
import type { ForwardingEndpoint, ForwardingKey, Port } from '../../decide/types.ts';

type Target = Pick<ForwardingEndpoint, 'address' | 'port'>;

/** UDP flows that the kernel would go on sending to where they once went, for as long as the client goes on. */
export interface StaleFlow {
  readonly vip: Vip;
  readonly port: Port;
  readonly endpoint: Target;
}

/** To those of the endpoints `before` that `after` does not have, not even drained. */
export function staleFlows(
  key: ForwardingKey,
  before: Iterable<Target | undefined>,
  after: readonly ForwardingEndpoint[],
): StaleFlow[] {
  const kept = new Set(after.map(({ address, port }) => `${address} ${port}`));
  const gone = Array.from(before)
    .filter((endpoint) => endpoint !== undefined)
    .filter(({ address, port }) => !kept.has(`${address} ${port}`));
  return udpFlows(key, gone);
}

/** Those that began before the entry was there: they went untranslated, to wherever the VIP was routed. */
export function untranslatedFlows(key: ForwardingKey): StaleFlow[] {
  const [vip, , port] = key.split('|') as [Vip, string, string];
  return udpFlows(key, [{ address: vip, port: Number(port) as Port }]);
}

function udpFlows(key: ForwardingKey, endpoints: readonly Target[]): StaleFlow[] {
  const [vip, protocol, port] = key.split('|') as [Vip, string, string];
  if (protocol !== 'UDP') return [];
  return endpoints.map((endpoint) => ({ vip, port: Number(port) as Port, endpoint }));
}
