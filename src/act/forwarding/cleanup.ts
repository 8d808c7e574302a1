import type { Result } from '../../../net/result.ts';
import { NAMESPACE } from './cluster-ip/link.ts';
import { PrivateNamespace } from './cluster-ip/private-namespace.ts';
import { DIRECT_TABLES } from './direct/tables.ts';
import type { ForwardingOptions } from './forwarding.ts';
import { launchDirectly, runProgram } from './nft-process.ts';
import { join, type NftText, nft } from './text.ts';

/** Every table that Signpost ever makes. */
const TABLES: readonly NftText[] = [nft`inet signpost`, nft`ip signpost`, nft`ip6 signpost`, ...DIRECT_TABLES];

/** Removes all rules of this node and the private namespace of mode ClusterIP; done as well where there are none. */
export async function removeForwarding({
  launch = launchDirectly,
  enter = (work) => work(),
  privateNamespace = NAMESPACE,
}: Pick<ForwardingOptions, 'launch' | 'enter' | 'privateNamespace'> = {}): Promise<Result<void>> {
  // There is no "delete if exists" before nft 1.0.8: what is added first can be deleted.
  const commands = TABLES.flatMap((table) => [nft`add table ${table}`, nft`delete table ${table}`]);
  const { problem } = await runProgram(launch, 'nft', [join(commands, '; ')]);
  if (problem !== undefined) return { problem };
  using relay = new PrivateNamespace({ name: privateNamespace, enterHost: enter });
  return relay.remove();
}
