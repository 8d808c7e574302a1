import { type Clock, NS_PER_MS } from '../../net/clock.ts';
import type { ApiClient } from './client.ts';
import {
  type Election,
  type ElectionEvent,
  type LeaseRecord,
  type LeaseWrite,
  leadsUntil,
  startElection,
  step,
} from './election.ts';
import { type ApiFailure, isStatus } from './failure.ts';
import { Reflector } from './reflector/reflector.ts';
import { collectionPath, objectPath, type Resource } from './resources.ts';
import { formatMicroTime } from './time.ts';

export interface ElectorOptions {
  readonly client: ApiClient;
  readonly namespace: string;
  /** Of the Lease. */
  readonly name: string;
  /** Of this process: another than that of an earlier one on the same node. */
  readonly identity: string;
  readonly clock: Clock;
  readonly today: () => Date;
  readonly random: () => number;
  /** What must be done after the lease is held and before this process leads. */
  readonly prepare: () => Promise<void>;
  readonly onLeading: (leading: boolean) => void;
  readonly onFailure: (failure: ApiFailure) => void;
}

const LEASES: Resource = { root: '/apis/coordination.k8s.io/v1', plural: 'leases', namespaced: true };
const WRITE_MS = 5_000;

/** `coordination.k8s.io/v1` Lease. */
interface Lease {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly leaseDurationSeconds?: number | null;
    readonly leaseTransitions?: number | null;
    readonly acquireTime?: string | null;
  };
}

/** Takes part in the election of one leader by a Lease; there is no leader for a moment when the holder dies. */
export class Elector {
  readonly #options: ElectorOptions;
  #election: Election;
  #leading = false;
  #prepared = false;
  #term = 0;
  #acquireTime = '';
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(options: ElectorOptions) {
    this.#options = options;
    this.#election = startElection(options.identity);
  }

  /** Milliseconds for which this process may act as the leader; 0: it is not. */
  remainingMs(): number {
    if (!this.#prepared) return 0;
    return Math.max(0, (leadsUntil(this.#election) - this.#options.clock.now()) / NS_PER_MS);
  }

  /** Runs until the signal aborts, then gives the lease back. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, namespace, name, onFailure } = this.#options;
    let found = false;
    const reflector = new Reflector(
      client,
      { paths: [collectionPath(LEASES, namespace)], fieldSelector: `metadata.name=${name}` },
      {
        onChanges: (changes) => {
          for (const { object } of changes) {
            found = object !== undefined;
            this.#step({ kind: 'seen', record: object && recordOf(object) });
          }
        },
        onSynced: () => {
          if (!found) this.#step({ kind: 'seen', record: undefined });
        },
        onFailure: (failure) => failure && onFailure(failure),
      },
    );
    await reflector.run(signal);
    this.#ended = true;
    clearTimeout(this.#timer);
    const { seen, self } = this.#election;
    if (seen?.record?.holder === self) await this.#put({ ...this.#write(seen.record), holder: '' });
    this.#lead(false);
  }

  #step(event: ElectionEvent): void {
    if (this.#ended) return;
    const now = this.#options.clock.now();
    const { election, write, leading, wakeAt } = step(this.#election, event, now, this.#options.random());
    this.#election = election;
    clearTimeout(this.#timer);
    if (wakeAt !== undefined) {
      const delay = Math.max(1, Math.ceil((wakeAt - now) / NS_PER_MS));
      this.#timer = setTimeout(() => this.#step({ kind: 'tick' }), delay);
    }
    this.#lead(leading);
    if (write !== undefined) void this.#send(write);
  }

  /** A term begins once its preparations are done, and only if it still lasts then. */
  #lead(leading: boolean): void {
    if (leading === this.#leading) return;
    this.#leading = leading;
    if (leading) {
      const term = ++this.#term;
      void this.#options.prepare().then(() => {
        if (!this.#leading || term !== this.#term) return;
        this.#prepared = true;
        this.#options.onLeading(true);
      });
    } else if (this.#prepared) {
      this.#prepared = false;
      this.#options.onLeading(false);
    }
  }

  async #send(write: LeaseWrite): Promise<void> {
    const sentAt = this.#options.clock.now();
    if (write.acquires) this.#acquireTime = formatMicroTime(this.#options.today());
    const result = await this.#put(write);
    if (result.problem === undefined) {
      this.#step({ kind: 'written', record: recordOf(result.ok), sentAt });
      return;
    }
    if (!isStatus(result.problem, 409)) this.#options.onFailure(result.problem);
    this.#step({ kind: 'refused' });
  }

  #write(record: LeaseRecord): LeaseWrite {
    const { holder, transitions, resourceVersion } = record;
    return { holder, transitions, over: resourceVersion, acquires: false };
  }

  #put({ holder, transitions, over }: LeaseWrite) {
    const { client, namespace, name, today } = this.#options;
    const { leaseMs } = this.#election.timings;
    return client.json<Lease>({
      method: over === undefined ? 'POST' : 'PUT',
      path: over === undefined ? collectionPath(LEASES, namespace) : objectPath(LEASES, { namespace, name }),
      idleMs: WRITE_MS,
      body: {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name, namespace, resourceVersion: over },
        spec: {
          holderIdentity: holder,
          leaseDurationSeconds: leaseMs / 1000,
          leaseTransitions: transitions,
          acquireTime: this.#acquireTime === '' ? undefined : this.#acquireTime,
          renewTime: formatMicroTime(today()),
        },
      },
    });
  }
}

function recordOf({ metadata, spec }: Lease): LeaseRecord {
  return {
    holder: spec?.holderIdentity ?? '',
    durationMs: (spec?.leaseDurationSeconds ?? 0) * 1000,
    transitions: spec?.leaseTransitions ?? 0,
    resourceVersion: metadata.resourceVersion,
  };
}
