import { parseNodeName } from '../../net/names.ts';
import { must, type Problem } from '../../net/result.ts';
import { Table } from '../../net/table.ts';
import { AddressPoolSchema } from '../api/address-pool.ts';
import type { Condition } from '../api/conditions.ts';
import { API_VERSION } from '../api/fields.ts';
import { identify, type KnownObject } from '../api/kinds.ts';
import { plan } from '../decide/plan.ts';
import { routeStatus } from '../decide/route-status.ts';
import { emptyWorld } from '../world/empty.ts';
import { reduceObjects } from '../world/reduce-objects.ts';

export interface ObjectProblem {
  /** `ServiceRoute web/shop`. */
  readonly id: string;
  readonly problem: Problem;
}

const ANY_ADDRESS = [
  '1.0.0.0-126.255.255.255',
  '128.0.0.0-169.253.255.255',
  '169.255.0.0-223.255.255.255',
  '2000::/3',
  'fc00::/7',
];

/** Holds every address that a route can have: stands for the pools of a cluster where the files have none. */
const ANY_POOL = AddressPoolSchema.parse({
  apiVersion: API_VERSION,
  kind: 'AddressPool',
  metadata: { name: 'any' },
  spec: { addresses: ANY_ADDRESS, autoAssign: false, avoidBuggyAddresses: false, sharing: 'Cluster', l2: {} },
});

/**
 * What is wrong with objects that are right one by one: overlapping pools, routes that want the same port of a VIP,
 * addresses of no pool, backends that are not there. It is what the daemon would say of them, in its own words,
 * less what only the rest of a cluster can tell: pools are judged where there are pools, backends where there
 * are Services.
 */
export function crossCheck(objects: readonly KnownObject[]): ObjectProblem[] {
  const has = (kind: KnownObject['kind']) => objects.some((object) => object.kind === kind);
  const judged = has('AddressPool') ? objects : [...objects, ANY_POOL];
  const changes = judged.map((object) => ({ id: identify(object), object }));
  const empty = emptyWorld({
    self: must(parseNodeName('validate')),
    witness: false,
    interfaces: [],
    peers: new Map(),
    role: 'alone',
    memory: Table.empty(),
  });
  const planned = plan({ ...empty, objects: reduceObjects(empty.objects, changes) });
  const problems: ObjectProblem[] = [];
  for (const [name, why] of planned.pools.refused) problems.push({ id: `AddressPool ${name}`, problem: inWords(why) });
  for (const [key, route] of planned.routes) {
    for (const condition of routeStatus(route, planned).conditions) {
      if (isCertain(condition, has)) problems.push({ id: `ServiceRoute ${key}`, problem: inWords(condition.message) });
    }
  }
  return problems;
}

function isCertain({ status, reason }: Condition, has: (kind: KnownObject['kind']) => boolean): boolean {
  if (status !== 'False') return false;
  switch (reason) {
    case 'Invalid':
    case 'UnsupportedValue':
    case 'PortConflict':
      return true;
    case 'AddressNotAssigned':
    case 'AddressNotUsable':
    case 'NoAnnouncement':
      return has('AddressPool');
    case 'BackendNotFound':
    case 'RefNotPermitted':
    case 'UnsupportedProtocol':
      return has('Service');
    default:
      return false;
  }
}

/** Messages read "what is wrong; what to do". */
function inWords(text: string): Problem {
  const [message = text, ...fix] = text.split('; ');
  return { field: '', value: undefined, message, fix: fix.join('; ') };
}
