import type { NodeName } from '../../net/names.ts';
import type { Voter } from './messages.ts';
import { majority } from './state.ts';

/** Whether a reply came from the session that the list names (`remembers`), by node. */
export type Replies = ReadonlyMap<NodeName, boolean>;

/** Whether a majority of the list has replied, from the sessions that it names. */
export function decides(list: readonly Voter[], replies: Replies): boolean {
  return count(list, replies).remember >= majority(list.length);
}

/**
 * Whether a majority of the members may re-form a chain that too few of its voters remember: so many of those voters
 * must be void of the life, without memory or gone from the members for long that the life cannot have a lease.
 */
export function reforms(
  list: readonly Voter[],
  members: readonly NodeName[],
  replies: Replies,
  isGone: (node: NodeName) => boolean,
): boolean {
  const { remember, forgot } = count(list, replies);
  const gone = list.filter(({ node }) => isGone(node)).length;
  const present = members.filter((node) => replies.has(node)).length;
  return present >= majority(members.length) && remember + forgot + gone >= list.length - majority(list.length) + 1;
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
