import { Cursor, Writer } from '../../../net/cursor.ts';
import { HEADER_LENGTH, MessageType } from '../constants.ts';
import { type Decoded, type DecodeError, resetBy } from '../errors.ts';
import { afiSafiOf, familyOfAfiSafi } from '../families.ts';
import { frame } from '../header.ts';
import type { RouteRefresh, SessionParameters } from '../types.ts';
import { accepted, type MessageCodec } from './message.ts';

/** RFC 7313 section 3.2; what RFC 2918 reserves and sends as 0 is a request. */
const SUBTYPES = ['request', 'begin', 'end'] as const;

/** RFC 2918 section 3. A wrong length has an error code of its own (RFC 7313 section 5), so no minimum is set. */
export const routeRefresh: MessageCodec<RouteRefresh> = {
  type: MessageType['ROUTE-REFRESH'],
  minimum: HEADER_LENGTH,
  decode,
  encode: ({ family, subtype }) => {
    const { afi, safi } = afiSafiOf(family);
    return new Writer(4).u16(afi).u8(SUBTYPES.indexOf(subtype)).u8(safi).finish();
  },
};

function decode(body: Uint8Array, session: SessionParameters): Decoded {
  if (body.length !== 4) {
    return resetBy([{ kind: 'bad-route-refresh-length', message: frame(MessageType['ROUTE-REFRESH'], body) }]);
  }
  const cursor = new Cursor(body);
  const afi = cursor.u16() as number;
  const code = cursor.u8() as number;
  const safi = cursor.u8() as number;
  const subtype = SUBTYPES[code];
  if (subtype === undefined || (subtype !== 'request' && !session.enhancedRouteRefresh)) {
    return passOver({ kind: 'unknown-route-refresh-subtype', subtype: code });
  }
  const family = familyOfAfiSafi({ afi, safi });
  return family === undefined || !session.families.includes(family)
    ? passOver({ kind: 'family-not-negotiated', afi, safi })
    : accepted({ type: 'ROUTE-REFRESH', family, subtype });
}

function passOver(error: DecodeError): Decoded {
  return { outcome: 'ignore', errors: [error] };
}
