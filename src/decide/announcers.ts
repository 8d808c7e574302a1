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

/** What a speaker found out about a VIP that another one holds. */
export interface Finding {
  readonly node: NodeName;
  readonly holder: string;
  readonly reachable: boolean;
  readonly answeredBy: string | undefined;
}

type ByVip<T> = Table<Vip, readonly T[]>;

/** Who says that it announces each VIP, by the speakers' own status, in order of name; work is in proportion to the changes. */
export function announcersOf(speakers: Speakers, previous: Speakers, before: ByVip<Announcer>): ByVip<Announcer> {
  return index(speakers, previous, before, ({ vips = [] }, node) =>
    vips.map(({ address, mode, interface: name }) => [address, { node, mode, interface: name }] as const),
  );
}

/** What speakers found out about each VIP, likewise. */
export function findingsOf(speakers: Speakers, previous: Speakers, before: ByVip<Finding>): ByVip<Finding> {
  return index(speakers, previous, before, ({ proofs = [] }, node) =>
    proofs.map(({ address, node: holder, reachable, answeredBy }) => {
      return [address, { node, holder, reachable, answeredBy }] as const;
    }),
  );
}

function index<T extends { readonly node: NodeName }>(
  speakers: Speakers,
  previous: Speakers,
  before: ByVip<T>,
  pick: (status: NonNullable<Speaker['status']>, node: NodeName) => readonly (readonly [string, T])[],
): ByVip<T> {
  const entries = (speaker: Speaker | undefined): (readonly [Vip, T])[] => {
    const node = speaker && parseNodeName(speaker.metadata.name).ok;
    if (node === undefined || speaker?.status === undefined) return [];
    return pick(speaker.status, node).flatMap(([address, value]) => {
      const vip = parseVip(address).ok;
      return vip === undefined ? [] : [[vip, value] as const];
    });
  };
  const edits = new Map<Vip, readonly T[]>();
  const of = (vip: Vip) => edits.get(vip) ?? before.get(vip) ?? [];
  for (const { before: old, after: now } of speakers.changes(previous)) {
    for (const [vip, { node }] of entries(old)) {
      edits.set(
        vip,
        of(vip).filter((other) => other.node !== node),
      );
    }
    for (const [vip, value] of entries(now)) {
      edits.set(
        vip,
        [...of(vip), value].sort((a, b) => (a.node < b.node ? -1 : 1)),
      );
    }
  }
  return before.with(Array.from(edits, ([vip, list]) => [vip, list.length > 0 ? list : undefined] as const));
}
