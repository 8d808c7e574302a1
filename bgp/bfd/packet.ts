import { Cursor, Writer } from '../../net/cursor.ts';
import { ok, type Result } from '../../net/result.ts';
import { type Diagnostic, SESSION_STATES, type SessionState, VERSION } from './constants.ts';

/** The mandatory section of a BFD Control packet (RFC 5880 section 4.1). Intervals are microseconds. */
export interface ControlPacket {
  readonly diagnostic: Diagnostic;
  readonly state: SessionState;
  readonly poll: boolean;
  readonly final: boolean;
  /** C: the sender's BFD outlives its control plane. */
  readonly controlPlaneIndependent: boolean;
  /** A: an authentication section follows; its type, or undefined where there is none. */
  readonly authenticationType?: number;
  readonly demand: boolean;
  readonly detectMultiplier: number;
  /** Never zero in a packet that `decodeControlPacket` let through. */
  readonly myDiscriminator: number;
  readonly yourDiscriminator: number;
  readonly desiredMinTx: number;
  readonly requiredMinRx: number;
  readonly requiredMinEchoRx: number;
}

/** Why a packet was discarded, in the order of RFC 5880 section 6.8.6. */
export type Discard =
  | 'bad-version'
  | 'too-short'
  | 'longer-than-payload'
  | 'zero-detect-multiplier'
  | 'multipoint'
  | 'zero-my-discriminator'
  | 'unknown-discriminator'
  | 'zero-your-discriminator'
  | 'no-session'
  | 'wrong-port'
  | 'authentication'
  | 'administratively-down';

const MANDATORY_LENGTH = 24;
/** With the type and length of an authentication section. */
const AUTHENTICATED_LENGTH = 26;

const FLAG = {
  POLL: 0x20,
  FINAL: 0x10,
  CONTROL_PLANE_INDEPENDENT: 0x08,
  AUTHENTICATION_PRESENT: 0x04,
  DEMAND: 0x02,
  MULTIPOINT: 0x01,
} as const;

/** The checks of RFC 5880 section 6.8.6 that need no session, in their order. Bytes beyond Length are ignored. */
export function decodeControlPacket(payload: Uint8Array): Result<ControlPacket, Discard> {
  const cursor = new Cursor(payload);
  const [first, flags, detectMultiplier, length] = [cursor.u8(), cursor.u8(), cursor.u8(), cursor.u8()];
  if (first === undefined || flags === undefined || detectMultiplier === undefined || length === undefined) {
    return discard('too-short');
  }
  const authenticated = (flags & FLAG.AUTHENTICATION_PRESENT) !== 0;
  if (first >>> 5 !== VERSION) return discard('bad-version');
  if (length < (authenticated ? AUTHENTICATED_LENGTH : MANDATORY_LENGTH)) return discard('too-short');
  if (length > payload.length) return discard('longer-than-payload');
  if (detectMultiplier === 0) return discard('zero-detect-multiplier');
  if (flags & FLAG.MULTIPOINT) return discard('multipoint');
  const u32 = () => cursor.u32() ?? 0;
  const packet: ControlPacket = {
    diagnostic: first & 0x1f,
    state: SESSION_STATES[flags >>> 6] as SessionState,
    poll: (flags & FLAG.POLL) !== 0,
    final: (flags & FLAG.FINAL) !== 0,
    controlPlaneIndependent: (flags & FLAG.CONTROL_PLANE_INDEPENDENT) !== 0,
    demand: (flags & FLAG.DEMAND) !== 0,
    detectMultiplier,
    myDiscriminator: u32(),
    yourDiscriminator: u32(),
    desiredMinTx: u32(),
    requiredMinRx: u32(),
    requiredMinEchoRx: u32(),
    ...(authenticated ? { authenticationType: cursor.u8() ?? 0 } : {}),
  };
  return packet.myDiscriminator === 0 ? discard('zero-my-discriminator') : ok(packet);
}

/** 24 bytes: we send no authentication section. */
export function encodeControlPacket(packet: ControlPacket): Uint8Array {
  const flags =
    (SESSION_STATES.indexOf(packet.state) << 6) |
    (packet.poll ? FLAG.POLL : 0) |
    (packet.final ? FLAG.FINAL : 0) |
    (packet.controlPlaneIndependent ? FLAG.CONTROL_PLANE_INDEPENDENT : 0) |
    (packet.demand ? FLAG.DEMAND : 0);
  return new Writer(MANDATORY_LENGTH)
    .u8((VERSION << 5) | packet.diagnostic)
    .u8(flags)
    .u8(packet.detectMultiplier)
    .u8(MANDATORY_LENGTH)
    .u32(packet.myDiscriminator)
    .u32(packet.yourDiscriminator)
    .u32(packet.desiredMinTx)
    .u32(packet.requiredMinRx)
    .u32(packet.requiredMinEchoRx)
    .finish();
}

function discard(reason: Discard): { readonly ok?: undefined; readonly problem: Discard } {
  return { problem: reason };
}
