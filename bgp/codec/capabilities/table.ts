import { Cursor, type Writer } from '../../../net/cursor.ts';
import { CapabilityCode } from '../constants.ts';
import type { DecodeError } from '../errors.ts';
import type { Capability } from '../types.ts';
import {
  type CapabilityCodec,
  type CapabilityKind,
  type CapabilityOf,
  flagCapability,
  type KnownCapability,
} from './capability.ts';
import { extendedNextHop } from './extended-next-hop.ts';
import { fourOctetAs } from './four-octet-as.ts';
import { gracefulRestart } from './graceful-restart.ts';
import { multiprotocol } from './multiprotocol.ts';
import { role } from './role.ts';

export const CAPABILITIES: { readonly [K in CapabilityKind]: CapabilityCodec<CapabilityOf<K>> } = {
  multiprotocol,
  'route-refresh': flagCapability(CapabilityCode.ROUTE_REFRESH, { kind: 'route-refresh' }),
  'extended-next-hop': extendedNextHop,
  'extended-message': flagCapability(CapabilityCode.EXTENDED_MESSAGE, { kind: 'extended-message' }),
  role,
  'graceful-restart': gracefulRestart,
  'four-octet-as': fourOctetAs,
  'enhanced-route-refresh': flagCapability(CapabilityCode.ENHANCED_ROUTE_REFRESH, { kind: 'enhanced-route-refresh' }),
};

type AnyCodec = CapabilityCodec<KnownCapability>;

const BY_CODE: ReadonlyMap<number, AnyCodec> = new Map(
  Object.values(CAPABILITIES).map((codec) => [codec.code, codec as unknown as AnyCodec]),
);

export type MalformedCapability = Extract<DecodeError, { readonly kind: 'malformed-capability' }>;

export interface DecodedCapability {
  readonly capability: Capability;
  readonly error?: MalformedCapability;
}

/** A capability that is not understood, or malformed, is kept as it came and has no effect (RFC 5492 section 3). */
export function decodeCapability(code: number, bytes: Uint8Array): DecodedCapability {
  const decoded = BY_CODE.get(code)?.decode(new Cursor(bytes));
  if (decoded?.ok !== undefined) return { capability: decoded.ok };
  // A copy: an OPEN outlives the buffer that it came in.
  const capability: Capability = { kind: 'unknown', code, value: bytes.slice() };
  if (decoded === undefined) return { capability };
  return { capability, error: { kind: 'malformed-capability', code, detail: decoded.problem } };
}

/** Code, length and value (RFC 5492 section 4). */
export function writeCapability(out: Writer, capability: Capability): void {
  const [code, value] = capability.kind === 'unknown' ? [capability.code, capability.value] : encodeKnown(capability);
  if (value.length > 0xff) throw new RangeError(`capability ${code} has ${value.length} octets`);
  out.u8(code).u8(value.length).bytes(value);
}

function encodeKnown(capability: KnownCapability): [number, Uint8Array] {
  const codec = CAPABILITIES[capability.kind] as unknown as AnyCodec;
  return [codec.code, codec.encode(capability)];
}
