import { Cursor, Writer } from '../../../net/cursor.ts';
import { type Mac, macToBytes } from '../../../net/mac.ts';

/** RFC 4861 sections 4.1 and 4.2. */
export const ROUTER_SOLICITATION = 133;
export const ROUTER_ADVERTISEMENT = 134;

const SOURCE_LINK_LAYER_ADDRESS = 1;
const SOLICITATION_LENGTH = 8;
const ADVERTISEMENT_LENGTH = 16;

/**
 * That we are a neighbour to speak BGP with. Its lifetime is 0: nobody takes us for a default router
 * (RFC 4861 section 4.2). The checksum is the kernel's.
 */
export function routerAdvertisement(mac: Mac | undefined): Uint8Array {
  const unspecifiedHopLimit = 0;
  const message = new Writer(24).u8(ROUTER_ADVERTISEMENT).u8(0).u16(0);
  message.u8(unspecifiedHopLimit).u8(0).u16(0).u32(0).u32(0);
  return withLinkLayer(message, mac);
}

export function routerSolicitation(mac: Mac | undefined): Uint8Array {
  return withLinkLayer(new Writer(16).u8(ROUTER_SOLICITATION).u8(0).u16(0).u32(0), mac);
}

function withLinkLayer(message: Writer, mac: Mac | undefined): Uint8Array {
  if (mac === undefined) return message.finish();
  return message.u8(SOURCE_LINK_LAYER_ADDRESS).u8(1).bytes(macToBytes(mac)).finish();
}

/** Which of the two it validly is (RFC 4861 sections 6.1.1 and 6.1.2, but for what the socket has checked). */
export function kindOf(message: Uint8Array): 'solicitation' | 'advertisement' | undefined {
  const cursor = new Cursor(message);
  const [type, code] = [cursor.u8(), cursor.u8()];
  if (code !== 0) return undefined;
  if (type === ROUTER_SOLICITATION) return hasValidOptions(message, SOLICITATION_LENGTH) ? 'solicitation' : undefined;
  if (type !== ROUTER_ADVERTISEMENT) return undefined;
  return hasValidOptions(message, ADVERTISEMENT_LENGTH) ? 'advertisement' : undefined;
}

/** "All included options have a length that is greater than zero." */
function hasValidOptions(message: Uint8Array, start: number): boolean {
  const cursor = new Cursor(message);
  if (cursor.bytes(start) === undefined) return false;
  while (cursor.remaining > 0) {
    cursor.u8();
    const units = cursor.u8();
    if (units === undefined || units === 0 || cursor.bytes(units * 8 - 2) === undefined) return false;
  }
  return true;
}
