import { KINDS, type Kind } from '../../api/kinds.ts';
import type { ApiClient } from '../../kubernetes/client.ts';
import type { ApiFailure } from '../../kubernetes/failure.ts';
import type { RawChange, RawObject } from '../../kubernetes/reflector/inventory.ts';
import { Reflector } from '../../kubernetes/reflector/reflector.ts';
import { apiVersionOf, collectionPath, RESOURCES } from '../../kubernetes/resources.ts';
import type { StoredStatus } from '../../kubernetes/stored-status.ts';
import type { ObjectEdit } from '../../world/reduce-objects.ts';
import type { SourceState } from '../../world/types.ts';
import { type Assignment, readAssignment } from './assignments.ts';
import { describeFailures } from './failures.ts';
import { readChange } from './read.ts';

/** What one answer of the API server brought: to be taken in as one. */
export interface ClusterChange {
  readonly objects: readonly ObjectEdit[];
  /** Of the kinds whose status Signpost writes. */
  readonly statuses: readonly StoredStatus[];
  readonly assignments: readonly Assignment[];
}

export interface ClusterListener {
  readonly onChange: (change: ClusterChange) => void;
  readonly onState: (state: SourceState) => void;
}

/** Kinds whose status Signpost writes. */
const WITH_STATUS: ReadonlySet<Kind> = new Set(['ServiceRoute', 'AddressPool', 'BGPPeer', 'Speaker']);
/** Kinds that a cluster may do without. */
const OPTIONAL: ReadonlySet<Kind> = new Set(['ReferenceGrant']);

/** Follows every kind in the API server; all stays in force while it cannot be read. */
export class ClusterWatch {
  readonly #listener: ClusterListener;
  readonly #reflectors: ReadonlyMap<Kind, Reflector>;
  readonly #unsynced = new Set(Object.keys(KINDS) as Kind[]);
  readonly #failures = new Map<Kind, ApiFailure>();
  /** Milliseconds since the epoch. */
  readonly #now: () => number;
  #staleSince: number | undefined;

  constructor(client: ApiClient, listener: ClusterListener, now: () => number = Date.now) {
    this.#listener = listener;
    this.#now = now;
    const kinds = Object.keys(KINDS) as Kind[];
    this.#reflectors = new Map(kinds.map((kind) => [kind, this.#follow(client, kind)]));
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(Array.from(this.#reflectors.values(), (reflector) => reflector.run(signal)));
  }

  /** Resolves when all that the API server holds now of a kind has been told. */
  async refresh(kind: Kind): Promise<void> {
    await this.#reflectors.get(kind)?.refresh();
  }

  #follow(client: ApiClient, kind: Kind): Reflector {
    const [first, ...others] = RESOURCES[kind];
    const versions = new Map(RESOURCES[kind].map((place) => [collectionPath(place), apiVersionOf(place)]));
    return new Reflector(
      client,
      {
        paths: [collectionPath(first), ...others.map((place) => collectionPath(place))],
        optional: OPTIONAL.has(kind),
      },
      {
        onChanges: (changes, path) => this.#changed(kind, versions.get(path) ?? apiVersionOf(first), changes),
        onSynced: () => this.#synced(kind),
        onFailure: (failure) => this.#failed(kind, failure),
      },
    );
  }

  #changed(kind: Kind, apiVersion: string, changes: readonly RawChange[]): void {
    this.#listener.onChange({
      objects: changes.map((change) => readChange(kind, apiVersion, change)),
      statuses: WITH_STATUS.has(kind) ? changes.map((change) => readStatus(kind, change)) : [],
      assignments: kind === 'ServiceRoute' ? changes.map(readAssignment) : [],
    });
  }

  #synced(kind: Kind): void {
    if (this.#unsynced.delete(kind) && this.#unsynced.size === 0) this.#tellState();
  }

  #failed(kind: Kind, failure: ApiFailure | undefined): void {
    if (failure === undefined) this.#failures.delete(kind);
    else this.#failures.set(kind, failure);
    this.#staleSince = this.#failures.size === 0 ? undefined : (this.#staleSince ?? this.#now());
    this.#tellState();
  }

  #tellState(): void {
    this.#listener.onState({
      synced: this.#unsynced.size === 0,
      staleSince: this.#staleSince,
      problems: describeFailures(this.#failures),
    });
  }
}

function readStatus(kind: Kind, { key, object }: RawChange): StoredStatus {
  const id = `${kind} ${key}`;
  if (object === undefined) return { id, stored: undefined };
  const { metadata, status } = object as RawObject & { readonly status?: unknown };
  return { id, stored: { uid: metadata.uid, resourceVersion: metadata.resourceVersion, status } };
}
