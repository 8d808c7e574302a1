import type { Brand } from '../../net/brand.ts';
import type { Ip, IpFamily } from '../../net/ip.ts';
import type { Mac } from '../../net/mac.ts';
import type { InterfaceName, NodeName, Vip } from '../../net/names.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Table } from '../../net/table.ts';

/** 1 to 65535. */
export type Port = Brand<number, 'Port'>;
export type Protocol = 'TCP' | 'UDP' | 'SCTP';

/** What the kernel of this node must do with packets to VIPs. The forwarding actuator makes it so. */
export interface ForwardingPlan {
  /**
   * Every VIP that this node may receive, with or without a served port: a packet to one of these that no entry
   * carries is refused here and never forwarded.
   */
  readonly vips: Table<Vip, true>;
  /** By `forwardingKey`. Tables, so that the actuator's work is in proportion to what changed. */
  readonly entries: Table<ForwardingKey, ForwardingEntry>;
  /** Where packets from clients enter: traffic policy Local keeps the client address of those alone. */
  readonly announcingInterfaces: readonly InterfaceName[];
  /** Networks of which routers send everything here: what is no VIP is refused, or it would go back to them. */
  readonly aggregates?: readonly Prefix[];
  /** VIPs that moved here lately, for the drain time: open TCP connections go on at the former holders. */
  readonly bounces?: Table<Vip, readonly Bounce[]>;
  /** What entries with `direct` need. */
  readonly direct?: DirectSurroundings;
}

/** The nodes around this one, as Direct forwarding sends frames to them and knows theirs. */
export interface DirectSurroundings {
  readonly self: NodeName;
  /** Interfaces on which packets of clients enter, and the hardware addresses of the members behind each. */
  readonly interfaces: readonly { readonly name: InterfaceName; readonly members: readonly DirectMember[] }[];
  readonly nodes: ReadonlyMap<NodeName, DirectNode>;
  /** Nodes whose speakers are known to be gone: they get no new connections, and are not asked for open ones. */
  readonly gone: ReadonlySet<NodeName>;
}

export interface DirectMember {
  readonly node: NodeName;
  readonly mac: Mac;
}

/** Where a node is reached without a router, by family. */
export type DirectNode = Readonly<Partial<Record<IpFamily, Bounce>>>;

/** Where TCP segments of connections that this node does not know are sent instead. */
export interface Bounce {
  /** The other node's own address, of the VIP's family. */
  readonly to: Ip;
  /** The interface of this node that reaches it. */
  readonly device: InterfaceName;
}

export interface ForwardingEntry {
  readonly vip: Vip;
  readonly protocol: Protocol;
  readonly port: Port;
  /** Endpoints that may take new connections. Empty: new connections are refused. */
  readonly endpoints: readonly ForwardingEndpoint[];
  /** Keep the client's address (traffic policy Local). */
  readonly keepClientAddress: boolean;
  readonly affinity: Affinity;
  /** Clients that may connect, as canonical CIDRs of the VIP's family; empty: all. */
  readonly sourceRanges: readonly string[];
  /** Frames of clients go unchanged to the endpoints' nodes; absent: this node translates to any endpoint. */
  readonly direct?: DirectEntry;
  /**
   * The endpoints are ClusterIPs: packets take the way through the private network namespace, so that the cluster's
   * service proxy can translate them a second time.
   */
  readonly relayed?: true;
}

export interface DirectEntry {
  /** Nodes with endpoints that may take new connections, by name. */
  readonly shares: readonly NodeShare[];
  /** Endpoints on this node, for what other nodes send here. */
  readonly own: readonly ForwardingEndpoint[];
}

/** A node and its share of new connections, relative to the entry's other nodes. */
export interface NodeShare {
  readonly node: NodeName;
  readonly weight: number;
}

export interface ForwardingEndpoint {
  /** Of the VIP's family. */
  readonly address: Ip;
  readonly port: Port;
  /** Share of new connections, relative to the entry's other endpoints; 0 takes none but keeps open flows. */
  readonly weight: number;
}

export type Affinity =
  | { readonly type: 'None' }
  /** The same client address keeps its endpoint until `timeoutSeconds` after its last new connection. */
  | { readonly type: 'ClientIP'; readonly timeoutSeconds: number }
  /** Stateless: the same client address has the same endpoint on every node. */
  | { readonly type: 'Hash' };

/** `VIP|PROTOCOL|PORT`. */
export type ForwardingKey = Brand<string, 'ForwardingKey'>;

export function forwardingKey(entry: Pick<ForwardingEntry, 'vip' | 'protocol' | 'port'>): ForwardingKey {
  return `${entry.vip}|${entry.protocol}|${entry.port}` as ForwardingKey;
}
