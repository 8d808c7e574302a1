import { type NodeName, parseNodeName, parseVip, type Vip } from '../../net/names.ts';
import type { Table } from '../../net/table.ts';
import type { Speaker } from '../api/speaker.ts';

type Speakers = Table<string, Speaker>;

/** What a speaker wrote of a VIP in its own status. */
export interface Announcer {
  readonly node: NodeName;
  readonly mode: 'L2' | 'BGP';
  readonly interface: string | undefined;
}

/** Who says that it announces each VIP, by the speakers' own status, in order of name; work is in proportion to the changes. */
export function announcersOf(
  speakers: Speakers,
  previous: Speakers,
  before: Table<Vip, readonly Announcer[]>,
): Table<Vip, readonly Announcer[]> {
  const edits = new Map<Vip, readonly Announcer[]>();
  const of = (vip: Vip) => edits.get(vip) ?? before.get(vip) ?? [];
  for (const { before: old, after: now } of speakers.changes(previous)) {
    if (old?.status?.vips === now?.status?.vips && old !== undefined && now !== undefined) continue;
    for (const [vip, { node }] of announced(old)) {
      edits.set(
        vip,
        of(vip).filter((announcer) => announcer.node !== node),
      );
    }
    for (const [vip, announcer] of announced(now)) {
      edits.set(
        vip,
        [...of(vip), announcer].sort((a, b) => (a.node < b.node ? -1 : 1)),
      );
    }
  }
  return before.with(Array.from(edits, ([vip, list]) => [vip, list.length > 0 ? list : undefined] as const));
}

function announced(speaker: Speaker | undefined): (readonly [Vip, Announcer])[] {
  const node = speaker && parseNodeName(speaker.metadata.name).ok;
  if (node === undefined) return [];
  return (speaker?.status?.vips ?? []).flatMap(({ address, mode, interface: name }) => {
    const vip = parseVip(address).ok;
    return vip === undefined ? [] : [[vip, { node, mode, interface: name }] as const];
  });
}
