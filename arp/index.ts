/** ARP and NDP for addresses that are on no interface: frames, responder, announcer, prober. */
export { type Announcement, Announcer, type GatewayTarget } from './announcer.ts';
export {
  type ArpFault,
  type ArpFrame,
  arpProbe,
  arpRequest,
  decodeArp,
  ETHERTYPE_ARP,
  encodeArp,
  gratuitousArp,
} from './arp-frame.ts';
export {
  ADVERTISEMENT,
  dadSolicitation,
  decodeNdp,
  ETHERTYPE_IPV6,
  encodeNdp,
  type NdpFault,
  type NdpFrame,
  NEXT_HEADER_ICMPV6,
  type NeighbourAdvertisement,
  type NeighbourSolicitation,
  SOLICITATION,
  solicitation,
  solicitedNode,
  unsolicitedAdvertisement,
} from './ndp-frame.ts';
export { type ProbeOutcome, Prober, type ProbeTick, probeFrame } from './prober.ts';
export { type Answerer, onArpFrame, onNdpFrame, type Reaction } from './responder.ts';
