import { CeaseSubcode, ErrorCode } from '../codec/constants.ts';
import { encodeMessage } from '../codec/messages/table.ts';
import { UNNEGOTIATED } from '../codec/negotiate.ts';
import type { Notification } from '../codec/types.ts';
import type { FsmState } from '../fsm/types.ts';
import type { PeerAddress, PeerSettings } from './settings.ts';

const NO_DATA = new Uint8Array();

export function cease(subcode: number, data = NO_DATA): Notification {
  return { type: 'NOTIFICATION', code: ErrorCode.CEASE, subcode, data };
}

/** For a connection that comes from nobody's peer, or while the peer is not wanted. */
export const REFUSAL = encodeMessage(cease(CeaseSubcode.CONNECTION_REJECTED), UNNEGOTIATED);

/** Why a connection is not there or not any more, with what is to be looked at. */
export function notConnected(
  settings: PeerSettings & { readonly remote: PeerAddress },
  state: FsmState,
  reason: string | undefined,
): string {
  const where = `${settings.remote.address} port ${settings.port}`;
  if (state !== 'Connect' && state !== 'Active') return lost(settings, state, reason);
  switch (reason) {
    case 'ECONNREFUSED':
      return `${where} refuses connections: no BGP speaker listens there, or it does not know this node`;
    case 'ETIMEDOUT':
      return `${where} does not answer${silence(settings)}`;
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `${where} cannot be reached: no route, or nobody answers for the address on its link`;
    case 'EADDRNOTAVAIL':
      return `the source address ${settings.sourceAddress ?? ''} is not on this node`;
    default:
      return `no connection with ${where}: ${reason ?? 'closed by the peer'}`;
  }
}

/** A wrong key, a wrong TTL and a firewall look the same: nothing comes back. */
function silence({ password, ttlSecurity }: PeerSettings): string {
  const causes = [
    ...(password === undefined ? [] : ['its password may be another one or none']),
    ...(ttlSecurity === undefined ? [] : [`it may be more than ${ttlSecurity} hops away or not use TTL security`]),
    'it may require a password, be down or behind a firewall',
  ];
  return `: ${causes.join('; ')}`;
}

/** Of a peer whose TCP answers, and nothing more. */
export function mute({ remote, port, ttlSecurity }: PeerSettings & { readonly remote: PeerAddress }): string {
  const cause =
    ttlSecurity === undefined
      ? 'it may require TTL security, or hang'
      : `it may not use TTL security, be more than ${ttlSecurity} hops away, or hang`;
  return `${remote.address} port ${port} takes the connection and says nothing: ${cause}`;
}

function lost({ password }: PeerSettings, state: FsmState, reason: string | undefined): string {
  const how = reason === undefined ? 'the peer closed the connection' : `the connection was lost (${reason})`;
  if (state === 'Established' || state === 'Idle') return how;
  const hint = password === undefined ? 'it may not know this node, or have another session with it' : 'see its log';
  return `${how} in ${state}, before the session was up: ${hint}`;
}
