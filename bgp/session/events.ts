import type { Notification } from '../codec/types.ts';
import type { FsmState } from '../fsm/types.ts';

/** What happens to the sessions of a speaker. */
export type SpeakerEvent =
  | {
      readonly kind: 'state';
      readonly peer: string;
      readonly from: FsmState;
      readonly to: FsmState;
      /** Why a session ended or did not come about. */
      readonly reason?: string;
    }
  | {
      readonly kind: 'notification';
      readonly peer: string;
      readonly direction: 'sent' | 'received';
      readonly notification: Notification;
      readonly text: string;
    }
  /** A message that was wrong and tolerated, or that ended the session. */
  | { readonly kind: 'malformed'; readonly peer: string; readonly text: string }
  /** Something that the operator must mend. */
  | { readonly kind: 'problem'; readonly peer: string; readonly text: string }
  /** A host of a range has become a peer, or is none any more. */
  | { readonly kind: 'dynamic-peer'; readonly peer: string; readonly of: string; readonly added: boolean };

/** One line for a log. */
export function describeSpeakerEvent(event: SpeakerEvent): string {
  switch (event.kind) {
    case 'state':
      return `${event.from} -> ${event.to}${event.reason === undefined ? '' : `: ${event.reason}`}`;
    case 'notification':
      return `NOTIFICATION ${event.direction}: ${event.text}`;
    case 'malformed':
      return `malformed message: ${event.text}`;
    case 'problem':
      return event.text;
    case 'dynamic-peer':
      return event.added ? `peer of ${event.of}` : `no peer of ${event.of} any more`;
  }
}
