import { type MonotonicNs, ms } from '../../net/clock.ts';
import { Writer } from '../../net/cursor.ts';
import type { NodeName } from '../../net/names.ts';
import { decodeBody, encodeBody } from './body.ts';
import { type Key, MAX_DATAGRAM, type OpenError, openDatagram, sealDatagram } from './datagram.ts';
import type { Message } from './messages.ts';
import { Reader, u53 } from './parts.ts';
import type { SessionId } from './types.ts';

/** Kinds of the exchange that proves a session to be alive; below are the kinds of messages. */
const CHALLENGE = 0xf0;
const PROOF = 0xf1;
const KEY_REFUSED = 0xf2;

const WINDOW = 64;
const CHALLENGE_AGAIN = ms(20);
const CHALLENGE_LASTS = ms(2000);
const REFUSE_KEY_EVERY = ms(1000);
const PROVE_AT_MOST_EVERY = ms(5);

export interface SessionConfig {
  readonly self: NodeName;
  readonly session: SessionId;
  /** Two clusters on one LAN do not hear each other. */
  readonly cluster: string;
  /** The first signs, all (two during a rotation) are accepted. */
  readonly keys: readonly Key[];
  /** 0 to 1, from a cryptographic source: nonces are made of it. */
  readonly random: () => number;
}

export type Rejection = OpenError | 'ownName' | 'unknownSender' | 'replay' | 'newSession' | 'body' | 'tooLong';

interface Peer {
  session: SessionId | undefined;
  /** Highest sequence accepted, and which of the 64 up to it were: bit 0 is the highest itself. */
  highest: number;
  seenLow: number;
  seenHigh: number;
  challenge: { readonly session: SessionId; readonly nonce: number; readonly at: MonotonicNs } | undefined;
  provedAt: number;
  refusedKeyAt: number;
  /** When a datagram of its proven session last counted. */
  heardAt: number;
  /** When it last said that it does not accept our key; and when somebody said so in its name, by a key not ours. */
  refusesOurKeyAt: number;
  saidToRefuseAt: number;
}

export interface Received {
  readonly message?: { readonly from: NodeName; readonly session: SessionId; readonly message: Message };
  readonly rejected?: { readonly reason: Rejection; readonly sender?: NodeName };
  /** To be sent back to that member. */
  readonly reply?: { readonly to: NodeName; readonly bytes: Uint8Array };
}

/**
 * Authenticates datagrams and keeps out replays. No I/O: the caller owns the socket. A new session of a peer counts
 * only after it has echoed a nonce, so that a recorded session cannot be played again.
 */
export class Sessions {
  readonly #config: SessionConfig;
  readonly #peers = new Map<NodeName, Peer>();
  readonly #rejections = new Map<Rejection, number>();
  #keys: readonly Key[];
  #sequence = 0;

  constructor(config: SessionConfig) {
    this.#config = config;
    this.#keys = config.keys;
  }

  /** Datagrams of others are dropped, and cost no memory. */
  setMembers(members: Iterable<NodeName>): void {
    const listed = new Set(members);
    for (const node of this.#peers.keys()) if (!listed.has(node)) this.#peers.delete(node);
    for (const node of listed) {
      if (node === this.#config.self || this.#peers.has(node)) continue;
      this.#peers.set(node, {
        session: undefined,
        highest: -1,
        seenLow: 0,
        seenHigh: 0,
        challenge: undefined,
        provedAt: Number.NEGATIVE_INFINITY,
        refusedKeyAt: Number.NEGATIVE_INFINITY,
        heardAt: Number.NEGATIVE_INFINITY,
        refusesOurKeyAt: Number.NEGATIVE_INFINITY,
        saidToRefuseAt: Number.NEGATIVE_INFINITY,
      });
    }
  }

  setKeys(keys: readonly Key[]): void {
    this.#keys = keys;
  }

  /** Since the start, by reason. */
  get rejections(): ReadonlyMap<Rejection, number> {
    return this.#rejections;
  }

  /**
   * Members that said within the last three seconds that they do not accept our key. What they say in a key that is
   * not ours anybody may have said: it counts only while nothing comes in a key that is.
   */
  refusingOurKey(now: MonotonicNs): NodeName[] {
    const recent = (at: number) => now - at < 3 * REFUSE_KEY_EVERY;
    const refuses = ({ refusesOurKeyAt, saidToRefuseAt, heardAt }: Peer) =>
      recent(refusesOurKeyAt) || (recent(saidToRefuseAt) && !recent(heardAt));
    return [...this.#peers].filter(([, peer]) => refuses(peer)).map(([node]) => node);
  }

  /** Undefined if it does not fit into a datagram: counted as `tooLong`. */
  seal(to: NodeName, message: Message): Uint8Array | undefined {
    const { kind, bytes } = encodeBody(message);
    const sealed = this.#seal(to, kind, bytes);
    if (sealed.length <= MAX_DATAGRAM) return sealed;
    this.#reject('tooLong');
    return undefined;
  }

  #seal(to: NodeName, kind: number, body: Uint8Array): Uint8Array {
    const { self, session, cluster } = this.#config;
    const key = this.#keys[0];
    if (key === undefined) throw new Error('there is no key');
    return sealDatagram({ kind, cluster, sender: self, session, sequence: this.#sequence++, body }, to, key);
  }

  open(bytes: Uint8Array, now: MonotonicNs): Received {
    const { self, cluster } = this.#config;
    const opened = openDatagram(bytes, self, cluster, this.#keys);
    if (opened.datagram === undefined) {
      const { sender } = opened;
      // Of two nodes with no key in common neither can prove anything to the other.
      const unproven = sender === undefined || opened.kind !== KEY_REFUSED ? undefined : this.#peers.get(sender);
      if (unproven !== undefined) {
        unproven.saidToRefuseAt = now;
        return this.#reject(opened.rejected, sender);
      }
      const reply = opened.key === undefined || sender === undefined ? {} : this.#refuseKey(sender, opened.key, now);
      return { ...this.#reject(opened.rejected, sender), ...reply };
    }
    const { sender, session, kind, sequence, body } = opened.datagram;
    if (sender === self) return session === this.#config.session ? {} : this.#reject('ownName', sender);
    const peer = this.#peers.get(sender);
    if (peer === undefined) return this.#reject('unknownSender', sender);
    // Without a proven session, since our challenges do not reach who refuses our key; played again it only warns, and
    // only while the key that it refused then is still the one that we sign with.
    if (kind === KEY_REFUSED) {
      if (body[0] === this.#keys[0]?.id) peer.refusesOurKeyAt = now;
      return {};
    }
    if (kind === CHALLENGE) return this.#prove(sender, peer, body, now);
    if (kind === PROOF) return this.#admit(sender, peer, session, sequence, body, now);
    if (peer.session !== session)
      return { ...this.#reject('newSession', sender), ...this.#challenge(sender, peer, session, now) };
    if (!accept(peer, sequence)) return this.#reject('replay', sender);
    peer.heardAt = now;
    const message = decodeBody(kind, body);
    return message === undefined ? this.#reject('body', sender) : { message: { from: sender, session, message } };
  }

  #reject(reason: Rejection, sender?: NodeName): Received {
    this.#rejections.set(reason, (this.#rejections.get(reason) ?? 0) + 1);
    return { rejected: { reason, ...(sender === undefined ? {} : { sender }) } };
  }

  /** Tells a member, in our key, that we do not accept the one that it signs with. */
  #refuseKey(sender: NodeName, key: number, now: MonotonicNs): Pick<Received, 'reply'> {
    const peer = this.#peers.get(sender);
    if (peer === undefined || now - peer.refusedKeyAt < REFUSE_KEY_EVERY) return {};
    peer.refusedKeyAt = now;
    return { reply: { to: sender, bytes: this.#seal(sender, KEY_REFUSED, Uint8Array.of(key)) } };
  }

  #challenge(to: NodeName, peer: Peer, session: SessionId, now: MonotonicNs): Pick<Received, 'reply'> {
    const last = peer.challenge;
    const same = last?.session === session && now - last.at < CHALLENGE_LASTS;
    if (same && now - last.at < CHALLENGE_AGAIN) return {};
    const nonce = same ? last.nonce : Math.floor(this.#config.random() * Number.MAX_SAFE_INTEGER);
    peer.challenge = { session, nonce, at: now };
    return { reply: { to, bytes: this.#seal(to, CHALLENGE, nonceBody(session, nonce)) } };
  }

  /** Echoes the nonce, if it is our session that is asked for. */
  #prove(to: NodeName, peer: Peer, body: Uint8Array, now: MonotonicNs): Received {
    const asked = readNonce(body);
    // Asked whether we are a session that is not ours: somebody else speaks under our name.
    if (asked?.session !== this.#config.session) return this.#reject(asked === undefined ? 'body' : 'ownName', to);
    if (now - peer.provedAt < PROVE_AT_MOST_EVERY) return {};
    peer.provedAt = now;
    return { reply: { to, bytes: this.#seal(to, PROOF, body) } };
  }

  #admit(
    sender: NodeName,
    peer: Peer,
    session: SessionId,
    sequence: number,
    body: Uint8Array,
    now: MonotonicNs,
  ): Received {
    const echoed = readNonce(body);
    const { challenge } = peer;
    if (challenge?.session !== session || echoed?.nonce !== challenge.nonce || now - challenge.at > CHALLENGE_LASTS) {
      return this.#reject('newSession', sender);
    }
    Object.assign(peer, { session, highest: sequence, seenLow: 1, seenHigh: 0, challenge: undefined });
    return {};
  }
}

function nonceBody(session: SessionId, nonce: number): Uint8Array {
  const writer = new Writer(12).u32(session);
  u53.write(writer, nonce);
  return writer.finish();
}

function readNonce(body: Uint8Array): { readonly session: SessionId; readonly nonce: number } | undefined {
  const reader = new Reader(body);
  const session = reader.number(32) as SessionId;
  const nonce = u53.read(reader);
  return reader.failed || reader.remaining > 0 ? undefined : { session, nonce };
}

/** The replay window of RFC 4303 section 3.4.3, in two halves of 32 bits. */
function accept(peer: Peer, sequence: number): boolean {
  const ahead = sequence - peer.highest;
  if (ahead > 0) {
    shift(peer, ahead);
    peer.highest = sequence;
    peer.seenLow |= 1;
    return true;
  }
  const behind = -ahead;
  if (behind >= WINDOW) return false;
  const bit = 1 << (behind % 32);
  const half = behind < 32 ? 'seenLow' : 'seenHigh';
  if ((peer[half] & bit) !== 0) return false;
  peer[half] |= bit;
  return true;
}

function shift(peer: Peer, by: number): void {
  if (by >= WINDOW) {
    peer.seenLow = 0;
    peer.seenHigh = 0;
  } else if (by >= 32) {
    peer.seenHigh = by === 32 ? peer.seenLow : peer.seenLow << (by - 32);
    peer.seenLow = 0;
  } else {
    peer.seenHigh = (peer.seenHigh << by) | (peer.seenLow >>> (32 - by));
    peer.seenLow <<= by;
  }
}
