/** BGP-4 as a library: a speaker that announces routes and imports none. The codec's face is `codec/index.ts`. */
export { type Community, formatCommunity, parseCommunity, WELL_KNOWN_COMMUNITIES } from './codec/communities.ts';
export type { Asn, LargeCommunity, NextHop, Notification, Role } from './codec/types.ts';
export { describeNotification } from './codec/words.ts';
export type { FsmState } from './fsm/types.ts';
export type { RouteAttributes, RouteEdit } from './rib/types.ts';
export { describeSpeakerEvent, type SpeakerEvent } from './session/events.ts';
export type { GracefulRestartSettings, PeerAddress, PeerRange, PeerSettings } from './session/settings.ts';
export { type Ending, Speaker, type SpeakerOptions } from './session/speaker.ts';
export type {
  CapabilityStatus,
  FamilyStatus,
  MessageCounts,
  NotificationStatus,
  RouteStatus,
  SessionStatus,
  TimedText,
} from './session/status.ts';
export { linuxNetwork } from './transport/linux.ts';
export type { BgpNetwork } from './transport/network.ts';
