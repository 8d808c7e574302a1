import { isDeepStrictEqual } from 'node:util';
import { type Clock, type MonotonicNs, ms, NS_PER_MS } from '../../../net/clock.ts';
import type { Result } from '../../../net/result.ts';
import { Table } from '../../../net/table.ts';
import { applyObject, type StoredObject } from '../../kubernetes/apply.ts';
import type { ApiClient } from '../../kubernetes/client.ts';
import { type ApiFailure, isStatus } from '../../kubernetes/failure.ts';
import { objectPath, RESOURCES } from '../../kubernetes/resources.ts';
import type { StatusVersion, StoredStatus } from '../../kubernetes/stored-status.ts';
import { formatTime } from '../../kubernetes/time.ts';
import { TokenBucket } from '../../kubernetes/token-bucket.ts';
import { withTimes } from './times.ts';
import type { WantedStatus } from './wanted.ts';

export interface StatusWrite {
  readonly id: string;
  readonly wanted: WantedStatus;
  readonly before: unknown;
  readonly after: StatusVersion;
}

export interface StatusWriterOptions {
  readonly client: ApiClient;
  /** Field manager, the same for every coordinator: the next one goes on with the fields of the last. */
  readonly manager: string;
  readonly clock: Clock;
  readonly today: () => Date;
  /** Milliseconds for which this node is still the coordinator; 0: it is not. */
  readonly authority: () => number;
  readonly onWritten?: (write: StatusWrite) => void;
  readonly onFailure?: (id: string, failure: ApiFailure) => void;
}

/** Changes that come together are written together. */
const COALESCE_MS = 50;
/** Of one object: a change is told at once, an object that flaps once a second. A change of addresses never waits. */
const OBJECT_RATE = { perSecond: 1, burst: 4 };
const RATE = { perSecond: 200, burst: 200 };
const CONCURRENT = 8;
const WRITE_MS = 10_000;
const RETRY = { firstMs: 500, mostMs: 30_000 };
/** For so long after our own write the watch may still tell of what was before. */
const ECHO_MS = 10_000;

interface Entry {
  wanted: WantedStatus | undefined;
  stored: StatusVersion | undefined;
  /** What was last written and what the server made of it: not to be tried again, whatever others add. */
  done: { readonly wrote: unknown; readonly result: unknown } | undefined;
  writtenAt: MonotonicNs | undefined;
  readonly bucket: TokenBucket;
  attempts: number;
  /** After a failure: no attempt before, whatever changes. */
  notBefore: MonotonicNs;
  writing: boolean;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Makes the status of objects what it is wanted to be, by server-side apply: never without a difference, never more
 * than one write of an object at a time. All but the node's own Speaker is the coordinator's to write: such a write
 * is refused by the server unless the object is as it was seen, and ends before the right to it does.
 */
export class StatusWriter implements Disposable {
  readonly #options: StatusWriterOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #bucket: TokenBucket;
  readonly #inFlight = new Set<AbortController>();
  readonly #ready = new Set<string>();
  #pump: NodeJS.Timeout | undefined;
  #wanted = Table.empty<string, WantedStatus>();
  #closed = false;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#bucket = new TokenBucket(RATE, options.clock.now());
  }

  /** What every status is to be, by `Kind namespace/name`. What is no longer wanted stays as it is. */
  apply(wanted: Table<string, WantedStatus>): void {
    for (const { key, after } of wanted.changes(this.#wanted)) {
      this.#entry(key).wanted = after;
      this.#consider(key);
    }
    this.#wanted = wanted;
  }

  /** What the API server has, as it is seen. */
  observe(statuses: readonly StoredStatus[]): void {
    for (const { id, stored } of statuses) {
      const entry = this.#entry(id);
      if (stored !== undefined && this.#isEcho(entry, stored)) continue;
      entry.stored = stored;
      if (stored === undefined && entry.wanted === undefined) this.#entries.delete(id);
      else this.#consider(id);
    }
  }

  /** This node became the coordinator, or is it no longer. */
  authorityChanged(): void {
    for (const id of this.#entries.keys()) this.#consider(id);
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    clearTimeout(this.#pump);
    for (const { timer } of this.#entries.values()) clearTimeout(timer);
    for (const write of this.#inFlight) write.abort();
  }

  #entry(id: string): Entry {
    const known = this.#entries.get(id);
    if (known !== undefined) return known;
    const entry: Entry = {
      wanted: undefined,
      stored: undefined,
      done: undefined,
      writtenAt: undefined,
      bucket: new TokenBucket(OBJECT_RATE, this.#options.clock.now()),
      attempts: 0,
      notBefore: 0 as MonotonicNs,
      writing: false,
      timer: undefined,
    };
    this.#entries.set(id, entry);
    return entry;
  }

  #isEcho({ stored, writtenAt }: Entry, seen: StatusVersion): boolean {
    if (stored === undefined || writtenAt === undefined || stored.uid !== seen.uid) return false;
    const recent = this.#since(writtenAt) < ECHO_MS;
    return recent && BigInt(seen.resourceVersion) < BigInt(stored.resourceVersion);
  }

  /** Schedules a write where one is due. */
  #consider(id: string): void {
    const entry = this.#entries.get(id);
    if (this.#closed || entry === undefined || entry.writing) return;
    clearTimeout(entry.timer);
    entry.timer = undefined;
    const next = this.#next(entry);
    if (next === undefined) return;
    const now = this.#options.clock.now();
    const rest = entry.bucket.wait(now);
    const polite = changesAddresses(next, entry.stored) ? 0 : Math.max(COALESCE_MS, rest);
    entry.timer = setTimeout(
      () => {
        entry.timer = undefined;
        this.#ready.add(id);
        this.#work();
      },
      Math.max((entry.notBefore - now) / NS_PER_MS, polite),
    );
  }

  /** What is to be written; undefined: nothing, or not by us. */
  #next({ wanted, stored, done }: Entry): Readonly<Record<string, unknown>> | undefined {
    if (wanted === undefined) return undefined;
    if (stored === undefined && wanted.create === undefined) return undefined;
    if (isFenced(wanted) && this.#options.authority() <= 0) return undefined;
    const next = withTimes(wanted, stored?.status, formatTime(this.#options.today()));
    if (stored === undefined) return next;
    if (isDeepStrictEqual(next, stored.status ?? {})) return undefined;
    const settled = isDeepStrictEqual(done?.wrote, next) && isDeepStrictEqual(done?.result, stored.status);
    return settled ? undefined : next;
  }

  #work(): void {
    clearTimeout(this.#pump);
    for (const id of this.#ready) {
      if (this.#closed || this.#inFlight.size >= CONCURRENT) return;
      const wait = this.#bucket.take(this.#options.clock.now());
      if (wait > 0) {
        this.#pump = setTimeout(() => this.#work(), wait);
        return;
      }
      this.#ready.delete(id);
      void this.#write(id);
    }
  }

  async #write(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    const wrote = entry && this.#next(entry);
    if (entry?.wanted === undefined || wrote === undefined) return;
    const { wanted, stored } = entry;
    const control = new AbortController();
    this.#inFlight.add(control);
    entry.writing = true;
    const limit = isFenced(wanted) ? Math.min(WRITE_MS, this.#options.authority()) : WRITE_MS;
    const timer = setTimeout(() => control.abort(new Error(`no answer within ${limit} ms`)), limit);
    const result = await this.#send(wanted, stored, wrote, control.signal);
    clearTimeout(timer);
    this.#inFlight.delete(control);
    entry.writing = false;
    if (this.#closed) return;
    // The watch may have told of the write before its answer came.
    if (result.problem === undefined) this.#succeeded(id, entry, { wanted, wrote, before: stored?.status }, result.ok);
    else await this.#refused(id, entry, wanted, result.problem);
    this.#work();
  }

  async #send(
    wanted: WantedStatus,
    stored: StatusVersion | undefined,
    status: object,
    signal: AbortSignal,
  ): Promise<Result<StoredObject, ApiFailure>> {
    const { client, manager } = this.#options;
    const { kind, create, namespace, name } = wanted;
    const request = { resource: RESOURCES[kind][0], kind, target: { namespace, name }, manager, signal };
    if (stored === undefined && create !== undefined) {
      const metadata = create.owner === undefined ? {} : { ownerReferences: [create.owner] };
      const made = await applyObject(client, { ...request, fields: { metadata } });
      if (made.problem !== undefined) return made;
    }
    const resourceVersion = isFenced(wanted) ? stored?.resourceVersion : undefined;
    return applyObject(client, { ...request, fields: { status }, subresource: 'status', resourceVersion });
  }

  #succeeded(
    id: string,
    entry: Entry,
    { wanted, wrote, before }: { readonly wanted: WantedStatus; readonly wrote: unknown; readonly before: unknown },
    object: StoredObject,
  ): void {
    const { uid, resourceVersion } = object.metadata;
    const after = { uid, resourceVersion, status: object.status };
    entry.stored = after;
    entry.done = { wrote, result: object.status };
    entry.writtenAt = this.#options.clock.now();
    entry.bucket.take(entry.writtenAt);
    entry.attempts = 0;
    entry.notBefore = 0 as MonotonicNs;
    this.#options.onWritten?.({ id, wanted, before, after });
    this.#consider(id);
  }

  async #refused(id: string, entry: Entry, wanted: WantedStatus, failure: ApiFailure): Promise<void> {
    // Somebody else changed the object first, as happens: what it is now decides.
    if (isStatus(failure, 409)) await this.#lookAgain(entry, wanted);
    else if (isStatus(failure, 404)) entry.stored = undefined;
    else this.#options.onFailure?.(id, failure);
    const delay = Math.min(RETRY.mostMs, RETRY.firstMs * 2 ** Math.min(entry.attempts++, 16));
    const asked = failure.kind === 'refused' ? (failure.retryAfterMs ?? 0) : 0;
    const wait = isStatus(failure, 409) && entry.attempts === 1 ? 0 : Math.max(delay, asked);
    entry.notBefore = (this.#options.clock.now() + ms(wait)) as MonotonicNs;
    this.#consider(id);
  }

  async #lookAgain(entry: Entry, { kind, namespace, name }: WantedStatus): Promise<void> {
    const path = objectPath(RESOURCES[kind][0], { namespace, name });
    const { ok: object } = await this.#options.client.json<StoredObject>({ path });
    if (object === undefined) return;
    const { uid, resourceVersion } = object.metadata;
    entry.stored = { uid, resourceVersion, status: object.status };
  }

  #since(time: MonotonicNs): number {
    return (this.#options.clock.now() - time) / NS_PER_MS;
  }
}

/** All but the node's own Speaker has another writer when another node becomes the coordinator. */
function isFenced({ kind }: WantedStatus): boolean {
  return kind !== 'Speaker';
}

function changesAddresses(next: Readonly<Record<string, unknown>>, stored: StatusVersion | undefined): boolean {
  const before = (stored?.status ?? {}) as Readonly<Record<string, unknown>>;
  return !isDeepStrictEqual(next['addresses'], before['addresses']);
}
