/** An attribute (struct nlattr): its type, and its bytes or the attributes within. */
export type Attribute = readonly [type: number, content: Uint8Array | readonly Attribute[]];

/** Flags of struct nlmsghdr; `dump` asks for all there is. */
export const NLM_F = { request: 0x1, ack: 0x4, dump: 0x300, replace: 0x100, exclusive: 0x200, create: 0x400 } as const;

const NLA_F_NESTED = 0x8000;

/** struct nlmsghdr. */
export const NETLINK_HEADER = 16;

/** A message without its sequence number, which the socket that sends it fills in. */
export function encodeMessage(
  type: number,
  flags: number,
  header: Uint8Array,
  attributes: readonly Attribute[],
): Uint8Array {
  const body = encodeAttributes(header, attributes);
  const bytes = new Uint8Array(NETLINK_HEADER + body.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.length, true);
  view.setUint16(4, type, true);
  view.setUint16(6, NLM_F.request | flags, true);
  bytes.set(body, NETLINK_HEADER);
  return bytes;
}

/** A header with attributes behind it, each padded to four bytes. */
export function encodeAttributes(header: Uint8Array, attributes: readonly Attribute[]): Uint8Array {
  const parts = attributes.map(([type, content]) => {
    const flat = content instanceof Uint8Array;
    const bytes = flat ? content : encodeAttributes(new Uint8Array(), content);
    const part = new Uint8Array((4 + bytes.length + 3) & ~3);
    const view = new DataView(part.buffer);
    view.setUint16(0, 4 + bytes.length, true);
    view.setUint16(2, flat ? type : type | NLA_F_NESTED, true);
    part.set(bytes, 4);
    return part;
  });
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, header.length));
  all.set(header);
  let at = header.length;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** By type, without the flags of the type. What is malformed ends the list. */
export function decodeAttributes(bytes: Uint8Array): Map<number, Uint8Array> {
  const found = new Map<number, Uint8Array>();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let offset = 0; offset + 4 <= bytes.length; ) {
    const length = view.getUint16(offset, true);
    if (length < 4 || offset + length > bytes.length) break;
    // The two top bits say "nested" and "network byte order".
    found.set(view.getUint16(offset + 2, true) & 0x3fff, bytes.subarray(offset + 4, offset + length));
    offset += (length + 3) & ~3;
  }
  return found;
}
