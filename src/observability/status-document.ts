import type { Ip } from '../../net/ip.ts';
import type { NodeName, Vip } from '../../net/names.ts';

/** What `signpost status` shows: the daemon's own view, served on its control socket. Times are RFC 3339. */
export interface StatusDocument {
  readonly node: NodeName;
  readonly version: string;
  readonly source: SourceStatus;
  readonly routes: readonly RouteView[];
  readonly vips: readonly VipView[];
  readonly pools: readonly PoolView[];
  readonly members: readonly MemberView[];
  readonly leases: readonly LeaseView[];
  readonly forwarding: ForwardingView;
  readonly conditions: readonly ConditionView[];
  /** BGP sessions of this node. */
  readonly sessions: readonly SessionView[];
}

export interface SourceStatus {
  readonly kind: 'manifests' | 'kubernetes';
  readonly detail: string;
  readonly synced: boolean;
  /** Since when the source could not be read; what was read last stays in force. */
  readonly staleSince?: string;
  /** One line a problem, with its file or object. */
  readonly problems: readonly string[];
}

export interface ConditionView {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

export interface RouteView {
  readonly namespace: string;
  readonly name: string;
  readonly addresses: readonly Vip[];
  /** `443/TCP`. */
  readonly ports: readonly string[];
  /** `ingress:8443`. */
  readonly backends: readonly string[];
  readonly announcedBy: readonly string[];
  readonly mode: string;
  readonly endpoints: string;
  readonly policy: string;
  readonly pool: string;
  /** How each VIP is forwarded. */
  readonly forwarding: readonly RouteForwardingView[];
  readonly conditions: readonly ConditionView[];
}

export interface RouteForwardingView {
  readonly address: Vip;
  readonly mode: string;
  /** Why it is not the mode that the route asks for. */
  readonly why?: string;
  /** Direct: the share of new connections that each node gets, by `443/TCP`; of 1. */
  readonly shares: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export interface VipView {
  readonly vip: Vip;
  readonly routes: readonly string[];
  readonly mode: 'L2' | 'BGP' | 'None';
  readonly interface?: string;
  readonly holder?: NodeName;
  /** What this node found out when it asked the LAN for it. */
  readonly proof?: { readonly reachable: boolean; readonly answeredBy?: string };
  /** BGPPeers that this node announces it to now. */
  readonly peers?: readonly string[];
  readonly epoch: number;
  readonly fenced: boolean;
  readonly since?: string;
  /** This node's place for the VIP and why, or why nobody announces it. */
  readonly why: string;
  /** Why each node does not lead it. */
  readonly reasons: readonly string[];
}

export interface PoolView {
  readonly name: string;
  readonly total: string;
  readonly used: number;
  readonly autoAssign: boolean;
  readonly conditions: readonly ConditionView[];
}

export interface MemberView {
  readonly node: NodeName;
  readonly segment: string;
  readonly address?: Ip;
  readonly alive?: boolean;
  readonly draining: boolean;
  readonly witness: boolean;
}

export interface SessionView {
  readonly peer: string;
  readonly state: string;
  /** Why it is not Established. */
  readonly reason?: string;
  readonly bfd?: string;
}

export interface LeaseView {
  readonly segment: string;
  readonly held: boolean;
  readonly voters: readonly NodeName[];
}

export interface ForwardingView {
  readonly vips: number;
  readonly entries: number;
  readonly applied: boolean;
  readonly problem?: string;
}
