import type { NodeName } from '../../net/names.ts';
import type { Voter } from './messages.ts';
import { majority } from './state.ts';

/** Whether a reply came from the session that the list names (`remembers`), by node. */
export type Replies = ReadonlyMap<NodeName, boolean>;

/**
 * Whether these voters may decide what the list once decided. A voter that restarted has forgotten its votes and
 * grants; it stands in where so many others remember (|W| - Q + 1) that every majority of the past is among them.
 */
export function decides(list: readonly Voter[], replies: Replies, standIns: boolean): boolean {
  const { remember, forgot } = count(list, replies);
  const quorum = majority(list.length);
  if (!standIns || forgot === 0) return remember >= quorum;
  return remember + forgot >= quorum && remember >= list.length - quorum + 1;
}

/**
 * Whether a majority of the members may re-form a chain that too few of its voters remember: so many of those voters
 * must be void of the life, without memory or no longer members that the life cannot have a lease.
 */
export function reforms(list: readonly Voter[], members: ReadonlySet<NodeName>, replies: Replies): boolean {
  const { remember, forgot } = count(list, replies);
  const gone = list.filter(({ node }) => !members.has(node)).length;
  const present = [...members].filter((node) => replies.has(node)).length;
  return present >= majority(members.size) && remember + forgot + gone >= list.length - majority(list.length) + 1;
}

function count(list: readonly Voter[], replies: Replies): { remember: number; forgot: number } {
  let remember = 0;
  let forgot = 0;
  for (const { node } of list) {
    const remembers = replies.get(node);
    if (remembers === true) remember++;
    else if (remembers === false) forgot++;
  }
  return { remember, forgot };
}
