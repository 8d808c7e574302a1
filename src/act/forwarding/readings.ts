import { readFile } from 'node:fs/promises';
import { ok, type Result } from '../../../net/result.ts';
import type { ForwardingKey } from '../../decide/types.ts';
import { type Launcher, launchDirectly, runProgram } from './nft-process.ts';

/** Since the element was made: a change of an entry's endpoints starts it anew. */
export type Counts = ReadonlyMap<ForwardingKey, number>;

export interface ForwardingCounters {
  /** New connections that were given an endpoint. */
  readonly connections: Counts;
  /** Packets to a VIP that nothing serves there; of the 4,096 last destinations. */
  readonly refused: Counts;
}

const COUNTED = {
  connections: [
    ['map', 'service'],
    ['map', 'own'],
    ['set', 'relayed'],
  ],
  refused: [['set', 'refused']],
} as const;

/** Reads the kernel's counters; tens of milliseconds in another process at 10,000 entries. */
export async function readCounters(launch: Launcher = launchDirectly): Promise<Result<ForwardingCounters>> {
  const connections = await readSets(launch, COUNTED.connections);
  if (connections.problem !== undefined) return connections;
  const refused = await readSets(launch, COUNTED.refused);
  if (refused.problem !== undefined) return refused;
  return ok({ connections: connections.ok, refused: refused.ok });
}

async function readSets(launch: Launcher, sets: readonly (readonly [string, string])[]): Promise<Result<Counts>> {
  const counts = new Map<ForwardingKey, number>();
  for (const [kind, name] of sets.flatMap(([of, base]) => [4, 6].map((digit) => [of, `${base}${digit}`] as const))) {
    const listing = await runProgram(launch, 'nft', ['list', kind, 'inet', 'signpost', name]);
    if (listing.problem !== undefined) return listing;
    for (const match of listing.ok.matchAll(COUNTED_ELEMENT)) {
      const [, vip, protocol, port, packets] = match as unknown as [string, string, string, string, string];
      const key = `${vip}|${protocol.toUpperCase()}|${port}` as ForwardingKey;
      counts.set(key, (counts.get(key) ?? 0) + Number(packets));
    }
  }
  return ok(counts);
}

const COUNTED_ELEMENT = /([0-9a-f.:]+) \. (tcp|udp|sctp) \. (\d+) [^,]*?counter packets (\d+)/g;

/** How full the kernel's table of connections is: at its limit it drops new ones. */
export interface ConntrackUse {
  readonly entries: number;
  readonly limit: number;
}

/** Of this process' network namespace. Undefined where the kernel does not track connections (yet). */
export async function readConntrackUse(): Promise<ConntrackUse | undefined> {
  try {
    const [entries, limit] = await Promise.all(['count', 'max'].map(readConntrackNumber));
    return entries === undefined || limit === undefined ? undefined : { entries, limit };
  } catch {
    return undefined;
  }
}

async function readConntrackNumber(name: string): Promise<number> {
  return Number(await readFile(`/proc/sys/net/netfilter/nf_conntrack_${name}`, 'utf8'));
}
