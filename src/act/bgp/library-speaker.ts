import { type Ending, type PeerSettings, Speaker, type SpeakerOptions } from '../../../bgp/index.ts';
import type { BgpSpeaker, PeerSettings as Wanted } from './speaker.ts';

export interface LibrarySpeakerOptions extends SpeakerOptions {
  /** The rules are in the kernel and stay there while we are away: peers may go on sending us packets (RFC 4724, F). */
  readonly forwarding: boolean;
}

/** The BGP library as the actuator asks for it. */
export function createBgpSpeaker({ forwarding, ...options }: LibrarySpeakerOptions): BgpSpeaker {
  const speaker = new Speaker(options);
  return {
    set: (peer, wanted) => speaker.setPeer(peer, settingsOf(wanted, forwarding)),
    delete: (peer) => speaker.deletePeer(peer),
    edit: (peer, edits) => speaker.editRoutes(peer, edits),
    bfdDown: (peer, reason) => speaker.pathDown(peer, reason),
    view: (peer) => speaker.status(peer)[0],
    routes: (peer) => speaker.routes(peer),
    isSent: (peer, prefix) => speaker.isAdvertised(peer, prefix),
    close: (ending: Ending, signal) => speaker.close(ending, signal),
  };
}

function settingsOf({ session, address, zone, password }: Wanted, forwarding: boolean): PeerSettings {
  const { sourceAddress, sourceInterface, ttlSecurity, multiHop, gracefulRestart, role } = session;
  return {
    localAsn: session.localAsn,
    remoteAsn: session.remoteAsn,
    remote: { address, ...(zone === undefined ? {} : { interface: zone }) },
    port: session.port,
    identifier: session.routerId,
    holdTime: session.holdTime,
    keepaliveTime: session.keepaliveTime,
    connectRetryTime: session.connectRetryTime,
    passive: session.passive,
    families: session.families,
    extendedNextHop: session.extendedNextHop,
    ...(sourceAddress === undefined ? {} : { sourceAddress }),
    ...(sourceInterface === undefined ? {} : { sourceInterface }),
    ...(password === undefined ? {} : { password }),
    ...(ttlSecurity === undefined ? {} : { ttlSecurity }),
    ...(multiHop === undefined ? {} : { multiHop }),
    ...(role === undefined ? {} : { role }),
    ...(gracefulRestart === undefined
      ? {}
      : { gracefulRestart: { restartTime: gracefulRestart.restartTime, forwarding } }),
  };
}
