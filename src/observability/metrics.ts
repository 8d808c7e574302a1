import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** Seconds; from a fast hand-over to a slow take-over. */
const MOVE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.4, 0.5, 1, 2.5, 5];
const WORK_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1];

/** Every metric of the daemon: docs/metrics.md is made from this file. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Gauge<L>({ name: `signpost_${name}`, help, labelNames: [...labelNames], registers });
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter<L>({ name: `signpost_${name}_total`, help, labelNames: [...labelNames], registers });
  const histogram = <L extends string>(name: string, help: string, buckets: number[], labelNames: readonly L[] = []) =>
    new Histogram<L>({ name: `signpost_${name}_seconds`, help, labelNames: [...labelNames], buckets, registers });
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    buildInfo: gauge('build_info', 'Always 1; the version is in its label.', ['version']),
    routes: gauge('routes', 'ServiceRoutes known, by whether they are programmed.', ['programmed']),
    sourceProblems: gauge(
      'source_problems',
      'Objects or files that could not be read; their last good form is in force.',
    ),
    apiFailures: counter('api_failures', 'Requests to write to the Kubernetes API that failed.'),
    sourceStale: gauge('source_stale', '1 while the source of objects cannot be read.'),
    planSeconds: histogram('plan', 'Time to compute a plan after a change.', WORK_BUCKETS),
    applySeconds: histogram('apply', 'Time for an actuator to apply its part of a plan.', WORK_BUCKETS, ['actuator']),
    applyFailures: counter('apply_failures', 'Failed applies, by actuator.', ['actuator']),
    vipsAnswered: gauge('vips_answered', 'VIPs that this node answers ARP or NDP for, by whether it is fenced.', [
      'fenced',
    ]),
    leaseHeld: gauge('lease_held', '1 while a majority of the voters confirms this node, by segment.', ['segment']),
    membersAlive: gauge('members_alive', 'Speakers heard of late, this one included, by segment.', ['segment']),
    leaseRoundTrip: histogram('lease_round_trip', 'From a heartbeat to its acknowledgement.', WORK_BUCKETS),
    suspicions: counter('suspicions', 'Members that this node suspected.', ['node']),
    moves: counter('vip_moves', 'VIPs that this node took, by cause.', ['cause']),
    takeSeconds: histogram(
      'vip_take',
      'From the suspicion of a holder to the first answer of this node.',
      MOVE_BUCKETS,
    ),
    conflicts: counter('vip_conflicts', 'Claims of our VIPs by MAC addresses of no member.'),
    wire: gauge('wire_frames', 'Frames and datagrams of the wire worker since it started, by kind.', ['kind']),
    forwardingEntries: gauge('forwarding_entries', 'VIP:ports in the kernel.'),
    forwardingRepairs: counter(
      'forwarding_repairs',
      'Times that the table had been changed by somebody else and was repaired.',
    ),
    bgpEstablished: gauge('bgp_session_established', '1 while the session with the BGPPeer is Established.', ['peer']),
    bgpTimesEstablished: gauge('bgp_session_times_established', 'How often the session came up since the start.', [
      'peer',
    ]),
    bgpRoutes: gauge('bgp_routes_advertised', 'Routes that the peer was sent and has not been told to forget.', [
      'peer',
      'family',
    ]),
    bgpMessages: gauge('bgp_messages', 'BGP messages since the start, by kind and direction.', [
      'peer',
      'direction',
      'kind',
    ]),
    bfdUp: gauge('bfd_session_up', '1 while the BFD session with the BGPPeer is Up.', ['peer']),
    vipConnections: counter(
      'vip_connections',
      'New connections that were given an endpoint. A change of its endpoints starts a port anew.',
      ['vip', 'protocol', 'port'],
    ),
    vipRefused: counter(
      'vip_refused_packets',
      'Packets to ports of VIPs that nothing serves, for the last 4,096 of such ports.',
      ['vip', 'protocol', 'port'],
    ),
    conntrackUsed: gauge('conntrack_used_ratio', 'Connection tracking entries in use, as a share of the maximum.'),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;
