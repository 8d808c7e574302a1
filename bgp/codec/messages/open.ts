import { Cursor, Writer } from '../../../net/cursor.ts';
import { type IpV4, ipFromBytes, ipToBytes, UNSPECIFIED_V4 } from '../../../net/ip.ts';
import { twoOctetAs } from '../attributes/as-path.ts';
import { splitCapabilities } from '../capabilities/list.ts';
import { decodeCapability, type MalformedCapability, writeCapability } from '../capabilities/table.ts';
import { BGP_VERSION, HEADER_LENGTH, MAX_MESSAGE_LENGTH, MessageType, ParameterType } from '../constants.ts';
import { type Decoded, type DecodeError, resetBy } from '../errors.ts';
import type { Capability, Open } from '../types.ts';
import type { MessageCodec } from './message.ts';

/** Version, AS number, hold time, identifier and the length of optional parameters. */
const FIXED_LENGTH = 10;

/** RFC 4271 section 4.2; never longer than 4,096 octets (RFC 8654 section 4). */
export const open: MessageCodec<Open> = {
  type: MessageType.OPEN,
  minimum: HEADER_LENGTH + FIXED_LENGTH,
  maximum: MAX_MESSAGE_LENGTH,
  decode,
  encode,
};

/** Checks what can be told without our configuration; `checkOpen` of `negotiate.ts` does the rest. */
function decode(body: Uint8Array): Decoded {
  const cursor = new Cursor(body);
  const version = cursor.u8() as number;
  if (version !== BGP_VERSION) return resetBy([{ kind: 'unsupported-version', version }]);
  const fieldAsn = cursor.u16() as number;
  const holdTime = cursor.u16() as number;
  const identifier = ipFromBytes(cursor.bytes(4) as Uint8Array) as IpV4;

  const errors: MalformedCapability[] = [];
  const capabilities: Capability[] = [];
  for (const raw of splitCapabilities(cursor.u8() as number, cursor.rest())) {
    if (raw.problem !== undefined) return resetBy([...errors, raw.problem]);
    const { capability, error } = decodeCapability(raw.ok.code, raw.ok.value);
    capabilities.push(capability);
    // One error a code: an OPEN has room for two thousand.
    if (error !== undefined && !errors.some((known) => known.code === error.code)) errors.push(error);
  }

  const asn = capabilities.find((c) => c.kind === 'four-octet-as')?.asn ?? fieldAsn;
  const message: Open = { type: 'OPEN', asn, holdTime, identifier, capabilities };
  const unacceptable = checkFields(message, fieldAsn);
  return unacceptable === undefined ? { outcome: 'message', message, errors } : resetBy([...errors, unacceptable]);
}

function checkFields({ asn, holdTime, identifier }: Open, fieldAsn: number): DecodeError | undefined {
  // RFC 7607 section 2.
  if (asn === 0 || fieldAsn === 0) return { kind: 'bad-peer-as', asn: 0 };
  // RFC 6286 section 2.1: any value but zero.
  if (identifier === UNSPECIFIED_V4) return { kind: 'bad-bgp-identifier', detail: 'it is zero' };
  // RFC 4271 section 4.2: zero or at least three seconds.
  if (holdTime === 1 || holdTime === 2) return { kind: 'unacceptable-hold-time', seconds: holdTime };
  return undefined;
}

/** All capabilities in one parameter; the extended form (RFC 9072) only where the plain one cannot hold them. */
function encode({ asn, holdTime, identifier, capabilities }: Open): Uint8Array {
  const list = new Writer();
  for (const capability of capabilities) writeCapability(list, capability);
  const out = new Writer(FIXED_LENGTH + list.length + 8)
    .u8(BGP_VERSION)
    .u16(twoOctetAs(asn))
    .u16(holdTime)
    .bytes(ipToBytes(identifier));
  writeParameterHead(out, list.length);
  return out.bytes(list.finish()).finish();
}

/** All that stands before capabilities of `length` octets. */
function writeParameterHead(out: Writer, length: number): void {
  const { CAPABILITIES, EXTENDED_LENGTH } = ParameterType;
  if (length === 0) out.u8(0);
  else if (length + 2 <= 0xff)
    out
      .u8(length + 2)
      .u8(CAPABILITIES)
      .u8(length);
  else
    out
      .u8(0xff)
      .u8(EXTENDED_LENGTH)
      .u16(length + 3)
      .u8(CAPABILITIES)
      .u16(length);
}
