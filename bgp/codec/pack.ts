import { Writer } from '../../net/cursor.ts';
import { type IpFamily, isV4 } from '../../net/ip.ts';
import type { Prefix } from '../../net/prefix.ts';
import { addAs4 } from './attributes/as4.ts';
import { encodeAttributes } from './attributes/list.ts';
import { writeMpReachHead } from './attributes/mp-reach.ts';
import { writeMpUnreachHead } from './attributes/mp-unreach.ts';
import type { AttributeValues } from './attributes/table.ts';
import { AttributeFlag, AttributeType, HEADER_LENGTH, MessageType } from './constants.ts';
import { maxMessageLength, writeHeader } from './header.ts';
import { prefixSize, writePrefix } from './prefix-bytes.ts';
import type { NextHop, PathAttributes, SessionParameters } from './types.ts';

/** What routes must have in common to share an UPDATE. */
export interface RouteGroup {
  readonly family: IpFamily;
  readonly nextHop: NextHop;
  readonly attributes: PathAttributes;
}

export interface PackedUpdate {
  /** The whole message. */
  readonly bytes: Uint8Array;
  /** How many prefixes it carries: the next ones of those given. */
  readonly count: number;
}

/**
 * UPDATEs that announce `prefixes`, each as full as the session allows. Packed as they are pulled, so that a sender
 * may stop at any of them. Attributes that leave no room for a prefix, or a next hop that the session does not carry,
 * are a programming error.
 * @param prefixes all of the group's family, none twice.
 */
export function encodeUpdates(
  { family, nextHop, attributes }: RouteGroup,
  prefixes: Iterable<Prefix>,
  session: SessionParameters,
): Generator<PackedUpdate> {
  const values = addAs4(attributes, session);
  return family === 'IPv4' && isV4(nextHop.address)
    ? pack(announceInField({ ...values, nextHop: nextHop.address }, session), prefixes, session)
    : pack(announceByMpReach(family, nextHop, values, session), prefixes, session);
}

/** UPDATEs that withdraw `prefixes`, packed likewise. */
export function encodeWithdrawals(
  family: IpFamily,
  prefixes: Iterable<Prefix>,
  session: SessionParameters,
): Generator<PackedUpdate> {
  return pack(family === 'IPv4' ? withdrawInField() : withdrawByMpUnreach(family), prefixes, session);
}

/** What stands around the prefixes of an UPDATE, and the length fields that depend on them. */
interface Envelope {
  /** From behind the header. */
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
  /** Offsets in the head of length fields of two octets, with what each counts besides the prefixes. */
  readonly lengths: readonly { readonly offset: number; readonly besides: number }[];
}

const NOTHING = new Uint8Array();
/** One octet of length and an IPv6 address. */
const LARGEST_PREFIX = 17;

function announceInField(values: AttributeValues, session: SessionParameters): Envelope {
  const list = encodeAttributes(values, session);
  const head = new Writer().u16(0).u16(list.length).bytes(list).finish();
  return { head, tail: NOTHING, lengths: [] };
}

function withdrawInField(): Envelope {
  return { head: new Uint8Array(2), tail: new Uint8Array(2), lengths: [{ offset: 0, besides: 0 }] };
}

function announceByMpReach(
  family: IpFamily,
  nextHop: NextHop,
  values: AttributeValues,
  session: SessionParameters,
): Envelope {
  const mpHead = writeMpReachHead(family, nextHop, session).finish();
  return multiprotocol(AttributeType.MP_REACH_NLRI, mpHead, encodeAttributes(values, session));
}

function withdrawByMpUnreach(family: IpFamily): Envelope {
  return multiprotocol(AttributeType.MP_UNREACH_NLRI, writeMpUnreachHead(family).finish(), NOTHING);
}

/** No withdrawn routes, the multiprotocol attribute (its length always in two octets), then the others. */
function multiprotocol(type: number, mpHead: Uint8Array, others: Uint8Array): Envelope {
  const head = new Writer()
    .u16(0)
    .u16(0)
    .u8(AttributeFlag.OPTIONAL | AttributeFlag.EXTENDED_LENGTH)
    .u8(type)
    .u16(0)
    .bytes(mpHead)
    .finish();
  const lengths = [
    { offset: 2, besides: 4 + mpHead.length + others.length },
    { offset: 6, besides: mpHead.length },
  ];
  return { head, tail: others, lengths };
}

function* pack(envelope: Envelope, prefixes: Iterable<Prefix>, session: SessionParameters): Generator<PackedUpdate> {
  const { head, tail } = envelope;
  const start = HEADER_LENGTH + head.length;
  const scratch = new Uint8Array(maxMessageLength(session));
  const end = scratch.length - tail.length;
  if (start + LARGEST_PREFIX > end) throw new RangeError('the attributes leave no room for a prefix');
  scratch.set(head, HEADER_LENGTH);

  let offset = start;
  let count = 0;
  for (const prefix of prefixes) {
    if (offset + prefixSize(prefix) > end) {
      yield { bytes: seal(scratch, offset, start, envelope), count };
      offset = start;
      count = 0;
    }
    offset = writePrefix(prefix, scratch, offset);
    count++;
  }
  if (count > 0) yield { bytes: seal(scratch, offset, start, envelope), count };
}

/** A copy of the message in `scratch` whose prefixes stand from `start` to `offset`. */
function seal(scratch: Uint8Array, offset: number, start: number, { tail, lengths }: Envelope): Uint8Array {
  const message = new Uint8Array(offset + tail.length);
  message.set(scratch.subarray(0, offset));
  message.set(tail, offset);
  writeHeader(message, MessageType.UPDATE, message.length);
  for (const field of lengths) {
    const length = offset - start + field.besides;
    message[HEADER_LENGTH + field.offset] = length >>> 8;
    message[HEADER_LENGTH + field.offset + 1] = length & 0xff;
  }
  return message;
}
