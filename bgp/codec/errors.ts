import {
  BGP_VERSION,
  ErrorCode,
  HeaderSubcode,
  MAX_NOTIFICATION_DATA,
  OpenSubcode,
  RouteRefreshSubcode,
  UpdateSubcode,
} from './constants.ts';
import type { Asn, Message, Notification, Role } from './types.ts';

/** What a peer can do wrong in the bytes of one message. `detail` is one phrase without a full stop. */
export type DecodeError =
  | { readonly kind: 'connection-not-synchronized' }
  | { readonly kind: 'bad-message-length'; readonly length: number }
  | { readonly kind: 'bad-message-type'; readonly type: number }
  | { readonly kind: 'malformed-open'; readonly detail: string }
  | { readonly kind: 'unsupported-version'; readonly version: number }
  | { readonly kind: 'bad-peer-as'; readonly asn: Asn; readonly expected?: Asn }
  | { readonly kind: 'bad-bgp-identifier'; readonly detail: string }
  | { readonly kind: 'unacceptable-hold-time'; readonly seconds: number }
  | { readonly kind: 'unsupported-optional-parameter'; readonly type: number }
  | { readonly kind: 'malformed-capability'; readonly code: number; readonly detail: string }
  /** No family is common to both ends. `capabilities` are those that we asked for, as they stand in an OPEN. */
  | { readonly kind: 'unsupported-capability'; readonly capabilities: Uint8Array }
  | { readonly kind: 'role-mismatch'; readonly local: Role; readonly remote: readonly (Role | 'unassigned')[] }
  /** Withdrawn Routes Length, Total Attribute Length or the list of attributes is broken. */
  | { readonly kind: 'malformed-attribute-list'; readonly detail: string }
  /** An attribute overruns or underruns Total Attribute Length: the NLRI is still found. */
  | { readonly kind: 'attribute-length-conflict'; readonly detail: string }
  | { readonly kind: 'unrecognized-well-known-attribute'; readonly type: number; readonly attribute: Uint8Array }
  | { readonly kind: 'missing-well-known-attribute'; readonly name: string }
  | { readonly kind: 'attribute-flags'; readonly name: string; readonly flags: number }
  | { readonly kind: 'duplicate-attribute'; readonly name: string }
  /** An attribute that this peer must not send, e.g. LOCAL_PREF over eBGP. */
  | { readonly kind: 'unexpected-attribute'; readonly name: string; readonly detail: string }
  | {
      readonly kind: 'malformed-attribute';
      readonly name: string;
      readonly detail: string;
      readonly reaction: 'treat-as-withdraw' | 'attribute-discard';
    }
  /** MP_REACH_NLRI or MP_UNREACH_NLRI whose routes cannot be told. `attribute` is whole, header included. */
  | {
      readonly kind: 'optional-attribute';
      readonly name: string;
      readonly detail: string;
      readonly attribute: Uint8Array;
    }
  | { readonly kind: 'invalid-network-field'; readonly detail: string }
  | { readonly kind: 'family-not-negotiated'; readonly afi: number; readonly safi: number }
  | { readonly kind: 'unusable-next-hop'; readonly detail: string }
  /** RFC 9234 section 5: the route came by a way that it must not have come. */
  | { readonly kind: 'route-leak'; readonly detail: string }
  | { readonly kind: 'bad-route-refresh-length'; readonly message: Uint8Array }
  | { readonly kind: 'unknown-route-refresh-subtype'; readonly subtype: number };

/** Reactions in the order of their strength (RFC 7606 section 2): of several, the strongest holds. */
export type Reaction =
  /** Nothing changes; the defect is logged. */
  | { readonly kind: 'ignore' }
  | { readonly kind: 'attribute-discard' }
  | { readonly kind: 'treat-as-withdraw' }
  /** Session reset. Where RFC 7606 leaves the choice, this is taken and never "AFI/SAFI disable". */
  | { readonly kind: 'session-reset'; readonly notification: Notification };

/** A decoded message, or why there is none. `errors` are all that were met, the tolerated ones too. */
export type Decoded =
  /** A treat-as-withdraw UPDATE comes as one that withdraws all its routes. */
  | { readonly outcome: 'message'; readonly message: Message; readonly errors: readonly DecodeError[] }
  /** A well-framed message that must be passed over: a ROUTE-REFRESH that does not concern this session. */
  | { readonly outcome: 'ignore'; readonly errors: readonly DecodeError[] }
  /** Send this and close. */
  | { readonly outcome: 'session-reset'; readonly notification: Notification; readonly errors: readonly DecodeError[] };

/** The one place where an error becomes what we do about it. */
export function reactionTo(error: DecodeError): Reaction {
  switch (error.kind) {
    // RFC 4271 section 6.1.
    case 'connection-not-synchronized':
      return reset(ErrorCode.MESSAGE_HEADER, HeaderSubcode.CONNECTION_NOT_SYNCHRONIZED);
    case 'bad-message-length':
      return reset(ErrorCode.MESSAGE_HEADER, HeaderSubcode.BAD_MESSAGE_LENGTH, u16(error.length));
    case 'bad-message-type':
      return reset(ErrorCode.MESSAGE_HEADER, HeaderSubcode.BAD_MESSAGE_TYPE, Uint8Array.of(error.type));

    // RFC 4271 section 6.2; the data of an unsupported version is the largest that we speak.
    case 'malformed-open':
      return reset(ErrorCode.OPEN, OpenSubcode.UNSPECIFIC);
    case 'unsupported-version':
      return reset(ErrorCode.OPEN, OpenSubcode.UNSUPPORTED_VERSION_NUMBER, u16(BGP_VERSION));
    case 'bad-peer-as':
      return reset(ErrorCode.OPEN, OpenSubcode.BAD_PEER_AS);
    case 'bad-bgp-identifier':
      return reset(ErrorCode.OPEN, OpenSubcode.BAD_BGP_IDENTIFIER);
    case 'unacceptable-hold-time':
      return reset(ErrorCode.OPEN, OpenSubcode.UNACCEPTABLE_HOLD_TIME);
    case 'unsupported-optional-parameter':
      return reset(ErrorCode.OPEN, OpenSubcode.UNSUPPORTED_OPTIONAL_PARAMETER);
    // RFC 5492 section 5.
    case 'unsupported-capability':
      return reset(ErrorCode.OPEN, OpenSubcode.UNSUPPORTED_CAPABILITY, error.capabilities);
    // RFC 9234 section 4.2.
    case 'role-mismatch':
      return reset(ErrorCode.OPEN, OpenSubcode.ROLE_MISMATCH);
    // RFC 5492 section 3: a capability that is not understood is ignored.
    case 'malformed-capability':
      return { kind: 'ignore' };

    // RFC 4271 section 6.3 as revised by RFC 7606.
    case 'malformed-attribute-list':
      return reset(ErrorCode.UPDATE, UpdateSubcode.MALFORMED_ATTRIBUTE_LIST);
    case 'unrecognized-well-known-attribute':
      return reset(ErrorCode.UPDATE, UpdateSubcode.UNRECOGNIZED_WELL_KNOWN_ATTRIBUTE, error.attribute);
    case 'optional-attribute':
      return reset(ErrorCode.UPDATE, UpdateSubcode.OPTIONAL_ATTRIBUTE_ERROR, error.attribute);
    case 'invalid-network-field':
      return reset(ErrorCode.UPDATE, UpdateSubcode.INVALID_NETWORK_FIELD);
    case 'attribute-length-conflict':
    case 'missing-well-known-attribute':
    case 'attribute-flags':
    case 'unusable-next-hop':
    case 'route-leak':
      return { kind: 'treat-as-withdraw' };
    case 'duplicate-attribute':
    case 'unexpected-attribute':
    case 'family-not-negotiated':
      return { kind: 'attribute-discard' };
    case 'malformed-attribute':
      return { kind: error.reaction };

    // RFC 7313 section 5.
    case 'bad-route-refresh-length':
      return reset(ErrorCode.ROUTE_REFRESH, RouteRefreshSubcode.INVALID_MESSAGE_LENGTH, error.message);
    case 'unknown-route-refresh-subtype':
      return { kind: 'ignore' };
  }
}

const STRENGTH = { ignore: 0, 'attribute-discard': 1, 'treat-as-withdraw': 2, 'session-reset': 3 } as const;

/** RFC 7606 section 3 (h): of several reactions the strongest holds; of equals, the first. */
export function strongestReaction(errors: readonly DecodeError[]): Reaction {
  return errors
    .map(reactionTo)
    .reduce((best, next) => (STRENGTH[next.kind] > STRENGTH[best.kind] ? next : best), { kind: 'ignore' });
}

/** @param errors one of which must cause a session reset. */
export function resetBy(errors: readonly DecodeError[]): Decoded & { readonly outcome: 'session-reset' } {
  const reaction = strongestReaction(errors);
  if (reaction.kind !== 'session-reset') throw new Error(`${reaction.kind} is no session reset`);
  return { outcome: 'session-reset', notification: reaction.notification, errors };
}

/** One phrase for a log line, without a full stop. */
export function describeError(error: DecodeError): string {
  switch (error.kind) {
    case 'connection-not-synchronized':
      return 'the marker is not all ones';
    case 'bad-message-length':
      return `bad message length ${error.length}`;
    case 'bad-message-type':
      return `unknown message type ${error.type}`;
    case 'malformed-open':
      return `malformed OPEN: ${error.detail}`;
    case 'unsupported-version':
      return `BGP version ${error.version}, we speak ${BGP_VERSION}`;
    case 'bad-peer-as':
      return error.expected === undefined
        ? `AS ${error.asn} is not a peer's`
        : `the peer is AS ${error.asn}, configured is ${error.expected}`;
    case 'bad-bgp-identifier':
      return `bad BGP identifier: ${error.detail}`;
    case 'unacceptable-hold-time':
      return `unacceptable hold time ${error.seconds} s`;
    case 'unsupported-optional-parameter':
      return `unsupported optional parameter ${error.type}`;
    case 'malformed-capability':
      return `capability ${error.code} ignored: ${error.detail}`;
    case 'unsupported-capability':
      return 'the peer offers none of our address families';
    case 'role-mismatch':
      return `our role ${error.local} does not go with the peer's ${error.remote.join(', ') || 'lack of one'}`;
    case 'malformed-attribute-list':
      return `malformed attribute list: ${error.detail}`;
    case 'attribute-length-conflict':
      return `attribute lengths conflict: ${error.detail}`;
    case 'unrecognized-well-known-attribute':
      return `unrecognized well-known attribute ${error.type}`;
    case 'missing-well-known-attribute':
      return `${error.name} is missing`;
    case 'attribute-flags':
      return `${error.name} has wrong flags 0x${error.flags.toString(16).padStart(2, '0')}`;
    case 'duplicate-attribute':
      return `${error.name} appears again`;
    case 'unexpected-attribute':
      return `${error.name} must not be sent here: ${error.detail}`;
    case 'malformed-attribute':
    case 'optional-attribute':
      return `malformed ${error.name}: ${error.detail}`;
    case 'invalid-network-field':
      return `invalid network field: ${error.detail}`;
    case 'family-not-negotiated':
      return `AFI ${error.afi} SAFI ${error.safi} was not negotiated`;
    case 'unusable-next-hop':
      return `unusable next hop: ${error.detail}`;
    case 'route-leak':
      return `route leak: ${error.detail}`;
    case 'bad-route-refresh-length':
      return `ROUTE-REFRESH of ${error.message.length} octets`;
    case 'unknown-route-refresh-subtype':
      return `unknown ROUTE-REFRESH subtype ${error.subtype}`;
  }
}

function reset(code: number, subcode: number, data: Uint8Array = new Uint8Array()): Reaction {
  // What is quoted may be as long as a message is: a NOTIFICATION around it would be longer.
  const quoted = data.subarray(0, MAX_NOTIFICATION_DATA);
  return { kind: 'session-reset', notification: { type: 'NOTIFICATION', code, subcode, data: quoted } };
}

function u16(value: number): Uint8Array {
  return Uint8Array.of(value >>> 8, value & 0xff);
}
