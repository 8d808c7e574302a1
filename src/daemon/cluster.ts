import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Backoff } from '../../net/backoff.ts';
import { monotonicClock } from '../../net/clock.ts';
import type { NodeName } from '../../net/names.ts';
import { formatProblem, ok, problem, type Result } from '../../net/result.ts';
import { parsePassword } from '../act/bgp/password.ts';
import { EventRecorder } from '../act/events/recorder.ts';
import { transitions } from '../act/events/transitions.ts';
import { storedConditions } from '../act/status/times.ts';
import { type Told, wantedStatuses } from '../act/status/wanted-statuses.ts';
import { type StatusWrite, StatusWriter } from '../act/status/writer.ts';
import { CONTROLLER_NAME } from '../api/service-route.ts';
import type { PasswordRef } from '../decide/bgp/types.ts';
import type { Plan } from '../decide/plan.ts';
import type { ClusterAccess } from '../kubernetes/access.ts';
import { type ApiClient, createClient } from '../kubernetes/client.ts';
import { deleteObject } from '../kubernetes/delete.ts';
import { Elector } from '../kubernetes/elector.ts';
import { type ApiFailure, describeFailure } from '../kubernetes/failure.ts';
import { apiVersionOf, RESOURCES } from '../kubernetes/resources.ts';
import { secretEntry, sharedKeys } from '../kubernetes/secrets.ts';
import type { Logger } from '../observability/log.ts';
import { ClusterWatch } from '../observe/kubernetes/cluster.ts';
import { VERSION } from '../version.ts';
import type { WorldEvent } from '../world/reduce.ts';
import type { SourceState, World } from '../world/types.ts';
import { askWhyLeaving } from './leaving.ts';

export interface ClusterOptions {
  readonly node: NodeName;
  /** Runs this speaker; absent: something else does, and always brings it back. */
  readonly daemonSet: string | undefined;
  readonly log: Logger;
  readonly dispatch: (event: WorldEvent) => void;
  readonly onState: (state: SourceState) => void;
  readonly onKeys: (keys: readonly Uint8Array[]) => void;
  readonly onApiFailure: (what: string) => void;
}

/** Field manager of every status: the next coordinator goes on with the fields of the last. */
const MANAGER = 'signpost';
const LEASE = 'signpost-coordinator';
const KEYS = 'signpost-keys';
const KEYS_EVERY_MS = 30_000;
const TELL_WITHIN_MS = 20;

/** The daemon's part in a cluster: it follows the API server, and tells what is true there. */
export class Cluster {
  readonly keys: readonly Uint8Array[];
  readonly #client: ApiClient;
  readonly #options: ClusterOptions;
  readonly #watch: ClusterWatch;
  readonly #elector: Elector;
  readonly #writer: StatusWriter;
  readonly #recorder: EventRecorder;
  #told: Told | undefined;
  #latest: Plan | undefined;
  #telling: NodeJS.Timeout | undefined;
  #running: Promise<unknown> = Promise.resolve();

  private constructor(client: ApiClient, keys: readonly Uint8Array[], options: ClusterOptions) {
    this.keys = keys;
    this.#client = client;
    this.#options = options;
    const { node, dispatch } = options;
    const today = () => new Date();
    this.#watch = new ClusterWatch(client, {
      onChange: ({ objects, statuses, assignments }) => {
        this.#writer.observe(statuses);
        if (assignments.length > 0) dispatch({ type: 'assignments', edits: assignments });
        dispatch({ type: 'objects', changes: objects });
      },
      onState: options.onState,
    });
    this.#elector = new Elector({
      client,
      namespace: client.namespace,
      name: LEASE,
      identity: `${node}_${randomBytes(4).toString('hex')}`,
      clock: monotonicClock,
      today,
      random: Math.random,
      // What the last coordinator assigned comes before anything new.
      prepare: () => this.#watch.refresh('ServiceRoute'),
      onLeading: (leading) => this.#lead(leading),
      onFailure: (failure) => this.#failed('the Lease of the coordinator', failure),
    });
    this.#writer = new StatusWriter({
      client,
      manager: MANAGER,
      clock: monotonicClock,
      today,
      authority: () => this.#elector.remainingMs(),
      onWritten: (write) => this.#tellTransitions(write),
      onFailure: (id, failure) => this.#failed(`the status of ${id}`, failure),
    });
    this.#recorder = new EventRecorder({
      client,
      controller: CONTROLLER_NAME,
      instance: node,
      clock: monotonicClock,
      today,
      onFailure: (failure) => this.#failed('an Event', failure),
    });
  }

  /** Waits for the API server as long as it takes: without it nothing is known, and the kernel's table carries on. */
  static async connect(access: ClusterAccess, options: ClusterOptions, signal: AbortSignal): Promise<Result<Cluster>> {
    const client = createClient(access, `signpost/${VERSION}`);
    const backoff = new Backoff({ initial: 500, maximum: 30_000, jitter: 0.5 }, Math.random);
    for (;;) {
      const keys = await sharedKeys(client, KEYS);
      if (keys.problem === undefined) return ok(new Cluster(client, keys.ok, options));
      options.log.warn({}, `waiting for the keys of heartbeats: ${formatProblem(keys.problem)}`);
      try {
        await delay(backoff.next(), undefined, { signal });
      } catch {
        return problem(`Secret ${KEYS}`, undefined, 'was not read before the end was asked for', 'start again');
      }
    }
  }

  /** Of a BGP session, in a Secret of Signpost's namespace. */
  async password({ name, key }: PasswordRef): Promise<Result<string>> {
    const entry = await secretEntry(this.#client, name, key);
    return entry.problem === undefined ? parsePassword(new TextDecoder().decode(entry.ok), `Secret ${name}`) : entry;
  }

  start(signal: AbortSignal): void {
    // Every request in flight listens for the end.
    setMaxListeners(0, signal);
    this.#running = Promise.all([this.#watch.run(signal), this.#elector.run(signal), this.#followKeys(signal)]);
  }

  /**
   * Tells what the plan says, once all was read that there is: who has which address at once, since others wait for
   * that, all else a little later, together with what comes meanwhile.
   */
  tell(plan: Plan): void {
    this.#latest = plan;
    if (plan.allocation.routes !== this.#told?.plan.allocation.routes) this.#tellNow();
    else this.#telling ??= setTimeout(() => this.#tellNow(), TELL_WITHIN_MS);
  }

  #tellNow(): void {
    clearTimeout(this.#telling);
    this.#telling = undefined;
    const plan = this.#latest;
    if (plan === undefined) return;
    const owner = this.#ownerOf(plan);
    const wanted = wantedStatuses(plan, { version: VERSION, owner }, this.#told);
    this.#told = { plan, wanted };
    this.#writer.apply(wanted);
  }

  /** After the signal has aborted: gives the lease back, within a while. */
  async close(withinMs: number): Promise<void> {
    clearTimeout(this.#telling);
    this.#writer[Symbol.dispose]();
    await Promise.race([this.#running, delay(withinMs, undefined, { ref: false })]);
  }

  /** Why no speaker comes back to this node; undefined: one does, or nobody says otherwise within `withinMs`. */
  async whyLeaving({ source, objects, self }: World, withinMs: number): Promise<string | undefined> {
    const { daemonSet } = this.#options;
    if (daemonSet === undefined || !source.synced) return undefined;
    const node = objects.nodes.get(self);
    if (node === undefined) return `Node ${self} is gone`;
    const { name, meta } = node;
    return askWhyLeaving(this.#client, daemonSet, { name, labels: meta.labels }, AbortSignal.timeout(withinMs));
  }

  /** After `close`, when nothing writes it any more. */
  async removeSpeaker(withinMs: number): Promise<void> {
    const request = { resource: RESOURCES.Speaker[0], target: { name: this.#options.node } };
    const { problem } = await deleteObject(this.#client, { ...request, signal: AbortSignal.timeout(withinMs) });
    if (problem !== undefined) this.#failed('the end of the Speaker of this node', problem);
  }

  #ownerOf({ world }: Plan) {
    const uid = world.objects.nodes.get(world.self)?.meta.uid;
    return uid === undefined ? undefined : { apiVersion: 'v1', kind: 'Node', name: world.self, uid };
  }

  #lead(leading: boolean): void {
    this.#options.log.info({}, leading ? 'this node is the coordinator' : 'this node is no longer the coordinator');
    this.#options.dispatch({ type: 'role', role: leading ? 'coordinator' : 'follower' });
    this.#writer.authorityChanged();
  }

  #tellTransitions({ wanted, before, after }: StatusWrite): void {
    const { kind, namespace, name } = wanted;
    const apiVersion = apiVersionOf(RESOURCES[kind][0]);
    const regarding = { apiVersion, kind, namespace, name, uid: after.uid };
    for (const transition of transitions(storedConditions(before), storedConditions(after.status))) {
      void this.#recorder.record(regarding, transition);
    }
  }

  async #followKeys(signal: AbortSignal): Promise<void> {
    let known = this.keys;
    for (;;) {
      try {
        await delay(KEYS_EVERY_MS, undefined, { signal });
      } catch {
        return;
      }
      const { ok: keys, problem: trouble } = await sharedKeys(this.#client, KEYS);
      if (trouble !== undefined) this.#options.log.debug({}, formatProblem(trouble));
      if (keys === undefined || isDeepStrictEqual(keys, known)) continue;
      known = keys;
      this.#options.log.info({}, 'the keys of heartbeats changed');
      this.#options.onKeys(keys);
    }
  }

  #failed(what: string, failure: ApiFailure): void {
    this.#options.onApiFailure(what);
    this.#options.log.warn({}, `${what} could not be written: ${describeFailure(failure)}`);
  }
}
