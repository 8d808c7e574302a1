import { type Cursor, Writer } from '../../../net/cursor.ts';
import { type IpV4, ipFromBytes, ipToBytes } from '../../../net/ip.ts';
import type { Result } from '../../../net/result.ts';
import { AttributeFlag, AttributeType } from '../constants.ts';
import type { Aggregator } from '../types.ts';
import { twoOctetAs } from './as-path.ts';
import type { AttributeCodec } from './attribute.ts';

/** RFC 4271 section 4.3 (g); RFC 7606 section 7.7; AS 0: RFC 7607 section 2. */
export const aggregator: AttributeCodec<Aggregator> = {
  type: AttributeType.AGGREGATOR,
  name: 'AGGREGATOR',
  flags: AttributeFlag.OPTIONAL | AttributeFlag.TRANSITIVE,
  malformed: 'attribute-discard',
  decode: (value, session) => read(value, session.fourOctetAs ? 4 : 2),
  encode: (value, session) => write(value, session.fourOctetAs ? 4 : 2),
};

/** RFC 6793 sections 3 and 6. */
export const as4Aggregator: AttributeCodec<Aggregator> = {
  type: AttributeType.AS4_AGGREGATOR,
  name: 'AS4_AGGREGATOR',
  flags: AttributeFlag.OPTIONAL | AttributeFlag.TRANSITIVE,
  malformed: 'attribute-discard',
  unexpected: (session) => (session.fourOctetAs ? 'the peer speaks four-octet AS numbers' : undefined),
  decode: (value) => read(value, 4),
  encode: (value) => write(value, 4),
};

function read(value: Cursor, width: 2 | 4): Result<Aggregator, string> {
  if (value.remaining !== width + 4) return { problem: `length ${value.remaining} is not ${width + 4}` };
  const asn = (width === 4 ? value.u32() : value.u16()) as number;
  return asn === 0 ? { problem: 'it names AS 0' } : { ok: { asn, address: ipFromBytes(value.rest()) as IpV4 } };
}

function write({ asn, address }: Aggregator, width: 2 | 4): Uint8Array {
  const out = new Writer(8);
  return (width === 4 ? out.u32(asn) : out.u16(twoOctetAs(asn))).bytes(ipToBytes(address)).finish();
}
