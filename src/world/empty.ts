import type { Ip } from '../../net/ip.ts';
import type { NodeName } from '../../net/names.ts';
import { Table } from '../../net/table.ts';
import { NO_LINKS } from './links.ts';
import type { Objects, World } from './types.ts';

export const NO_OBJECTS: Objects = {
  routes: Table.empty(),
  pools: Table.empty(),
  services: Table.empty(),
  slices: Table.empty(),
  sliceOwners: Table.empty(),
  nodes: Table.empty(),
  namespaces: Table.empty(),
  grants: Table.empty(),
  invalid: Table.empty(),
  peers: Table.empty(),
  speakers: Table.empty(),
};

export interface WorldOptions {
  readonly self: NodeName;
  readonly witness: boolean;
  readonly interfaces: readonly string[];
  readonly peers: ReadonlyMap<NodeName, readonly Ip[]>;
  readonly role: World['role'];
  readonly memory: World['memory'];
}

/** What a daemon knows before it has seen anything. */
export function emptyWorld({ self, witness, interfaces, peers, role, memory }: WorldOptions): World {
  return {
    self,
    witness,
    interfaces,
    peers,
    role,
    memory,
    objects: NO_OBJECTS,
    source: { synced: false, staleSince: undefined, problems: [] },
    links: NO_LINKS,
    neighbours: new Map(),
    wire: {
      claims: Table.empty(),
      dark: Table.empty(),
      answered: Table.empty(),
      arrivals: Table.empty(),
      segments: new Map(),
      proofs: Table.empty(),
      conflicts: Table.empty(),
    },
    forwarding: { applied: undefined, problem: undefined },
    bgp: Table.empty(),
    bgpSent: Table.empty(),
    draining: false,
    drainedPeers: new Set(),
  };
}
