import { type Ip, UNSPECIFIED_V4, UNSPECIFIED_V6 } from '../net/ip.ts';
import type { Mac } from '../net/mac.ts';
import { type ArpFrame, encodeArp } from './arp-frame.ts';
import { ALL_NODES, encodeNdp, multicastMac, type NdpFrame } from './ndp-frame.ts';

/** What a frame means to a node that answers for some addresses. */
export type Reaction =
  /** To be sent at once. */
  | { readonly type: 'answer'; readonly ip: Ip; readonly frame: Uint8Array }
  /** Another host says that it has the address: it announces it, answers for it, or asks from it. */
  | { readonly type: 'claimed'; readonly ip: Ip; readonly mac: Mac }
  /** Another host asks whether it may take the address (RFC 5227 section 2.1.1, RFC 4862 section 5.4). */
  | { readonly type: 'probed'; readonly ip: Ip; readonly mac: Mac; readonly frame: Uint8Array }
  | { readonly type: 'ignored'; readonly why: string };

export interface Answerer {
  readonly mac: Mac;
  readonly answers: (ip: Ip) => boolean;
}

const NOT_OURS: Reaction = { type: 'ignored', why: 'not ours' };
const OWN_FRAME: Reaction = { type: 'ignored', why: 'own frame' };

/** Reacts to an ARP frame. Frames of our own MAC come back from switches and from our own transmissions: ignored. */
export function onArpFrame(frame: ArpFrame, self: Answerer): Reaction {
  if (frame.senderMac === self.mac || frame.source === self.mac) return OWN_FRAME;
  if (frame.senderIp !== UNSPECIFIED_V4) {
    // RFC 5227 section 2.4: any ARP packet whose sender address is ours is a conflict, request and reply alike.
    const claim = { type: 'claimed', ip: frame.senderIp, mac: frame.senderMac } as const;
    if (frame.operation === 'reply' || frame.senderIp === frame.targetIp) return claim;
    if (self.answers(frame.senderIp)) return claim;
  }
  if (frame.operation !== 'request' || !self.answers(frame.targetIp)) return NOT_OURS;
  const answer = encodeArp({
    operation: 'reply',
    source: self.mac,
    destination: frame.source,
    senderMac: self.mac,
    senderIp: frame.targetIp,
    targetMac: frame.senderMac,
    targetIp: frame.senderIp,
  });
  const isProbe = frame.senderIp === UNSPECIFIED_V4;
  return isProbe
    ? { type: 'probed', ip: frame.targetIp, mac: frame.senderMac, frame: answer }
    : { type: 'answer', ip: frame.targetIp, frame: answer };
}

/** Reacts to a neighbour solicitation (multicast, unicast or for duplicate address detection) or advertisement. */
export function onNdpFrame(frame: NdpFrame, self: Answerer): Reaction {
  if (frame.source === self.mac) return OWN_FRAME;
  if (frame.type === 'advertisement')
    return { type: 'claimed', ip: frame.target, mac: frame.linkAddress ?? frame.source };
  if (frame.from !== UNSPECIFIED_V6 && self.answers(frame.from))
    return { type: 'claimed', ip: frame.from, mac: frame.source };
  if (!self.answers(frame.target)) return NOT_OURS;
  // RFC 4861 section 7.2.4: to an unspecified source the answer goes to all nodes, unsolicited.
  const isProbe = frame.from === UNSPECIFIED_V6;
  const answer = encodeNdp({
    type: 'advertisement',
    source: self.mac,
    destination: isProbe ? multicastMac(ALL_NODES) : (frame.linkAddress ?? frame.source),
    from: frame.target,
    to: isProbe ? ALL_NODES : frame.from,
    target: frame.target,
    router: false,
    solicited: !isProbe,
    override: true,
    linkAddress: self.mac,
  });
  return isProbe
    ? { type: 'probed', ip: frame.target, mac: frame.source, frame: answer }
    : { type: 'answer', ip: frame.target, frame: answer };
}
