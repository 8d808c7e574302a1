import { type Counts, readConntrackUse, readCounters } from '../act/forwarding/readings.ts';
import type { Plan } from '../decide/plan.ts';
import type { RoutePlan } from '../decide/route-plan.ts';
import { routeStatus } from '../decide/route-status.ts';
import type { BgpStatus } from '../observability/bgp-status.ts';
import type { Metrics } from '../observability/metrics.ts';

/** What is read when metrics are asked for. */
export interface Readings {
  readonly plan: Plan;
  /** Of the wire worker, by kind. */
  readonly counters: Readonly<Record<string, number>>;
  readonly sessions: BgpStatus['sessions'];
}

const MESSAGE_KINDS = ['open', 'update', 'notification', 'keepalive', 'routeRefresh'] as const;

/** Sets what is not counted as it happens. What the kernel counts follows with the next time. */
export function refreshMetrics(metrics: Metrics, { plan, counters, sessions }: Readings): void {
  const { world } = plan;
  for (const [kind, value] of Object.entries(counters)) metrics.wire.set({ kind }, value);
  const answered = [...world.wire.answered.values()];
  metrics.vipsAnswered.set({ fenced: 'true' }, answered.filter(({ fenced }) => fenced).length);
  metrics.vipsAnswered.set({ fenced: 'false' }, answered.filter(({ fenced }) => !fenced).length);
  metrics.sourceStale.set(world.source.staleSince === undefined ? 0 : 1);
  const programmed = [...plan.routes.values()].map((route) => isProgrammed(route, plan));
  for (const status of ['True', 'False']) {
    metrics.routes.set({ programmed: status.toLowerCase() }, programmed.filter((each) => each === status).length);
  }
  metrics.forwardingEntries.set(world.forwarding.applied?.entries.size ?? 0);
  for (const [segment, { lease, members }] of world.wire.segments) {
    metrics.leaseHeld.set({ segment }, lease?.held === true ? 1 : 0);
    metrics.membersAlive.set({ segment }, [...members.values()].filter(({ alive }) => alive).length);
  }
  refreshBgp(metrics, sessions);
  void readCounters().then(({ ok: counts }) => {
    if (counts === undefined) return;
    setCounts(metrics.vipConnections, counts.connections);
    setCounts(metrics.vipRefused, counts.refused);
  });
  void readConntrackUse().then((use) => use && metrics.conntrackUsed.set(use.entries / use.limit));
}

function refreshBgp(metrics: Metrics, sessions: BgpStatus['sessions']): void {
  const { bgpEstablished, bgpTimesEstablished, bgpRoutes, bgpMessages, bfdUp } = metrics;
  for (const metric of [bgpEstablished, bgpTimesEstablished, bgpRoutes, bgpMessages, bfdUp]) metric.reset();
  for (const { peer, state, established, families, sent, received, bfd } of sessions) {
    bgpEstablished.set({ peer }, state === 'Established' ? 1 : 0);
    bgpTimesEstablished.set({ peer }, established);
    for (const { family, advertised } of families) bgpRoutes.set({ peer, family }, advertised);
    for (const kind of MESSAGE_KINDS) bgpMessages.set({ peer, direction: 'sent', kind }, sent[kind]);
    for (const kind of MESSAGE_KINDS) bgpMessages.set({ peer, direction: 'received', kind }, received[kind]);
    if (bfd !== undefined) bfdUp.set({ peer }, bfd.state === 'Up' ? 1 : 0);
  }
}

/** The kernel counts: what it says now stands for all that was before. */
function setCounts(counter: Metrics['vipConnections'], counts: Counts): void {
  counter.reset();
  for (const [key, count] of counts) {
    const [vip = '', protocol = '', port = ''] = key.split('|');
    counter.inc({ vip, protocol, port }, count);
  }
}

function isProgrammed(route: RoutePlan, made: Plan): string | undefined {
  return routeStatus(route, made).conditions.find(({ type }) => type === 'Programmed')?.status;
}
