import { Cursor, Writer } from '../../../net/cursor.ts';
import { type IpFamily, type IpV4, isV4 } from '../../../net/ip.ts';
import { addAs4, mergeAs4 } from '../attributes/as4.ts';
import { attributeName, decodeAttributes, encodeAttributes } from '../attributes/list.ts';
import { unusableNextHop } from '../attributes/next-hop.ts';
import { leak } from '../attributes/only-to-customer.ts';
import type { AttributeValues } from '../attributes/table.ts';
import { AttributeType, HEADER_LENGTH, MessageType } from '../constants.ts';
import { type Decoded, type DecodeError, resetBy, strongestReaction } from '../errors.ts';
import { afiSafiOf } from '../families.ts';
import { joinNlri, scanNlri } from '../nlri.ts';
import type {
  AfiSafi,
  Announcement,
  AsPathSegment,
  Nlri,
  PathAttributes,
  SessionParameters,
  Update,
} from '../types.ts';
import type { MessageCodec } from './message.ts';

/** RFC 4271 section 4.3; errors: RFC 7606. */
export const update: MessageCodec<Update> = {
  type: MessageType.UPDATE,
  minimum: HEADER_LENGTH + 4,
  decode,
  encode,
};

/** The fields of the body, each found by the lengths of the message alone (RFC 7606 section 4). */
export interface UpdateFields {
  readonly withdrawn: Uint8Array;
  readonly attributes: Uint8Array;
  readonly nlri: Uint8Array;
}

export function splitUpdate(body: Uint8Array): UpdateFields | undefined {
  const cursor = new Cursor(body);
  const withdrawn = sized(cursor);
  const attributes = withdrawn && sized(cursor);
  return attributes && { withdrawn, attributes, nlri: cursor.rest() };
}

function sized(cursor: Cursor): Uint8Array | undefined {
  const length = cursor.u16();
  return length === undefined ? undefined : cursor.bytes(length);
}

function decode(body: Uint8Array, session: SessionParameters): Decoded {
  const fields = splitUpdate(body);
  if (fields === undefined) {
    return resetBy([{ kind: 'malformed-attribute-list', detail: 'a length field exceeds the message' }]);
  }
  const { values, types, errors: attributeErrors } = decodeAttributes(fields.attributes, session);
  const routes = readRoutes(fields, values, session);
  const attributes = sharedAttributes(values);
  const errors = [...routes.errors, ...attributeErrors, ...checkRoutes(routes, types, attributes, values, session)];
  const reaction = strongestReaction(errors).kind;

  // RFC 7606 section 5.2: attributes in error and no reachable route leave a doubt whether all routes were found.
  const carriesAttributes = types.some((type) => type !== AttributeType.MP_UNREACH_NLRI);
  if (reaction === 'treat-as-withdraw' && carriesAttributes && !routes.reachable) {
    errors.push({ kind: 'malformed-attribute-list', detail: 'attributes in error come without a reachable route' });
    return resetBy(errors);
  }
  if (reaction === 'session-reset') return resetBy(errors);
  const message = reaction === 'treat-as-withdraw' ? allWithdrawn(routes) : announcing(routes, attributes, values);
  return { outcome: 'message', message, errors };
}

interface Routes {
  readonly withdrawn: readonly Nlri[];
  /** Of the NLRI field: its next hop is the attribute NEXT_HOP. */
  readonly field: readonly Nlri[];
  readonly multiprotocol: readonly Announcement[];
  /** Routes are announced, perhaps of a family that we do not read. */
  readonly reachable: boolean;
  readonly errors: readonly DecodeError[];
}

function readRoutes(fields: UpdateFields, values: AttributeValues, session: SessionParameters): Routes {
  const errors: DecodeError[] = [];
  const { mpReach, mpUnreach } = values;
  const withdrawn = readIpv4(fields.withdrawn, session, errors);
  const field = readIpv4(fields.nlri, session, errors);
  const multiprotocol: Announcement[] = [];

  if (mpReach !== undefined && 'unread' in mpReach) errors.push(notNegotiated(mpReach.unread));
  else if (mpReach !== undefined && mpReach.nlri.count > 0) multiprotocol.push(mpReach);
  if (mpUnreach !== undefined && 'unread' in mpUnreach) errors.push(notNegotiated(mpUnreach.unread));
  else if (mpUnreach !== undefined) withdrawn.push(mpUnreach);

  // RFC 4724 section 2: the message of minimum length is the End-of-RIB of IPv4.
  const empty = fields.withdrawn.length + fields.attributes.length + fields.nlri.length === 0;
  if (empty) withdrawn.push({ family: 'IPv4', count: 0, bytes: fields.nlri });
  const reachable =
    fields.nlri.length > 0 || multiprotocol.length > 0 || (mpReach !== undefined && 'unread' in mpReach);
  return { withdrawn, field, multiprotocol, reachable, errors };
}

function readIpv4(bytes: Uint8Array, { families }: SessionParameters, errors: DecodeError[]): Nlri[] {
  if (bytes.length === 0) return [];
  const nlri = scanNlri('IPv4', bytes);
  if (nlri.problem !== undefined) errors.push({ kind: 'invalid-network-field', detail: nlri.problem });
  else if (families.includes('IPv4')) return [nlri.ok];
  else errors.push(notNegotiated(afiSafiOf('IPv4')));
  return [];
}

function notNegotiated(family: AfiSafi): DecodeError {
  return { kind: 'family-not-negotiated', ...family };
}

function allWithdrawn({ withdrawn, field, multiprotocol }: Routes): Update {
  const announced = [...field, ...multiprotocol.map(({ nlri }) => nlri)];
  return { type: 'UPDATE', withdrawn: [...withdrawn, ...announced], announced: [], attributes: {} };
}

function announcing(
  { withdrawn, field, multiprotocol }: Routes,
  attributes: PathAttributes,
  { nextHop }: AttributeValues,
): Update {
  const classic = nextHop === undefined ? [] : field.map((nlri) => ({ nlri, nextHop: { address: nextHop } }));
  return { type: 'UPDATE', withdrawn, announced: [...classic, ...multiprotocol], attributes };
}

const ROUTE_KEYS: ReadonlySet<string> = new Set([
  'nextHop',
  'mpReach',
  'mpUnreach',
  'asPath',
  'as4Path',
  'aggregator',
  'as4Aggregator',
]);

function sharedAttributes(values: AttributeValues): PathAttributes {
  const shared = Object.entries(values).filter(([key]) => !ROUTE_KEYS.has(key));
  return { ...(Object.fromEntries(shared) as PathAttributes), ...mergeAs4(values) };
}

/** What only shows when the whole UPDATE is known. */
function checkRoutes(
  { field, multiprotocol }: Routes,
  types: readonly number[],
  { asPath, onlyToCustomer }: PathAttributes,
  { nextHop }: AttributeValues,
  session: SessionParameters,
): readonly DecodeError[] {
  if (field.length + multiprotocol.length === 0) return [];
  const errors: DecodeError[] = [];
  // RFC 7606 section 3 (d); LOCAL_PREF: RFC 4271 section 5.1.5.
  const demand = (type: number): void => {
    if (!types.includes(type)) errors.push({ kind: 'missing-well-known-attribute', name: attributeName(type) });
  };
  demand(AttributeType.ORIGIN);
  demand(AttributeType.AS_PATH);
  if (field.length > 0) demand(AttributeType.NEXT_HOP);
  if (session.peering === 'internal') demand(AttributeType.LOCAL_PREF);

  const nextHops = [
    ...(field.length > 0 && nextHop !== undefined ? [nextHop] : []),
    ...multiprotocol.map((a) => a.nextHop.address),
  ];
  for (const address of nextHops) {
    const detail = unusableNextHop(address);
    if (detail !== undefined) errors.push({ kind: 'unusable-next-hop', detail });
  }
  const stranger = asPath && firstAsProblem(asPath, session);
  if (stranger !== undefined) {
    errors.push({ kind: 'malformed-attribute', name: 'AS_PATH', detail: stranger, reaction: 'treat-as-withdraw' });
  }
  const leaked = leak(onlyToCustomer, session);
  if (leaked !== undefined) errors.push({ kind: 'route-leak', detail: leaked });
  return errors;
}

/** RFC 4271 section 6.3; a route server does not put its own AS number in front (RFC 7947 section 2.2.2.1). */
function firstAsProblem(path: readonly AsPathSegment[], session: SessionParameters): string | undefined {
  if (session.peering === 'internal' || session.role === 'route-server-client') return undefined;
  const [first] = path;
  return first?.kind === 'AS_SEQUENCE' && first.asns[0] === session.peerAsn
    ? undefined
    : `it does not begin with the peer's AS ${session.peerAsn}`;
}

/** IPv4 routes with an IPv4 next hop go into the fields of RFC 4271, all else into MP_REACH_NLRI. */
function encode({ withdrawn, announced, attributes }: Update, session: SessionParameters): Uint8Array {
  const classic = announced.find(({ nlri, nextHop }) => nlri.family === 'IPv4' && isV4(nextHop.address));
  const [mpReach, ...more] = announced.filter((announcement) => announcement !== classic);
  if (more.length > 0) throw new RangeError(`${announced.length} next hops do not fit in one UPDATE`);
  const v6 = withdrawn.filter(({ family }) => family === 'IPv6');
  const v4 = withdrawn.filter(({ family }) => family === 'IPv4');
  const list = encodeAttributes(
    {
      ...addAs4(attributes, session),
      ...(mpReach === undefined ? {} : { mpReach }),
      ...(v6.length === 0 ? {} : { mpUnreach: joinNlri('IPv6', v6) }),
      ...(classic === undefined ? {} : { nextHop: classic.nextHop.address as IpV4 }),
    },
    session,
  );
  const gone = joinNlri('IPv4', v4).bytes;
  const out = new Writer(4 + gone.length + list.length).u16(gone.length).bytes(gone).u16(list.length).bytes(list);
  return out.bytes(classic?.nlri.bytes ?? new Uint8Array()).finish();
}

/** RFC 4724 section 2. */
export function endOfRibUpdate(family: IpFamily): Update {
  const nothing: Nlri = { family, count: 0, bytes: new Uint8Array() };
  return { type: 'UPDATE', withdrawn: [nothing], announced: [], attributes: {} };
}

/** The family whose initial routes are complete, where the UPDATE says nothing else (RFC 4724 section 2). */
export function endOfRib({ withdrawn, announced, attributes }: Update): IpFamily | undefined {
  const [only, ...more] = withdrawn;
  const alone = more.length === 0 && announced.length === 0 && Object.keys(attributes).length === 0;
  return alone && only?.count === 0 ? only.family : undefined;
}
