import { type DecodeError, describeError } from '../codec/errors.ts';
import type { Message, Notification } from '../codec/types.ts';
import { describeNotification, hex } from '../codec/words.ts';
import type { FsmState } from '../fsm/types.ts';
import type { SpeakerEvent } from './events.ts';
import { COUNTER, type MessageCounts, type NotificationStatus, type TimedText } from './status.ts';

type Counts = { -readonly [K in keyof MessageCounts]: number };

const none = (): Counts => ({ open: 0, update: 0, notification: 0, keepalive: 0, routeRefresh: 0 });

/** What is remembered of a peer over all its connections. */
export class SessionRecord {
  readonly sent = none();
  readonly received = none();
  readonly #peer: string;
  readonly #wallClock: () => Date;
  readonly #onEvent: (event: SpeakerEvent) => void;
  #since: Date;
  #established = 0;
  #lastError: TimedText | undefined;
  /** What went wrong since the state last changed. */
  #cause: string | undefined;
  #notificationSent: NotificationStatus | undefined;
  #notificationReceived: NotificationStatus | undefined;

  constructor(peer: string, wallClock: () => Date, onEvent: (event: SpeakerEvent) => void) {
    this.#peer = peer;
    this.#wallClock = wallClock;
    this.#onEvent = onEvent;
    this.#since = wallClock();
  }

  get facts() {
    return {
      since: this.#since.toISOString(),
      seconds: Math.max(0, Math.floor((this.#wallClock().getTime() - this.#since.getTime()) / 1000)),
      established: this.#established,
      sent: { ...this.sent },
      received: { ...this.received },
      ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
      ...(this.#notificationSent === undefined ? {} : { lastNotificationSent: this.#notificationSent }),
      ...(this.#notificationReceived === undefined ? {} : { lastNotificationReceived: this.#notificationReceived }),
    };
  }

  changed(from: FsmState, to: FsmState): void {
    this.#since = this.#wallClock();
    if (to === 'Established') this.#established++;
    const reason = this.#cause === undefined ? {} : { reason: this.#cause };
    this.#cause = undefined;
    this.#onEvent({ kind: 'state', peer: this.#peer, from, to, ...reason });
  }

  failed(text: string): void {
    this.#lastError = { at: this.#wallClock().toISOString(), text };
    this.#cause = text;
  }

  problem(text: string): void {
    this.concern(text);
    this.#cause = text;
  }

  /** What has not failed yet, and will if it goes on: no reason for a change of the state. */
  concern(text: string): void {
    if (this.#lastError?.text !== text) this.#onEvent({ kind: 'problem', peer: this.#peer, text });
    this.#lastError = { at: this.#wallClock().toISOString(), text };
  }

  countSent(type: Message['type']): void {
    this.sent[COUNTER[type]]++;
  }

  heard(message: Message | undefined, errors: readonly DecodeError[]): void {
    if (message !== undefined) this.received[COUNTER[message.type]]++;
    if (errors.length > 0) {
      this.#onEvent({ kind: 'malformed', peer: this.#peer, text: errors.map(describeError).join('; ') });
    }
    if (message?.type === 'NOTIFICATION') this.notification('received', message);
  }

  notification(direction: 'sent' | 'received', notification: Notification): void {
    const text = describeNotification(notification);
    const { code, subcode, data } = notification;
    const status = { at: this.#wallClock().toISOString(), text, code, subcode, data: hex(data) };
    if (direction === 'sent') this.#notificationSent = status;
    else this.#notificationReceived = status;
    this.failed(`NOTIFICATION ${direction}: ${text}`);
    this.#onEvent({ kind: 'notification', peer: this.#peer, direction, notification, text });
  }
}
