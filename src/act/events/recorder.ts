import { randomBytes } from 'node:crypto';
import { type Clock, type MonotonicNs, ms } from '../../../net/clock.ts';
import type { ApiClient } from '../../kubernetes/client.ts';
import type { ApiFailure } from '../../kubernetes/failure.ts';
import { collectionPath } from '../../kubernetes/resources.ts';
import { formatMicroTime } from '../../kubernetes/time.ts';
import { TokenBucket } from '../../kubernetes/token-bucket.ts';
import type { Transition } from './transitions.ts';

export interface Regarding {
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid: string;
}

export interface EventRecorderOptions {
  readonly client: ApiClient;
  /** Who reports, e.g. `signpost.dev/speaker`. */
  readonly controller: string;
  /** The node. */
  readonly instance: string;
  readonly clock: Clock;
  readonly today: () => Date;
  readonly onFailure?: (failure: ApiFailure) => void;
}

const EVENTS = { root: '/apis/events.k8s.io/v1', plural: 'events', namespaced: true };
/** The same is not told again for so long. */
const REPEAT_MS = 600_000;
const RATE = { perSecond: 5, burst: 100 };
const MAX_REMEMBERED = 10_000;
/** events.k8s.io/v1: "Maximal length of the note is 1kB". */
const MAX_NOTE = 1024;

/** Writes Kubernetes Events: what cannot be written at once is dropped, for an Event is no state. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #bucket: TokenBucket;
  readonly #told = new Map<string, MonotonicNs>();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#bucket = new TokenBucket(RATE, options.clock.now());
  }

  async record(regarding: Regarding, { type, reason, note }: Transition): Promise<void> {
    const { client, controller, instance, clock, today, onFailure } = this.#options;
    const now = clock.now();
    if (this.#isRepeated(`${regarding.uid} ${reason} ${note}`, now) || this.#bucket.take(now) > 0) return;
    // As kube-apiserver wants it: Events of what has no namespace are in `default`.
    const namespace = regarding.namespace ?? 'default';
    const { problem } = await client.json({
      method: 'POST',
      path: collectionPath(EVENTS, namespace),
      body: {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { name: `${regarding.name.slice(0, 230)}.${randomBytes(8).toString('hex')}`, namespace },
        eventTime: formatMicroTime(today()),
        reportingController: controller,
        reportingInstance: instance,
        action: 'Reconcile',
        type,
        reason,
        note: note.length > MAX_NOTE ? `${note.slice(0, MAX_NOTE - 3)}...` : note,
        regarding,
      },
    });
    if (problem !== undefined) onFailure?.(problem);
  }

  #isRepeated(key: string, now: MonotonicNs): boolean {
    const last = this.#told.get(key);
    if (last !== undefined && now - last < ms(REPEAT_MS)) return true;
    this.#told.delete(key);
    this.#told.set(key, now);
    // The oldest come first in a Map.
    for (const oldest of this.#told.keys()) {
      if (this.#told.size <= MAX_REMEMBERED) break;
      this.#told.delete(oldest);
    }
    return false;
  }
}
