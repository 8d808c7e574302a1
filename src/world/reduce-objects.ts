import { formatProblem, type Problem } from '../../net/result.ts';
import type { Table } from '../../net/table.ts';
import type { KnownObject } from '../api/kinds.ts';
import { parseGrant, parseMeta, parseNode, parsePool, parseRoute, parseService, parseSlice } from '../api/parse.ts';
import { CONTROLLER_NAME } from '../api/service-route.ts';
import { routeKey, type ServiceKey } from './keys.ts';
import type { SliceObject } from './objects.ts';
import type { InvalidObject, Objects } from './types.ts';

export type ObjectEdit = ObjectUpdate | ObjectRejection;

export interface ObjectUpdate {
  /** `Kind namespace/name`. */
  readonly id: string;
  /** Undefined: it is gone. */
  readonly object: KnownObject | undefined;
}

/** The newest form of an object cannot be used: its last good form, if any, stays in force. */
export interface ObjectRejection {
  /** `Kind namespace/name`. */
  readonly id: string;
  readonly invalid: InvalidObject;
}

/** Edits collected per table, applied at once: a burst of a thousand objects copies each bucket once. */
class Edits {
  readonly #byTable = new Map<keyof Objects, [string, unknown][]>();

  add<T extends keyof Objects>(
    table: T,
    key: string,
    value: (Objects[T] extends Table<string, infer V> ? V : never) | undefined,
  ): void {
    const list = this.#byTable.get(table) ?? [];
    list.push([key, value]);
    this.#byTable.set(table, list);
  }

  apply(objects: Objects): Objects {
    const next: Record<string, unknown> = { ...objects };
    for (const [table, edits] of this.#byTable) {
      next[table] = (objects[table] as Table<string, unknown>).with(edits);
    }
    return next as unknown as Objects;
  }
}

export function reduceObjects(objects: Objects, changes: readonly ObjectEdit[]): Objects {
  const edits = new Edits();
  const slices: SliceLists = { byService: new Map(), owners: new Map() };
  for (const change of changes) {
    edits.add('invalid', change.id, 'invalid' in change ? change.invalid : undefined);
    if ('invalid' in change) continue;
    if (change.id.startsWith('EndpointSlice ')) editSlice(objects, edits, slices, change);
    else editObject(edits, change);
  }
  for (const [service, list] of slices.byService) edits.add('slices', service, list.length > 0 ? list : undefined);
  return edits.apply(objects);
}

function editObject(edits: Edits, { id, object }: ObjectUpdate): void {
  const [kind, name] = split(id);
  if (object === undefined) {
    switch (kind) {
      case 'ServiceRoute':
        edits.add('routes', name, undefined);
        return;
      case 'AddressPool':
        edits.add('pools', name, undefined);
        return;
      case 'BGPPeer':
        edits.add('peers', name, undefined);
        return;
      case 'Speaker':
        edits.add('speakers', name, undefined);
        return;
      case 'Service':
        edits.add('services', name, undefined);
        return;
      case 'Node':
        edits.add('nodes', name, undefined);
        return;
      case 'Namespace':
        edits.add('namespaces', name, undefined);
        return;
      case 'ReferenceGrant':
        edits.add('grants', name, undefined);
        return;
      default:
        return;
    }
  }
  switch (object.kind) {
    case 'ServiceRoute': {
      const key = routeKey(object.metadata.namespace ?? 'default', object.metadata.name);
      // A route of another implementation is not ours to judge.
      if (object.spec.controllerName !== CONTROLLER_NAME) {
        edits.add('routes', key, undefined);
        return;
      }
      const route = parseRoute(object);
      if (route.problem === undefined) edits.add('routes', key, route.ok);
      else edits.add('invalid', id, invalid(object, route.problem));
      return;
    }
    case 'AddressPool':
      edits.add('pools', object.metadata.name, parsePool(object));
      return;
    case 'BGPPeer':
      edits.add('peers', object.metadata.name, object);
      return;
    case 'Speaker':
      edits.add('speakers', object.metadata.name, object);
      return;
    case 'Service': {
      const service = parseService(object);
      edits.add('services', service.key, service);
      return;
    }
    case 'Node': {
      const node = parseNode(object);
      if (node.problem === undefined) edits.add('nodes', node.ok.name, node.ok);
      else edits.add('invalid', id, invalid(object, [node.problem]));
      return;
    }
    case 'Namespace':
      edits.add('namespaces', object.metadata.name, parseMeta(object.metadata));
      return;
    case 'ReferenceGrant':
      edits.add('grants', name, parseGrant(object));
      return;
    case 'EndpointSlice':
      return;
  }
}

/** Slices are kept by the Service that they belong to. */
function editSlice(objects: Objects, edits: Edits, lists: SliceLists, { id, object }: ObjectUpdate): void {
  const [, name] = split(id);
  const listOf = (service: ServiceKey) => lists.byService.get(service) ?? objects.slices.get(service) ?? [];
  const without = (service: ServiceKey) =>
    listOf(service).filter(({ meta }) => `${meta.namespace}/${meta.name}` !== name);
  const owner = lists.owners.get(name) ?? objects.sliceOwners.get(name);
  const slice = object?.kind === 'EndpointSlice' ? parseSlice(object) : undefined;
  if (owner !== undefined) lists.byService.set(owner, without(owner));
  if (slice !== undefined) lists.byService.set(slice.service, [...without(slice.service), slice]);
  lists.owners.set(name, slice?.service);
  edits.add('sliceOwners', name, slice?.service);
}

/** Edited so far within one call. */
interface SliceLists {
  readonly byService: Map<ServiceKey, readonly SliceObject[]>;
  readonly owners: Map<string, ServiceKey | undefined>;
}

function invalid(object: KnownObject, problems: readonly Problem[]): InvalidObject {
  return { generation: object.metadata.generation ?? 0, message: problems.map(formatProblem).join('; ') };
}

function split(id: string): [string, string] {
  const space = id.indexOf(' ');
  return [id.slice(0, space), id.slice(space + 1)];
}
