import { ErrorCode, MessageType, OpenSubcode } from '../codec/constants.ts';
import { type DecodeError, strongestReaction } from '../codec/errors.ts';
import { encodeMessage } from '../codec/messages/table.ts';
import { capability, checkOpen, negotiate, type OpenExpectation, UNNEGOTIATED } from '../codec/negotiate.ts';
import { MessageReader } from '../codec/reader.ts';
import type { Message, Notification, Open, SessionParameters } from '../codec/types.ts';
import type { ConnectionEvent } from '../fsm/peer.ts';
import type { Channel } from '../transport/network.ts';

/** What came in: at most one message, and the event that it is to the state machine. */
export interface Heard {
  readonly message: Message | undefined;
  readonly event: ConnectionEvent | undefined;
  /** All that was wrong with it, the tolerated too. */
  readonly errors: readonly DecodeError[];
}

/** A TCP connection with a peer that speaks BGP over it. */
export class Connection {
  readonly channel: Channel;
  readonly localOpen: Open;
  readonly #expectation: OpenExpectation;
  readonly #reader = new MessageReader();
  #session: SessionParameters = UNNEGOTIATED;
  #remoteOpen: Open | undefined;

  constructor(channel: Channel, expectation: OpenExpectation) {
    this.channel = channel;
    this.localOpen = expectation.local;
    this.#expectation = expectation;
  }

  /** As far as both OPENs are known. */
  get session(): SessionParameters {
    return this.#session;
  }

  get remoteOpen(): Open | undefined {
    return this.#remoteOpen;
  }

  /** RFC 8538 section 2: both ends have said that a NOTIFICATION alone does not end a graceful restart. */
  get keepsRoutesOverNotifications(): boolean {
    const offers = (open: Open | undefined): boolean =>
      open !== undefined && capability(open, 'graceful-restart')?.notification === true;
    return offers(this.localOpen) && offers(this.#remoteOpen);
  }

  /** Messages of a chunk, one at a time: what is heard of one may end the connection before the next. */
  *read(chunk: Uint8Array): Generator<Heard> {
    this.#reader.push(chunk);
    for (;;) {
      const decoded = this.#reader.next(this.#session);
      if (decoded === undefined) return;
      const { errors } = decoded;
      switch (decoded.outcome) {
        case 'session-reset':
          yield { message: undefined, event: errorEvent(decoded.notification), errors };
          break;
        case 'ignore':
          // Only a ROUTE-REFRESH is passed over, and before Established none may come at all.
          yield { message: undefined, event: { kind: 'UpdateMsg', messageType: MessageType['ROUTE-REFRESH'] }, errors };
          break;
        case 'message':
          yield decoded.message.type === 'OPEN'
            ? this.#hearOpen(decoded.message, errors)
            : { message: decoded.message, event: eventOf(decoded.message), errors };
          break;
      }
    }
  }

  send(message: Message): void {
    this.channel.write(encodeMessage(message, this.#session));
  }

  #hearOpen(open: Open, errors: readonly DecodeError[]): Heard {
    const event: ConnectionEvent = { kind: 'BGPOpen', holdTime: open.holdTime, remote: remoteOf(open) };
    // A second OPEN is the state machine's business alone.
    if (this.#remoteOpen !== undefined) return { message: open, event, errors };
    const error = checkOpen(open, this.#expectation);
    this.#remoteOpen = open;
    if (error !== undefined) {
      const reaction = strongestReaction([error]);
      if (reaction.kind !== 'session-reset') throw new Error(`${error.kind} must end the session`);
      return { message: open, event: errorEvent(reaction.notification), errors: [...errors, error] };
    }
    this.#session = negotiate(this.localOpen, open, this.#expectation.role);
    return { message: open, event, errors };
  }
}

function remoteOf(open: Open): { identifier: Open['identifier']; asn: number; gracefulRestart: boolean } {
  const families = capability(open, 'graceful-restart')?.families ?? [];
  return { identifier: open.identifier, asn: open.asn, gracefulRestart: families.length > 0 };
}

function eventOf(message: Exclude<Message, Open>): ConnectionEvent {
  switch (message.type) {
    case 'KEEPALIVE':
      return { kind: 'KeepAliveMsg' };
    case 'UPDATE':
    case 'ROUTE-REFRESH':
      return { kind: 'UpdateMsg', messageType: MessageType[message.type] };
    case 'NOTIFICATION':
      return { kind: isVersionError(message) ? 'NotifMsgVerErr' : 'NotifMsg' };
  }
}

function isVersionError({ code, subcode }: Notification): boolean {
  return code === ErrorCode.OPEN && subcode === OpenSubcode.UNSUPPORTED_VERSION_NUMBER;
}

/** The event of a message that must be answered by this NOTIFICATION. */
function errorEvent(notification: Notification): ConnectionEvent {
  switch (notification.code) {
    case ErrorCode.MESSAGE_HEADER:
      return { kind: 'BGPHeaderErr', notification };
    case ErrorCode.OPEN:
      return { kind: 'BGPOpenMsgErr', notification };
    default:
      return { kind: 'UpdateMsgErr', notification };
  }
}
