import type { Result } from '../../../net/result.ts';
import { type Launcher, launchDirectly, runProgram } from './nft-process.ts';
import { join, type NftText, nft } from './text.ts';

/** Every table that Signpost ever makes. */
const TABLES: readonly NftText[] = [nft`inet signpost`, nft`ip signpost`, nft`ip6 signpost`];

/** Removes all rules from this network namespace, in one transaction; done as well where there are none. */
export async function removeForwarding(launch: Launcher = launchDirectly): Promise<Result<void>> {
  // There is no "delete if exists" before nft 1.0.8: what is added first can be deleted.
  const commands = TABLES.flatMap((table) => [nft`add table ${table}`, nft`delete table ${table}`]);
  const { problem } = await runProgram(launch, 'nft', [join(commands, '; ')]);
  return problem === undefined ? { ok: undefined } : { problem };
}
