import { setTimeout as sleep } from 'node:timers/promises';
import { type MonotonicNs, monotonicClock, NS_PER_MS } from '../../../net/clock.ts';
import type { ApiClient } from '../client.ts';
import { type ApiFailure, isStatus, refusedInStream, unreachable } from '../failure.ts';
import { Inventory, type RawChange, type RawObject } from './inventory.ts';
import { LineSplitter } from './lines.ts';
import { next, type Outcome, type Schedule, START, type Step } from './schedule.ts';

export interface ReflectorOptions {
  /** Paths of the collection: where one is not served the next is tried. */
  readonly paths: readonly [string, ...string[]];
  readonly fieldSelector?: string;
  /** The kind need not exist: without it there are no objects. */
  readonly optional?: boolean;
  readonly random?: () => number;
}

export interface ReflectorListener {
  /** In the order of the server, many at once; never empty. The path is the one that they come from. */
  readonly onChanges: (changes: readonly RawChange[], path: string) => void;
  /** All that was there has been told; again after each list. */
  readonly onSynced: () => void;
  /** Undefined: the API server is heard again. What was told stays in force meanwhile. */
  readonly onFailure: (failure: ApiFailure | undefined) => void;
}

/** Small, since what a page leaves behind is what a speaker needs most memory for. */
const PAGE = 100;
/** The server sends bookmarks each minute: a stream that is silent for longer is dead. */
const IDLE_MS = 90_000;
/** etcd holds no object above 1.5 MB; JSON escapes may make it longer. */
const MAX_EVENT = 16 << 20;
const WATCH_SECONDS = { least: 240, spread: 120 };

interface ListPage {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items?: readonly RawObject[] | null;
}

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: RawObject;
}

/**
 * Follows a collection of the API server by list and watch, through every failure of either. It holds names and
 * versions and no objects: those are the listener's.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
export class Reflector {
  readonly #client: ApiClient;
  readonly #options: ReflectorOptions;
  readonly #listener: ReflectorListener;
  readonly #random: () => number;
  readonly #inventory = new Inventory();
  #pathIndex = 0;
  #resourceVersion = '';
  #failing = false;
  /** Those who wait for a list that begins after they asked. */
  #refreshers: (() => void)[] = [];
  #current = new AbortController();

  constructor(client: ApiClient, options: ReflectorOptions, listener: ReflectorListener) {
    this.#client = client;
    this.#options = options;
    this.#listener = listener;
    this.#random = options.random ?? Math.random;
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#current.abort(), { once: true });
    let schedule = START;
    while (!signal.aborted) {
      this.#current = new AbortController();
      const outcome = await this.#attempt(schedule, this.#current.signal);
      if (outcome.kind === 'failed') this.#failed(outcome.failure);
      schedule = next(schedule, outcome, { optional: this.#options.optional ?? false, random: this.#random() });
    }
  }

  /** Resolves when all that the server holds now has been told. */
  async refresh(): Promise<void> {
    const told = new Promise<void>((resolve) => this.#refreshers.push(resolve));
    this.#current.abort();
    await told;
  }

  get #path(): string {
    const { paths } = this.#options;
    return paths[this.#pathIndex % paths.length] ?? paths[0];
  }

  async #attempt({ step, delayMs }: Schedule, signal: AbortSignal): Promise<Outcome> {
    if (delayMs > 0) await sleep(delayMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return { kind: 'refresh' };
    const outcome = await this.#take(this.#refreshers.length > 0 ? 'list' : step, signal);
    return isAborted(signal) ? { kind: 'refresh' } : outcome;
  }

  #take(step: Step, signal: AbortSignal): Promise<Outcome> {
    switch (step) {
      case 'list':
        return this.#list(signal);
      case 'probe':
        return this.#probe(signal);
      case 'watch':
        return this.#watch(signal);
    }
  }

  async #list(signal: AbortSignal): Promise<Outcome> {
    const waiting = this.#refreshers;
    this.#refreshers = [];
    let page: ListPage | undefined;
    this.#inventory.beginList();
    do {
      const answer = await this.#page({ limit: PAGE, continue: page?.metadata.continue }, signal);
      if (answer.problem !== undefined) {
        this.#refreshers.push(...waiting);
        return this.#listFailed(answer.problem);
      }
      page = answer.ok;
      this.#tell(this.#inventory.list(page.items ?? []));
    } while (page.metadata.continue);
    this.#tell(this.#inventory.endList());
    this.#resourceVersion = page.metadata.resourceVersion;
    this.#heard();
    this.#listener.onSynced();
    for (const resolve of waiting) resolve();
    return { kind: 'listed' };
  }

  /** What is not served, or no longer, is not known to be empty: nothing is taken back for it. */
  #listFailed(failure: ApiFailure): Outcome {
    if (isStatus(failure, 410)) return { kind: 'expired' };
    if (isStatus(failure, 404)) {
      this.#pathIndex++;
      if (this.#options.optional === true && this.#pathIndex === this.#options.paths.length) this.#listener.onSynced();
    }
    return { kind: 'failed', failure, events: 0, lastedMs: 0 };
  }

  async #probe(signal: AbortSignal): Promise<Outcome> {
    const answer = await this.#page({ limit: 1 }, signal);
    if (answer.problem !== undefined) return { kind: 'failed', failure: answer.problem, events: 0, lastedMs: 0 };
    const setBack = isOlder(answer.ok.metadata.resourceVersion, this.#resourceVersion);
    if (setBack) this.#inventory.distrust();
    return { kind: 'probed', setBack };
  }

  async #watch(signal: AbortSignal): Promise<Outcome> {
    const started = monotonicClock.now();
    let events = 0;
    const failed = (failure: ApiFailure): Outcome =>
      isStatus(failure, 410)
        ? { kind: 'expired' }
        : { kind: 'failed', failure, events, lastedMs: millisecondsSince(started) };
    const opened = await this.#client.stream({
      path: this.#path,
      query: {
        ...this.#selector,
        watch: true,
        allowWatchBookmarks: true,
        resourceVersion: this.#resourceVersion,
        timeoutSeconds: Math.round(WATCH_SECONDS.least + WATCH_SECONDS.spread * this.#random()),
      },
      idleMs: IDLE_MS,
      signal,
    });
    if (opened.problem !== undefined) return failed(opened.problem);
    this.#heard();
    const lines = new LineSplitter(MAX_EVENT);
    opened.ok.setEncoding('utf8');
    try {
      for await (const chunk of opened.ok) {
        const batch = lines.push(chunk as string).map((line) => JSON.parse(line) as WatchEvent);
        events += batch.length;
        const failure = this.#receive(batch);
        if (failure !== undefined) return failed(failure);
      }
    } catch (error) {
      return failed(unreachable(error));
    }
    return { kind: 'ended', events, lastedMs: millisecondsSince(started) };
  }

  #receive(batch: readonly WatchEvent[]): ApiFailure | undefined {
    const changes: RawChange[] = [];
    let failure: ApiFailure | undefined;
    for (const { type, object } of batch) {
      if (type === 'ERROR') {
        failure = refusedInStream(object);
        break;
      }
      if (type === 'DELETED') changes.push(...this.#inventory.remove(object));
      else if (type !== 'BOOKMARK') changes.push(...this.#inventory.put(object));
      this.#resourceVersion = object.metadata.resourceVersion;
    }
    this.#tell(changes);
    return failure;
  }

  #page(query: { limit: number; continue?: string | undefined }, signal: AbortSignal) {
    return this.#client.json<ListPage>({ path: this.#path, query: { ...this.#selector, ...query }, signal });
  }

  get #selector() {
    return { fieldSelector: this.#options.fieldSelector };
  }

  #tell(changes: readonly RawChange[]): void {
    if (changes.length > 0) this.#listener.onChanges(changes, this.#path);
  }

  #heard(): void {
    if (this.#failing) this.#listener.onFailure(undefined);
    this.#failing = false;
  }

  #failed(failure: ApiFailure): void {
    if (this.#options.optional === true && isStatus(failure, 404)) {
      // It is known that there is none: what failed before does not any more.
      this.#heard();
      return;
    }
    this.#failing = true;
    this.#listener.onFailure(failure);
  }
}

/** Resource versions are decimal numbers that grow (KEP-5504); others are not compared. */
function isOlder(version: string, than: string): boolean {
  return /^\d+$/.test(version) && /^\d+$/.test(than) && BigInt(version) < BigInt(than);
}

/** It may change while we wait, which flow analysis does not see. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

function millisecondsSince(start: MonotonicNs): number {
  return (monotonicClock.now() - start) / NS_PER_MS;
}
