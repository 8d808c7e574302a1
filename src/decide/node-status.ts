import { type Condition, condition } from '../api/conditions.ts';
import type { World } from '../world/types.ts';

/** What is wrong with this node's part in the election; nothing where all is well. */
export function nodeConditions(world: World): Condition[] {
  const found: Condition[] = [];
  for (const [segment, state] of world.wire.segments) {
    if (state.blocked.length > 0) {
      const message = `on ${segment} ${state.blocked.join(', ')} answer ARP or NDP but none of our heartbeats: allow the heartbeat port (UDP) in firewalls`;
      found.push(condition('HeartbeatsBlocked', 'True', 'NoDatagrams', message));
    }
    if (state.keyRefusedBy.length > 0) {
      const message = `${state.keyRefusedBy.join(', ')} ${state.keyRefusedBy.length === 1 ? 'does' : 'do'} not accept our key: give every node the same key file`;
      found.push(condition('KeyRefused', 'True', 'OtherKey', message));
    }
    if (state.nameTaken) {
      const message = `on ${segment} another speaker uses the node name ${world.self}: give each node its own --node`;
      found.push(condition('NameTaken', 'True', 'SameName', message));
    }
    if (state.failure !== undefined)
      found.push(condition('SegmentFailed', 'True', 'SocketsNotOpened', `${segment}: ${state.failure}`));
  }
  const unfenced = [...world.wire.answered].filter(([, { fenced }]) => !fenced).map(([vip]) => vip);
  if (unfenced.length > 0) {
    const message = `${unfenced.join(', ')} ${unfenced.length === 1 ? 'is' : 'are'} answered without the confirmation of a majority of the speakers`;
    found.push(condition('Unfenced', 'True', 'NoMajority', message));
  }
  return found;
}
