import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type MonotonicNs, ms } from '../../net/clock.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import { decodeBody, encodeBody } from './body.ts';
import { MAX_DATAGRAM, makeKey, TAG_BYTES } from './datagram.ts';
import type { Message } from './messages.ts';
import { type Received, Sessions } from './session.ts';
import type { Incarnation, SessionId } from './types.ts';

const A = 'a.example' as NodeName;
const B = 'b.example' as NodeName;
const KEY = makeKey(new TextEncoder().encode('one'));
const OTHER_KEY = makeKey(new TextEncoder().encode('two'));
const at = (time: number) => ms(time) as MonotonicNs;
const ASK: Message = { type: 'ask', vip: '203.0.113.1' as Vip };

function speaker(self: NodeName, session: number, keys = [KEY], cluster = 'lab'): Sessions {
  const sessions = new Sessions({ self, session: session as SessionId, cluster, keys, random: () => session / 1000 });
  sessions.setMembers([A, B]);
  return sessions;
}

function seal(from: Sessions, to: NodeName, message: Message = ASK): Uint8Array {
  const bytes = from.seal(to, message);
  if (bytes === undefined) throw new Error('too long');
  return bytes;
}

function reply(received: Received): Uint8Array {
  if (received.reply === undefined) throw new Error('no reply');
  return received.reply.bytes;
}

/** `to` knows the session of `from` after this. */
function introduce(from: Sessions, to: Sessions, time = at(0), toName = B): void {
  const challenge = reply(to.open(seal(from, toName), time));
  to.open(reply(from.open(challenge, time)), time);
}

describe('a session', () => {
  it('is heard after it has echoed a nonce', () => {
    const a = speaker(A, 1);
    const b = speaker(B, 2);
    expect(b.open(seal(a, B), at(0)).rejected?.reason).toBe('newSession');
    introduce(a, b, at(100));
    expect(b.open(seal(a, B), at(101)).message).toEqual({ from: A, session: 1, message: ASK });
  });

  it('cannot be played again after a newer one, nor a datagram twice', () => {
    const old = speaker(A, 1);
    const b = speaker(B, 2);
    introduce(old, b);
    const recorded = seal(old, B);
    expect(b.open(recorded, at(1)).message).toBeDefined();
    expect(b.open(recorded, at(1)).rejected?.reason).toBe('replay');
    introduce(speaker(A, 3), b, at(500));
    expect(b.open(recorded, at(501)).rejected?.reason).toBe('newSession');
  });

  it('takes datagrams out of order within the window, each once', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([...Array(60).keys()], { minLength: 60 }), (order) => {
        const a = speaker(A, 1);
        const b = speaker(B, 2);
        introduce(a, b);
        const sealed = order.map(() => seal(a, B));
        for (const i of order) expect(b.open(sealed[i] as Uint8Array, at(1)).message).toBeDefined();
        for (const bytes of sealed) expect(b.open(bytes, at(1)).rejected?.reason).toBe('replay');
      }),
      { numRuns: 30 },
    );
  });

  it('drops what is older than the window', () => {
    const a = speaker(A, 1);
    const b = speaker(B, 2);
    introduce(a, b);
    const old = seal(a, B);
    for (let i = 0; i < 64; i++) b.open(seal(a, B), at(1));
    expect(b.open(old, at(1)).rejected?.reason).toBe('replay');
  });

  it('refuses every datagram with a changed bit, a cut tail or another receiver', () => {
    const a = speaker(A, 1);
    const b = speaker(B, 2);
    introduce(a, b);
    const bytes = seal(a, B);
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const forged = bytes.slice();
      forged[bit >> 3] = (forged[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(b.open(forged, at(1)).message).toBeUndefined();
    }
    for (let length = 0; length < bytes.length; length++) {
      expect(b.open(bytes.subarray(0, length), at(1)).message).toBeUndefined();
    }
    expect(b.open(seal(a, A), at(1)).rejected?.reason).toBe('tag');
    expect(b.open(bytes, at(1)).message).toBeDefined();
  });

  it('counts strangers, another cluster and its own name by reason', () => {
    const b = speaker(B, 2);
    expect(b.open(seal(speaker(A, 1, [KEY], 'other'), B), at(0)).rejected?.reason).toBe('cluster');
    expect(b.open(seal(speaker('c' as NodeName, 1), B), at(0)).rejected?.reason).toBe('unknownSender');
    expect(b.open(seal(speaker(B, 9), B), at(0)).rejected?.reason).toBe('ownName');
    expect(Object.fromEntries(b.rejections)).toEqual({ cluster: 1, unknownSender: 1, ownName: 1 });
  });
});

describe('keys', () => {
  it('rotate: the first signs, both are accepted', () => {
    const a = speaker(A, 1, [KEY]);
    const b = speaker(B, 2, [KEY, OTHER_KEY]);
    introduce(a, b);
    expect(b.open(seal(a, B), at(1)).message).toBeDefined();
    a.setKeys([OTHER_KEY, KEY]);
    expect(b.open(seal(a, B), at(2)).message).toBeDefined();
    b.setKeys([OTHER_KEY]);
    a.setKeys([KEY]);
    expect(b.open(seal(a, B), at(3)).rejected?.reason).toBe('unknownKey');
  });

  it('that differ are told to the one that signs with the wrong one', () => {
    const a = speaker(A, 1, [OTHER_KEY, KEY]);
    const b = speaker(B, 2, [KEY]);
    const notice = b.open(seal(a, B), at(10));
    expect(notice.rejected).toEqual({ reason: 'unknownKey', sender: A });
    a.open(reply(notice), at(11));
    expect(a.refusingOurKey(at(12))).toEqual([B]);
    expect(a.refusingOurKey(at(5000))).toEqual([]);
    expect(b.open(seal(a, B), at(20)).reply).toBeUndefined();
  });

  it('of which none is common are told too, and nothing else of such a datagram counts', () => {
    const a = speaker(A, 1, [OTHER_KEY]);
    const b = speaker(B, 2, [KEY]);
    const answer = a.open(reply(b.open(seal(a, B), at(10))), at(11));
    expect(answer).toEqual({ rejected: { reason: 'unknownKey', sender: B } });
    expect(a.refusingOurKey(at(12))).toEqual([B]);
    expect(b.refusingOurKey(at(12))).toEqual([]);
  });
});

describe('a notice that a key is refused', () => {
  const notice = () => reply(speaker(A, 1, [OTHER_KEY]).open(seal(speaker(B, 2), A), at(0)));

  it('in a foreign key says nothing of a member that is heard', () => {
    const a = speaker(A, 9);
    const b = speaker(B, 2);
    introduce(a, b);
    const forged = notice();
    for (let time = 10; time < 10_000; time += 500) {
      b.open(seal(a, B), at(time));
      b.open(forged, at(time));
      expect(b.refusingOurKey(at(time + 400))).toEqual([]);
    }
    expect(b.refusingOurKey(at(12_500))).toEqual([]);
    b.open(forged, at(13_000));
    expect(b.refusingOurKey(at(13_001))).toEqual([A]);
    b.open(seal(a, B), at(13_002));
    expect(b.refusingOurKey(at(13_003))).toEqual([]);
  });

  it('played again after the key was changed says nothing', () => {
    const a = speaker(A, 1, [OTHER_KEY, KEY]);
    const recorded = reply(speaker(B, 2, [KEY]).open(seal(a, B), at(0)));
    a.open(recorded, at(1));
    expect(a.refusingOurKey(at(2))).toEqual([B]);
    a.setKeys([KEY]);
    a.open(recorded, at(5000));
    expect(a.refusingOurKey(at(5001))).toEqual([]);
  });
});

describe('bodies', () => {
  it('of any bytes are decoded to a message or to nothing, and never more than they hold', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 255 }), fc.uint8Array({ maxLength: 300 }), (kind, bytes) => {
        const message = decodeBody(kind, bytes);
        if (message !== undefined)
          expect(decodeBody(encodeBody(message).kind, encodeBody(message).bytes)).toEqual(message);
      }),
      { numRuns: 3000 },
    );
  });

  it('that do not fit are counted and not sent', () => {
    const a = speaker(A, 1);
    const long = 'x'.repeat(60) as NodeName;
    const voters = Array.from({ length: 30 }, () => ({ node: long, session: 1 as SessionId }));
    const life = { node: long, incarnation: 1 as Incarnation };
    expect(a.seal(B, { type: 'voters', life, list: { version: 1, voters } })).toBeUndefined();
    expect(a.rejections.get('tooLong')).toBe(1);
    const fits = seal(a, B, { type: 'voters', life, list: { version: 1, voters: voters.slice(0, 8) } });
    expect(fits.length).toBeLessThanOrEqual(MAX_DATAGRAM);
    expect(fits.length).toBeGreaterThan(TAG_BYTES);
  });
});
