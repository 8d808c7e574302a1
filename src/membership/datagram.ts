import { createHmac, timingSafeEqual } from 'node:crypto';
import { Writer } from '../../net/cursor.ts';
import type { NodeName } from '../../net/names.ts';
import { hash32 } from '../../net/rendezvous.ts';
import { nodeName, Reader, u53 } from './parts.ts';
import type { SessionId } from './types.ts';

export const MAX_DATAGRAM = 1200;
export const TAG_BYTES = 16;
const VERSION = 1;

/** What authenticates datagrams; its identity is derived, so that nobody has to number keys. */
export interface Key {
  readonly id: number;
  readonly secret: Uint8Array;
}

export function makeKey(secret: Uint8Array): Key {
  const id = createHmac('sha256', secret).update('signpost key id').digest().readUInt8(0);
  return { id, secret };
}

/** The fields of a datagram. Sequence numbers rise by one within a session. */
export interface Datagram {
  readonly kind: number;
  readonly cluster: string;
  readonly sender: NodeName;
  readonly session: SessionId;
  readonly sequence: number;
  readonly body: Uint8Array;
}

export type Opened =
  | { readonly datagram: Omit<Datagram, 'cluster'>; readonly rejected?: undefined }
  /** `sender`, `key` and `kind` are what the datagram says, not proven. */
  | {
      readonly datagram?: undefined;
      readonly rejected: OpenError;
      readonly sender?: NodeName;
      readonly key?: number;
      readonly kind?: number;
    };

export type OpenError = 'malformed' | 'version' | 'cluster' | 'unknownKey' | 'tag';

/** version, key id, kind, cluster, sender, session, sequence, body, HMAC-SHA256/128 over all and the receiver's name. */
export function sealDatagram(datagram: Datagram, receiver: NodeName, key: Key): Uint8Array {
  const writer = new Writer(64 + datagram.body.length);
  writer.u8(VERSION).u8(key.id).u8(datagram.kind).u32(hash32(datagram.cluster));
  nodeName.write(writer, datagram.sender);
  writer.u32(datagram.session);
  u53.write(writer, datagram.sequence);
  const signed = writer.bytes(datagram.body).finish();
  return writer.bytes(tag(signed, receiver, key)).finish();
}

function tag(signed: Uint8Array, receiver: NodeName, key: Key): Uint8Array {
  return createHmac('sha256', key.secret).update(signed).update(receiver).digest().subarray(0, TAG_BYTES);
}

export function openDatagram(bytes: Uint8Array, receiver: NodeName, cluster: string, keys: readonly Key[]): Opened {
  if (bytes.length > MAX_DATAGRAM || bytes.length < TAG_BYTES) return { rejected: 'malformed' };
  const signed = bytes.subarray(0, bytes.length - TAG_BYTES);
  const reader = new Reader(signed);
  if (reader.number(8) !== VERSION) return { rejected: 'version' };
  const keyId = reader.number(8);
  const kind = reader.number(8);
  const clusterHash = reader.number(32);
  const sender = nodeName.read(reader);
  const session = reader.number(32) as SessionId;
  const sequence = u53.read(reader);
  const body = reader.bytes(reader.remaining);
  if (reader.failed || sender === '' || session === 0) return { rejected: 'malformed' };
  if (clusterHash !== hash32(cluster)) return { rejected: 'cluster', sender };
  const sameId = keys.filter(({ id }) => id === keyId);
  if (sameId.length === 0) return { rejected: 'unknownKey', sender, key: keyId, kind };
  const given = bytes.subarray(bytes.length - TAG_BYTES);
  const authentic = sameId.some((key) => timingSafeEqual(tag(signed, receiver, key), given));
  if (!authentic) return { rejected: 'tag', sender, key: keyId };
  return { datagram: { kind, sender, session, sequence, body } };
}
