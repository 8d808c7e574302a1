import { linuxNetwork, type PeerSettings, Speaker, type SpeakerEvent, type SpeakerOptions } from '../../bgp/index.ts';
import type { Ip, IpV4 } from '../../net/ip.ts';
import { freePort, PEER_ASN, SPEAKER_ASN } from './wire-peer.ts';

/** The address that the scripted peer connects from. */
export const PEER = '127.0.9.2';

export function wireSettings(change: Partial<PeerSettings> = {}): PeerSettings {
  return {
    localAsn: SPEAKER_ASN,
    remoteAsn: PEER_ASN,
    remote: { address: PEER as Ip },
    port: 179,
    identifier: '10.9.9.5' as IpV4,
    holdTime: 90,
    keepaliveTime: 30,
    connectRetryTime: 5,
    passive: true,
    families: ['IPv4', 'IPv6'],
    extendedNextHop: false,
    nextHops: { IPv4: '192.0.2.5' as Ip, IPv6: '2001:db8::5' as Ip },
    ...change,
  };
}

export interface WireSpeaker extends AsyncDisposable {
  readonly speaker: Speaker;
  readonly port: number;
  readonly events: SpeakerEvent[];
}

/** A speaker on a free port of the loopback interface. */
export async function wireSpeaker(options: Partial<SpeakerOptions> = {}): Promise<WireSpeaker> {
  const port = await freePort();
  const events: SpeakerEvent[] = [];
  const speaker = new Speaker({
    network: linuxNetwork,
    listenPort: port,
    onEvent: (event) => events.push(event),
    ...options,
  });
  return {
    speaker,
    port,
    events,
    [Symbol.asyncDispose]: () => speaker.close('restart', AbortSignal.timeout(0)),
  };
}
