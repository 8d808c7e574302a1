import type { Ip } from '../../net/ip.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import type { Table } from '../../net/table.ts';
import type { ForwardingPlan } from '../decide/types.ts';
import type { Report } from '../membership/types.ts';
import type { RouteKey, ServiceKey } from './keys.ts';
import type { Links } from './links.ts';
import type { Grant, Meta, NodeObject, Pool, Route, ServiceObject, SliceObject } from './objects.ts';

/** Everything that decisions depend on: an immutable snapshot, changed by `reduce` alone. */
export interface World {
  readonly self: NodeName;
  readonly witness: boolean;
  /** Interfaces that alone may announce; empty: all. */
  readonly interfaces: readonly string[];
  /** Speakers named on the command line, with their addresses. */
  readonly peers: ReadonlyMap<NodeName, readonly Ip[]>;
  /** Live claims pin assignments: there is no coordinator that writes them. */
  readonly pinByClaims: boolean;
  readonly objects: Objects;
  readonly source: SourceState;
  readonly links: Links;
  readonly wire: WireState;
  /** What routes hold by memory: the state folder, or the API's status. */
  readonly memory: Table<RouteKey, readonly Vip[]>;
  readonly forwarding: ForwardingState;
}

export interface Objects {
  readonly routes: Table<RouteKey, Route>;
  readonly pools: Table<string, Pool>;
  readonly services: Table<ServiceKey, ServiceObject>;
  readonly slices: Table<ServiceKey, readonly SliceObject[]>;
  readonly nodes: Table<NodeName, NodeObject>;
  readonly namespaces: Table<string, Meta>;
  readonly grants: Table<string, Grant>;
}

export interface SourceState {
  readonly synced: boolean;
  /** Milliseconds since the epoch; absent while the source can be read. */
  readonly staleSince: number | undefined;
  readonly problems: readonly string[];
}

type ReportOf<Kind extends Report['kind']> = Extract<Report, { kind: Kind }>;

/** What the wire last reported of each thing. */
export interface WireState {
  readonly claims: Table<Vip, ReportOf<'claim'>>;
  readonly dark: Table<Vip, ReportOf<'dark'>['reasons']>;
  /** VIPs that this node answers for. */
  readonly answered: Table<Vip, Answered>;
  readonly leases: Table<string, ReportOf<'lease'>>;
  readonly members: Table<string, ReportOf<'member'>>;
  readonly blocked: readonly NodeName[];
  readonly conflicts: Table<Vip, string>;
}

export interface Answered {
  readonly epoch: number;
  readonly fenced: boolean;
  readonly interface: string;
}

export interface ForwardingState {
  /** The plan that the kernel holds: undefined before the first apply. */
  readonly applied: ForwardingPlan | undefined;
  readonly problem: string | undefined;
}
