import type { SessionSpec } from '../../bgp/bfd/speaker.ts';
import type { BfdEvent, BfdStatus } from '../../bgp/bfd/status.ts';
import type { Ip } from '../../net/ip.ts';
import type { Mac } from '../../net/mac.ts';
import type { InterfaceName, NodeName, Vip } from '../../net/names.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { AnswerCause, Report, StopCause, VipEntry } from '../membership/types.ts';

/** What the two threads say to each other. Times that cross are monotonic nanoseconds. */

/** Handed over once, when the worker starts. */
export interface WireInit {
  readonly self: NodeName;
  readonly cluster: string;
  readonly profile: 'fast' | 'default' | 'calm';
  readonly witness: boolean;
  readonly heartbeatPort: number;
  /** The first signs, all are accepted. */
  readonly keys: readonly Uint8Array[];
  /** One 64-bit number a counter, in the order of `COUNTERS`. */
  readonly counters: SharedArrayBuffer;
}

/** One L2 segment as this node is attached to it. */
export interface Segment {
  readonly interface: InterfaceName;
  readonly index: number;
  readonly mac: Mac;
  readonly carrier: boolean;
  /** Own address on the segment, from which heartbeats go; absent: none yet. */
  readonly address: Ip | undefined;
  /** Own addresses and their networks. */
  readonly networks: readonly { readonly ip: Ip; readonly prefix: Prefix }[];
  readonly members: readonly SegmentMember[];
  readonly gateways: readonly { readonly ip: Ip; readonly mac: Mac | undefined }[];
}

export interface SegmentMember {
  readonly node: NodeName;
  readonly address: Ip;
}

export interface WireVip {
  readonly interface: InterfaceName;
  readonly entry: VipEntry;
}

/** The tables that main owns and the wire follows. */
export interface Sections {
  readonly segments: Segment;
  readonly vips: WireVip;
  /** By a key of the BGP actuator's. */
  readonly bfd: SessionSpec;
}

export type SectionName = keyof Sections;

/**
 * A difference of one section. `base` is the generation that it applies to, 0 for the whole table. At most one is
 * unacknowledged at a time; a receiver that is not at `base` asks for the whole.
 */
export type SectionUpdate = {
  [S in SectionName]: {
    readonly type: 'section';
    readonly section: S;
    readonly base: number;
    readonly generation: number;
    readonly upserts: readonly (readonly [string, Sections[S]])[];
    readonly deletes: readonly string[];
  };
}[SectionName];

export type WireCommand =
  | { readonly type: 'drain'; readonly to?: NodeName }
  | { readonly type: 'undrain' }
  | { readonly type: 'leave' }
  | { readonly type: 'handOver'; readonly vip: Vip; readonly to?: NodeName }
  | { readonly type: 'rebalance' };

export type ToWire =
  | SectionUpdate
  | { readonly type: 'command'; readonly command: WireCommand }
  | { readonly type: 'keys'; readonly keys: readonly Uint8Array[] }
  /** Every second: the main thread is alive. */
  | { readonly type: 'alive' }
  /** Close every socket and end: a thread that is ended from outside, amid a callback of a socket, aborts the process. */
  | { readonly type: 'end' };

export type FromWire =
  | { readonly type: 'ready' }
  | { readonly type: 'acknowledge'; readonly section: SectionName; readonly generation: number }
  | { readonly type: 'resend'; readonly section: SectionName }
  | { readonly type: 'report'; readonly segment: InterfaceName; readonly report: Report }
  | {
      readonly type: 'answering';
      readonly segment: InterfaceName;
      readonly vip: Vip;
      readonly epoch: number;
      readonly fenced: boolean;
      readonly cause: AnswerCause;
      readonly previous: NodeName | undefined;
      /** Other nodes that held it before, newest first. */
      readonly formerHolders: readonly NodeName[];
    }
  | {
      readonly type: 'stopped';
      readonly segment: InterfaceName;
      readonly vip: Vip;
      readonly cause: StopCause;
      readonly keepForwarding: boolean;
    }
  /** Another member holds the VIP, and the LAN was asked who answers. Told on a change. */
  | {
      readonly type: 'proof';
      readonly segment: InterfaceName;
      readonly vip: Vip;
      readonly holder: NodeName;
      readonly reachable: boolean;
      /** Who answered instead; absent: nobody, or the holder. */
      readonly answeredBy?: Mac;
    }
  /** Members that say that they do not accept our key. */
  | { readonly type: 'keyRefused'; readonly segment: InterfaceName; readonly by: readonly NodeName[] }
  | { readonly type: 'bfd'; readonly event: BfdEvent }
  /** Every second while there are sessions, and once when there are none any more. */
  | { readonly type: 'bfdStatus'; readonly sessions: readonly BfdStatus[] }
  /** Another process on the LAN speaks under our node's name. */
  | { readonly type: 'nameTaken'; readonly segment: InterfaceName; readonly taken: boolean }
  | { readonly type: 'segmentFailed'; readonly segment: InterfaceName; readonly message: string }
  | {
      readonly type: 'log';
      readonly level: 'debug' | 'info' | 'warn';
      readonly message: string;
      readonly fields: object;
    }
  /** After the command `leave`: every segment owes nothing more to anybody. */
  | { readonly type: 'left' };

export const COUNTERS = [
  'arpFrames',
  'arpAnswers',
  'ndpFrames',
  'ndpAnswers',
  'badFrames',
  'withheldAnswers',
  'announcements',
  'datagramsSent',
  'datagramsReceived',
  'datagramsRejected',
  'logsDropped',
] as const;

export type CounterName = (typeof COUNTERS)[number];
