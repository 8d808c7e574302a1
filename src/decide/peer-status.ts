import type { BGPPeer } from '../api/bgp-peer.ts';
import { type Condition, condition } from '../api/conditions.ts';

export interface PeerStatus {
  /** Nodes with an established session, of those that should have one: `2/3`. */
  readonly established: string;
  readonly conditions: readonly Condition[];
}

/**
 * What is true of a BGPPeer now.
 * @param states of its sessions, as the speakers tell.
 * @param invalid what is wrong with its newest form.
 */
export function peerStatus(peer: BGPPeer, states: readonly string[], invalid: string | undefined): PeerStatus {
  const established = states.filter((state) => state === 'Established').length;
  const accepted =
    invalid === undefined
      ? condition('Accepted', 'True', 'Accepted', 'the peer is valid')
      : condition('Accepted', 'False', 'Invalid', `${invalid}; the last good form is in force`);
  return { established: `${established}/${states.length}`, conditions: [accepted, staleRoutes(peer)] };
}

/** RFC 4724 section 4.2: whoever helps takes a node that is dead for one that restarts; BFD tells the two apart. */
function staleRoutes({ spec: { gracefulRestart, bfd } }: BGPPeer): Condition {
  if (!gracefulRestart.enabled) {
    return condition('StaleRoutes', 'False', 'NotKept', 'graceful restart is off: the router keeps no routes');
  }
  if (bfd !== undefined) {
    return condition('StaleRoutes', 'False', 'WatchedByBFD', 'BFD tells the router of a node that is dead');
  }
  const message = `graceful restart runs without BFD: the router goes on sending to a node that loses its power for up to ${gracefulRestart.restartTime}`;
  return condition('StaleRoutes', 'True', 'NoBFD', message);
}
