import { monotonicClock } from '../../net/clock.ts';
import type { Logger } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { FromWire } from '../wire/protocol.ts';

/** Logs and counts what the wire worker tells. */
export class WireRecord {
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #suspectedAt = new Map<string, number>();
  /** By segment and node. A node that is cut off begins one life after the other, and each is voted void. */
  readonly #void = new Set<string>();

  constructor(log: Logger, metrics: Metrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  observe(message: FromWire): void {
    const metrics = this.#metrics;
    if (message.type === 'answering') {
      metrics.moves.inc({ cause: message.cause });
      const { vip, epoch, fenced, cause, previous } = message;
      this.#log.info({ vip, epoch, fenced, cause, previous }, 'answering for the VIP');
      const since = previous === undefined ? undefined : this.#suspectedAt.get(previous);
      if (since !== undefined) metrics.takeSeconds.observe((monotonicClock.now() - since) / 1e9);
    } else if (message.type === 'stopped') {
      this.#log.info({ vip: message.vip, cause: message.cause }, 'no longer answering for the VIP');
    } else if (message.type === 'segmentFailed') {
      this.#log.warn({ segment: message.segment }, message.message);
    } else if (message.type === 'report') {
      this.#observeReport(message.segment, message.report);
    }
  }

  #observeReport(segment: string, report: Extract<FromWire, { type: 'report' }>['report']): void {
    const metrics = this.#metrics;
    switch (report.kind) {
      case 'roundTrip':
        metrics.leaseRoundTrip.observe(report.nanoseconds / 1e9);
        return;
      case 'suspected':
        metrics.suspicions.inc({ node: report.node });
        this.#suspectedAt.set(report.node, monotonicClock.now());
        if (!this.#void.has(`${segment} ${report.node}`)) this.#log.info({ node: report.node }, 'member suspected');
        return;
      case 'certified':
        if (!this.#void.has(`${segment} ${report.node}`)) this.#log.info({ node: report.node }, 'member voted void');
        this.#void.add(`${segment} ${report.node}`);
        return;
      case 'member':
        if (report.alive && this.#void.delete(`${segment} ${report.node}`)) {
          this.#log.info({ node: report.node }, 'member is back');
        }
        return;
      case 'conflicted':
        metrics.conflicts.inc();
        this.#log.warn(
          { vip: report.vip, mac: report.mac, defended: report.defended },
          'a host that is no member answers for the VIP',
        );
        return;
      case 'claim':
      case 'dark':
      case 'lease':
      case 'moved':
      case 'heartbeatsBlocked':
        return;
    }
  }
}
