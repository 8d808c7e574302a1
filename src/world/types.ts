import type { Ip, IpFamily } from '../../net/ip.ts';
import type { Mac } from '../../net/mac.ts';
import type { InterfaceName, NodeName, Vip } from '../../net/names.ts';
import type { Table } from '../../net/table.ts';
import type { BGPPeer } from '../api/bgp-peer.ts';
import type { Speaker } from '../api/speaker.ts';
import type { BgpRouteKey } from '../decide/bgp/types.ts';
import type { ForwardingPlan } from '../decide/types.ts';
import type { Report } from '../membership/types.ts';
import type { NeighbourKey, RouteKey, ServiceKey } from './keys.ts';
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
  readonly role: Role;
  readonly objects: Objects;
  readonly source: SourceState;
  readonly links: Links;
  /** Hardware addresses of other members, by `neighbourKey`; those that were last known. */
  readonly neighbours: ReadonlyMap<NeighbourKey, Mac>;
  readonly wire: WireState;
  /** What routes hold by memory: the state folder, or the API's status. */
  readonly memory: Table<RouteKey, readonly Vip[]>;
  readonly forwarding: ForwardingState;
  /** Sessions of this node, by BGPPeer. */
  readonly bgp: Table<string, BgpSession>;
  /** Routes that established peers have been sent. */
  readonly bgpSent: Table<BgpRouteKey, true>;
  /** This node hands everything over. */
  readonly draining: boolean;
  /** BGPPeers that this node takes its routes from. */
  readonly drainedPeers: ReadonlySet<string>;
}

/**
 * Who gives VIPs to routes. `alone`: without an API server every speaker does, by the same rules from the same inputs.
 * With one, the `coordinator` does and writes it down; a `follower` does as is written.
 */
export type Role = 'alone' | 'coordinator' | 'follower';

export interface Objects {
  readonly routes: Table<RouteKey, Route>;
  readonly pools: Table<string, Pool>;
  readonly services: Table<ServiceKey, ServiceObject>;
  readonly slices: Table<ServiceKey, readonly SliceObject[]>;
  /** By `namespace/name` of the slice: the Service whose list it is in. */
  readonly sliceOwners: Table<string, ServiceKey>;
  readonly nodes: Table<NodeName, NodeObject>;
  readonly namespaces: Table<string, Meta>;
  readonly grants: Table<string, Grant>;
  /** By `Kind namespace/name`. */
  readonly invalid: Table<string, InvalidObject>;
  /** As the source gave them, by `Kind namespace/name`: for the kinds that are planned elsewhere. */
  readonly peers: Table<string, BGPPeer>;
  readonly speakers: Table<string, Speaker>;
}

/** An object whose newest form cannot be used; its last good form, if any, is in force. */
export interface InvalidObject {
  readonly generation: number;
  readonly message: string;
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
  /** Why nobody leads a VIP, by node. */
  readonly dark: Table<Vip, ReportOf<'dark'>['reasons']>;
  /** VIPs that this node answers for. */
  readonly answered: Table<Vip, Answered>;
  /** VIPs that moved here lately, also if they have moved on since. */
  readonly arrivals: Table<Vip, Arrival>;
  readonly segments: ReadonlyMap<string, SegmentState>;
  /** What this node found out about VIPs that others hold. */
  readonly proofs: Table<Vip, Proof>;
  /** VIPs that a stranger answers for. */
  readonly conflicts: Table<Vip, Conflict>;
}

export interface Conflict {
  readonly mac: string;
  /** This node holds the VIP and goes on; else nobody took it. */
  readonly defended: boolean;
}

/** Whether a VIP answered on the wire with its holder's MAC address. */
export interface Proof {
  readonly holder: NodeName;
  readonly reachable: boolean;
  /** The MAC address that answered instead. */
  readonly answeredBy: string | undefined;
}

export interface Answered {
  readonly segment: InterfaceName;
  readonly epoch: number;
  readonly fenced: boolean;
}

export interface Arrival {
  readonly segment: InterfaceName;
  /** Other nodes that held it before, newest first. */
  readonly formerHolders: readonly NodeName[];
  readonly epoch: number;
}

export interface SegmentState {
  readonly lease: ReportOf<'lease'> | undefined;
  readonly members: ReadonlyMap<NodeName, ReportOf<'member'>>;
  /** Members that answer ARP or NDP and none of our heartbeats. */
  readonly blocked: readonly NodeName[];
  readonly keyRefusedBy: readonly NodeName[];
  /** Another process speaks under this node's name. */
  readonly nameTaken: boolean;
  /** Why its sockets could not be opened. */
  readonly failure: string | undefined;
}

/** A BGP session as far as decisions and status depend on it. */
export interface BgpSession {
  readonly peer: string;
  /** RFC 4271 section 8.2.2. */
  readonly state: string;
  /** Why it is not Established, in words. */
  readonly reason: string | undefined;
  /** RFC 5880 section 6.2; undefined: without BFD. */
  readonly bfd: string | undefined;
  /** That were negotiated. */
  readonly families: readonly IpFamily[];
}

export interface ForwardingState {
  /** The plan that the kernel holds: undefined before the first apply. */
  readonly applied: ForwardingPlan | undefined;
  readonly problem: string | undefined;
  /** Why this kernel cannot forward directly; absent where it can or was never asked to. */
  readonly direct?: string | undefined;
  /** Why this node refuses what routes of mode ClusterIP should carry. */
  readonly clusterIp?: string | undefined;
}
