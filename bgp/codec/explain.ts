import { Cursor } from '../../net/cursor.ts';
import { ipFromBytes } from '../../net/ip.ts';
import { asPath } from './attributes/as-path.ts';
import { attributeName, splitAttributes } from './attributes/list.ts';
import { type AttributeKey, type AttributeValues, recognize } from './attributes/table.ts';
import { splitCapabilities } from './capabilities/list.ts';
import { decodeCapability } from './capabilities/table.ts';
import { formatCommunity } from './communities.ts';
import { AttributeFlag, AttributeType, HEADER_LENGTH, MessageType } from './constants.ts';
import { type Decoded, describeError, reactionTo, strongestReaction } from './errors.ts';
import { readHeader } from './header.ts';
import { decodeMessage } from './messages/table.ts';
import { endOfRib, splitUpdate } from './messages/update.ts';
import { UNNEGOTIATED } from './negotiate.ts';
import { prefixesOf, scanNlri } from './nlri.ts';
import type { AfiSafi, NextHop, Nlri, SessionParameters } from './types.ts';
import {
  describeCapability,
  describeFamily,
  describeNotification,
  describeReaction,
  formatAsPath,
  hex,
  messageTypeName,
} from './words.ts';

export interface ExplainedField {
  /** From the beginning of the bytes given. */
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly name: string;
  readonly value: string;
}

export interface ExplainedMessage {
  /** `UPDATE`, or what it is instead. */
  readonly title: string;
  readonly fields: readonly ExplainedField[];
  /** Each defect with what it causes alone. */
  readonly errors: readonly { readonly text: string; readonly reaction: string }[];
  /** What a session does with the whole message. */
  readonly reaction: string;
}

/** What the bytes do not tell of the session that they belong to. */
export type Assumptions = Partial<SessionParameters>;

/**
 * Explains messages one behind the other, field by field, as they are read in a session that negotiated all
 * that this library speaks. Unless told otherwise the peer is external and its AS number is that of its OPEN
 * or the first of the AS_PATH. Ends with the first message that resets the session by its header.
 */
export function explain(bytes: Uint8Array, assumptions: Assumptions = {}): readonly ExplainedMessage[] {
  const messages: ExplainedMessage[] = [];
  let known = assumptions;
  for (let offset = 0; offset < bytes.length; ) {
    const rest = bytes.subarray(offset);
    if (rest.length < HEADER_LENGTH) return [...messages, cutShort(offset, rest, HEADER_LENGTH)];
    const header = readHeader(rest);
    const length = header.synchronized ? Math.max(HEADER_LENGTH, header.length) : HEADER_LENGTH;
    if (rest.length < length) return [...messages, cutShort(offset, rest, length)];
    const message = rest.subarray(0, length);
    const session = assume(message, header.type, known);
    const decoded = decodeMessage(message, session);
    if (decoded.outcome === 'message' && decoded.message.type === 'OPEN') {
      known = { peerAsn: decoded.message.asn, ...assumptions };
    }
    messages.push(explainMessage(offset, message, decoded, session));
    if (decoded.errors.some(({ kind }) => kind === 'connection-not-synchronized' || kind === 'bad-message-length')) {
      return messages;
    }
    offset += length;
  }
  return messages;
}

const WAITS = 'the session waits for the rest until its hold timer expires';

function cutShort(offset: number, bytes: Uint8Array, expected: number): ExplainedMessage {
  return {
    title: 'incomplete message',
    fields: [{ offset, bytes, name: 'octets', value: `${bytes.length} of ${expected}` }],
    errors: [{ text: 'the message is cut short', reaction: WAITS }],
    reaction: WAITS,
  };
}

/** RFC 4271 section 4.2: an OPEN is read before anything is negotiated. */
function assume(message: Uint8Array, type: number, known: Assumptions): SessionParameters {
  if (type === MessageType.OPEN) return UNNEGOTIATED;
  const session: SessionParameters = {
    fourOctetAs: true,
    extendedMessage: true,
    families: ['IPv4', 'IPv6'],
    extendedNextHop: true,
    enhancedRouteRefresh: true,
    peering: 'external',
    peerAsn: 0,
    ...known,
  };
  return known.peerAsn === undefined ? { ...session, peerAsn: firstAsn(message, session) ?? 0 } : session;
}

function firstAsn(message: Uint8Array, session: SessionParameters): number | undefined {
  const attributes = splitUpdate(message.subarray(HEADER_LENGTH))?.attributes ?? new Uint8Array();
  const raw = [...splitAttributes(attributes)].find(({ type }) => type === AttributeType.AS_PATH);
  return raw && asPath.decode(new Cursor(raw.value), session).ok?.[0]?.asns[0];
}

function explainMessage(
  offset: number,
  message: Uint8Array,
  decoded: Decoded,
  session: SessionParameters,
): ExplainedMessage {
  const { type } = readHeader(message);
  const at = (name: string, bytes: Uint8Array, value: string): ExplainedField => ({
    offset: offset + bytes.byteOffset - message.byteOffset,
    bytes,
    name,
    value,
  });
  const name = messageTypeName(type) ?? `type ${type}`;
  const header = [
    at('marker', message.subarray(0, 16), ''),
    at('length', message.subarray(16, 18), String(readHeader(message).length)),
    at('type', message.subarray(18, 19), name),
  ];
  const errors = decoded.errors.map((error) => ({
    text: describeError(error),
    reaction: describeReaction(reactionTo(error)),
  }));
  const body = explainBody(type, message.subarray(HEADER_LENGTH), session, at);
  return { title: name, fields: [...header, ...body], errors, reaction: reactionOf(decoded) };
}

function reactionOf(decoded: Decoded): string {
  if (decoded.outcome === 'ignore') return 'it is passed over';
  if (decoded.outcome === 'session-reset') return describeReaction(strongestReaction(decoded.errors));
  const { message } = decoded;
  if (message.type === 'NOTIFICATION') return 'the session ends';
  const reaction = strongestReaction(decoded.errors);
  if (reaction.kind !== 'ignore') return describeReaction(reaction);
  const complete = message.type === 'UPDATE' ? endOfRib(message) : undefined;
  return complete === undefined ? 'accepted' : `accepted: End-of-RIB of ${complete}`;
}

type FieldMaker = (name: string, bytes: Uint8Array, value: string) => ExplainedField;

function explainBody(type: number, body: Uint8Array, session: SessionParameters, at: FieldMaker): ExplainedField[] {
  switch (type) {
    case MessageType.OPEN:
      return explainOpen(body, at);
    case MessageType.UPDATE:
      return explainUpdate(body, session, at);
    case MessageType.NOTIFICATION:
      return explainNotification(body, at);
    case MessageType['ROUTE-REFRESH']:
      return explainRouteRefresh(body, at);
    default:
      return body.length === 0 ? [] : [at('body', body, '')];
  }
}

function explainOpen(body: Uint8Array, at: FieldMaker): ExplainedField[] {
  if (body.length < 10) return [at('body', body, 'too short')];
  const view = new DataView(body.buffer, body.byteOffset, body.length);
  const announced = view.getUint8(9);
  const fields = [
    at('version', body.subarray(0, 1), String(view.getUint8(0))),
    at('my AS', body.subarray(1, 3), String(view.getUint16(1))),
    at('hold time', body.subarray(3, 5), `${view.getUint16(3)} s`),
    at('BGP identifier', body.subarray(5, 9), ipFromBytes(body.subarray(5, 9))),
    at('optional parameters length', body.subarray(9, 10), String(announced)),
  ];
  for (const raw of splitCapabilities(announced, body.subarray(10))) {
    if (raw.problem !== undefined)
      return [...fields, at('optional parameters', body.subarray(10), describeError(raw.problem))];
    const { capability, error } = decodeCapability(raw.ok.code, raw.ok.value);
    const value = error === undefined ? describeCapability(capability) : describeError(error);
    fields.push(at(`capability ${raw.ok.code}`, raw.ok.value, value));
  }
  return fields;
}

function explainUpdate(body: Uint8Array, session: SessionParameters, at: FieldMaker): ExplainedField[] {
  const parts = splitUpdate(body);
  if (parts === undefined) return [at('body', body, 'a length field exceeds the message')];
  const { withdrawn, attributes, nlri } = parts;
  const behind = 2 + withdrawn.length;
  const fields = [at('withdrawn routes length', body.subarray(0, 2), String(withdrawn.length))];
  if (withdrawn.length > 0) fields.push(at('withdrawn routes', withdrawn, describeRoutes(withdrawn)));
  fields.push(at('total path attribute length', body.subarray(behind, behind + 2), String(attributes.length)));

  const list = splitAttributes(attributes);
  let covered = 0;
  let next = list.next();
  for (; next.done !== true; next = list.next()) {
    const { flags, type, value, whole } = next.value;
    covered += whole.length;
    fields.push(at(attributeName(type), whole, `${describeAttribute(type, value, session)} [${describeFlags(flags)}]`));
  }
  if (next.value !== undefined) fields.push(at('path attributes', attributes.subarray(covered), next.value));
  if (nlri.length > 0) fields.push(at('NLRI', nlri, describeRoutes(nlri)));
  return fields;
}

function describeRoutes(bytes: Uint8Array): string {
  const nlri = scanNlri('IPv4', bytes);
  return nlri.problem ?? describeNlri(nlri.ok);
}

function describeNlri(nlri: Nlri): string {
  return [...prefixesOf(nlri)].join(' ') || 'no routes';
}

function describeFlags(flags: number): string {
  const names = [
    [AttributeFlag.OPTIONAL, 'optional'],
    [AttributeFlag.TRANSITIVE, 'transitive'],
    [AttributeFlag.PARTIAL, 'partial'],
    [AttributeFlag.EXTENDED_LENGTH, 'extended length'],
  ] as const;
  return names.flatMap(([flag, name]) => ((flags & flag) === 0 ? [] : [name])).join(', ') || 'no flags';
}

type Describe = { readonly [K in AttributeKey]-?: (value: NonNullable<AttributeValues[K]>) => string };

const DESCRIBE: Describe = {
  origin: (value) => value,
  asPath: formatAsPath,
  as4Path: formatAsPath,
  nextHop: (value) => value,
  med: String,
  localPreference: String,
  atomicAggregate: () => 'present',
  aggregator: ({ asn, address }) => `AS ${asn}, ${address}`,
  as4Aggregator: ({ asn, address }) => `AS ${asn}, ${address}`,
  communities: (values) => values.map((value) => formatCommunity({ kind: 'standard', value })).join(' '),
  extendedCommunities: (values) => values.map((value) => formatCommunity({ kind: 'extended', value })).join(' '),
  largeCommunities: (values) => values.map((value) => formatCommunity({ kind: 'large', value })).join(' '),
  onlyToCustomer: (value) => `AS ${value}`,
  mpReach: (value) =>
    'unread' in value
      ? notRead(value.unread)
      : `${value.nlri.family} unicast, next hop ${describeNextHop(value.nextHop)}, ${describeNlri(value.nlri)}`,
  mpUnreach: (value) => ('unread' in value ? notRead(value.unread) : `${value.family} unicast, ${describeNlri(value)}`),
};

function notRead(family: AfiSafi): string {
  return `${describeFamily(family)}, which is not read`;
}

function describeNextHop({ address, linkLocal }: NextHop): string {
  return linkLocal === undefined ? address : `${address} and ${linkLocal}`;
}

function describeAttribute(type: number, value: Uint8Array, session: SessionParameters): string {
  const recognized = recognize(type);
  if (recognized?.key === undefined) return value.length === 0 ? 'no value' : 'not read';
  const { key, rule } = recognized;
  const decoded = rule.decode(new Cursor(value), session);
  return decoded.problem ?? (DESCRIBE[key] as (value: unknown) => string)(decoded.ok);
}

function explainNotification(body: Uint8Array, at: FieldMaker): ExplainedField[] {
  const [code, subcode] = body;
  if (code === undefined || subcode === undefined) return [at('body', body, 'too short')];
  const data = body.subarray(2);
  const words = describeNotification({ type: 'NOTIFICATION', code, subcode, data });
  const fields = [at('error', body.subarray(0, 2), words)];
  return data.length === 0 ? fields : [...fields, at('data', data, hex(data))];
}

function explainRouteRefresh(body: Uint8Array, at: FieldMaker): ExplainedField[] {
  if (body.length !== 4) return [at('body', body, `${body.length} octets, not 4`)];
  const view = new DataView(body.buffer, body.byteOffset, 4);
  const subtype = view.getUint8(2);
  const family = { afi: view.getUint16(0), safi: view.getUint8(3) };
  return [
    at('family', body, describeFamily(family)),
    at('subtype', body.subarray(2, 3), ['request', 'begin of refresh', 'end of refresh'][subtype] ?? String(subtype)),
  ];
}
