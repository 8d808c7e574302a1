import type { Ip } from '../../../net/ip.ts';
import type { InterfaceName, Vip } from '../../../net/names.ts';
import type { Prefix } from '../../../net/prefix.ts';
import { Table } from '../../../net/table.ts';
import type { ForwardingEndpoint, ForwardingKey, Port } from '../../decide/types.ts';
import type { ListedTable } from './listing.ts';
import { ANNOUNCING } from './skeleton.ts';
import type { EntrySlots, Slots } from './slots.ts';
import type { Element } from './table.ts';

/** The elements of a listed table, told apart by what they are about. */
export interface ListedParts {
  readonly vips: Table<Vip, true>;
  readonly announcing: readonly InterfaceName[];
  readonly aggregates: readonly Prefix[];
  readonly entries: Map<ForwardingKey, Element[]>;
}

export function sortElements({ elements }: Pick<ListedTable, 'elements'>): ListedParts {
  const vips: [Vip, true][] = [];
  const announcing: InterfaceName[] = [];
  const aggregates: Prefix[] = [];
  const entries = new Map<ForwardingKey, Element[]>();
  for (const element of elements) {
    const { set, key } = element;
    if (/^vips[46]$/.test(set)) vips.push([key as unknown as Vip, true]);
    else if (/^aggregates[46]$/.test(set)) aggregates.push(key as unknown as Prefix);
    else if (set === ANNOUNCING) announcing.push(key.replaceAll('"', '') as InterfaceName);
    else if (ENTRY_SET.test(set)) {
      const owner = ownerOf(element);
      const list = entries.get(owner);
      if (list) list.push(element);
      else entries.set(owner, [element]);
    }
  }
  return { vips: Table.from(vips), announcing, aggregates, entries };
}

const ENTRY_SET =
  /^(?:service|relayed|restricted|allow|keep-(?<protocol>tcp|udp|sctp)|own|(?:own-)?slot|(?:own-)?bucket)[46](?:-\d+)?$/;

/** Which entry an element belongs to: its key begins with VIP . protocol . port, or the set is of one protocol. */
function ownerOf({ set, key }: Element): ForwardingKey {
  const [vip = '', second = '', third = ''] = key.split(' . ');
  const protocol = ENTRY_SET.exec(set)?.groups?.protocol;
  const parts = protocol === undefined ? [vip, second.toUpperCase(), third] : [vip, protocol.toUpperCase(), second];
  return parts.join('|') as ForwardingKey;
}

/** The slots that an entry's endpoints have in the kernel; their weights are not told there. */
export function listedSlots(elements: readonly Element[]): EntrySlots {
  return { slots: slotsIn(/^slot[46]-(\d+)$/, elements), own: slotsIn(/^own-slot[46]-(\d+)$/, elements) };
}

function slotsIn(maps: RegExp, elements: readonly Element[]): Slots {
  const slots: (ForwardingEndpoint | undefined)[] = [];
  for (const { set, data } of elements) {
    const slot = maps.exec(set)?.[1];
    const [address, port] = data?.split(' . ') ?? [];
    if (slot !== undefined) slots[Number(slot)] = { address: address as Ip, port: Number(port) as Port, weight: 1 };
  }
  return Array.from(slots);
}
