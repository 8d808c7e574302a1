import type { ForwardingEndpoint, ForwardingEntry } from '../../decide/types.ts';

/** Position i of an entry's endpoints; undefined: a hole, whose clients go to the others. */
export type Slots = readonly (ForwardingEndpoint | undefined)[];

/** Of an entry: those of all its endpoints, and of those that Direct forwarding uses on this node. */
export interface EntrySlots {
  readonly slots: Slots;
  readonly own: Slots;
}

/**
 * Gives the endpoints that take new connections their positions, so that few of those that stay change theirs.
 * Without affinity there are no holes and heavier endpoints come first: entries with the same weights then share a
 * chain. With client affinity an endpoint keeps its position for life, because clients are remembered by position.
 */
export function assignSlots(entry: Pick<ForwardingEntry, 'endpoints' | 'affinity'>, previous: Slots): Slots {
  const active = normaliseWeights(entry.endpoints);
  return entry.affinity.type === 'ClientIP' ? fillHoles(active, previous) : byWeight(active, previous);
}

/** Takes none out and none in: positive whole weights without a common divisor. Anything else counts as drained. */
function normaliseWeights(endpoints: readonly ForwardingEndpoint[]): ForwardingEndpoint[] {
  const active = endpoints.filter(({ weight }) => Number.isSafeInteger(weight) && weight > 0);
  const divisor = active.reduce((d, { weight }) => greatestCommonDivisor(d, weight), 0);
  return divisor === 1 ? active : active.map((endpoint) => ({ ...endpoint, weight: endpoint.weight / divisor }));
}

function byWeight(active: readonly ForwardingEndpoint[], previous: Slots): Slots {
  const weights = active.map(({ weight }) => weight).sort((a, b) => b - a);
  const before = positions(previous);
  const slots = new Array<ForwardingEndpoint | undefined>(active.length);
  const rest = active.filter((endpoint) => {
    const at = before.get(targetOf(endpoint));
    if (at === undefined || weights[at] !== endpoint.weight) return true;
    slots[at] = endpoint;
    return false;
  });
  rest.sort((a, b) => b.weight - a.weight);
  for (const endpoint of rest)
    slots[slots.findIndex((taken, i) => !taken && weights[i] === endpoint.weight)] = endpoint;
  return slots;
}

function fillHoles(active: readonly ForwardingEndpoint[], previous: Slots): Slots {
  const before = positions(previous);
  const slots: (ForwardingEndpoint | undefined)[] = previous.map(() => undefined);
  const added = active.filter((endpoint) => {
    const at = before.get(targetOf(endpoint));
    if (at !== undefined) slots[at] = endpoint;
    return at === undefined;
  });
  for (let i = 0; i < slots.length && added.length > 0; i++) slots[i] ??= added.shift();
  slots.push(...added);
  while (slots.length > 0 && slots.at(-1) === undefined) slots.pop();
  return slots;
}

export function targetOf({ address, port }: Pick<ForwardingEndpoint, 'address' | 'port'>): string {
  return `${address} . ${port}`;
}

function positions(slots: Slots): Map<string, number> {
  const result = new Map<string, number>();
  slots.forEach((endpoint, i) => endpoint && result.set(targetOf(endpoint), i));
  return result;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
