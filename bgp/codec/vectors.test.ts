import { describe, expect, test } from 'vitest';
import { type BgpVector, bgpVectors } from '../../test/vectors/bgp.ts';
import { type Decoded, strongestReaction } from './errors.ts';
import { decodeMessage } from './messages/table.ts';
import { checkOpen, UNNEGOTIATED } from './negotiate.ts';
import { prefixesOf } from './nlri.ts';
import { externalSession, openOf } from './testing/sessions.ts';

const PEER = 65_001;
const session = externalSession(PEER);

/** BGP Prefix-SID is an attribute that we do not recognize: well formed or not, it is dropped and the route kept. */
const DROPPED_UNREAD = ['U39'];

/** Messages that are well formed and come in a state in which the FSM refuses them. */
const REFUSED_BY_FSM = ['O20', 'O21', 'O23'];

function decode({ phase, bytes }: BgpVector): Decoded {
  return decodeMessage(bytes, phase === 'open' ? UNNEGOTIATED : session);
}

/** What the bytes alone cause, in the words of the vectors. */
function reaction(vector: BgpVector): unknown {
  const decoded = decode(vector);
  if (decoded.outcome === 'session-reset') return notified(decoded.notification);
  if (decoded.outcome === 'ignore') return { kind: 'accept' };
  const { message } = decoded;
  if (message.type === 'NOTIFICATION') return { kind: 'close' };
  if (message.type === 'OPEN') {
    const error = checkOpen(message, { local: openOf(65_000), peerAsn: PEER });
    const refusal = error && strongestReaction([error]);
    if (refusal?.kind === 'session-reset') return notified(refusal.notification);
  }
  const { kind } = strongestReaction(decoded.errors);
  return { kind: kind === 'ignore' ? 'accept' : kind };
}

function notified({ code, subcode }: { readonly code: number; readonly subcode: number }): unknown {
  return { kind: 'notification', code, subcode };
}

describe('the vectors', () => {
  const vectors = bgpVectors();

  test('are all there', () => {
    expect(new Set(vectors.map(({ id }) => id)).size).toBe(80);
  });

  test.each(vectors.filter(({ id }) => !REFUSED_BY_FSM.includes(id)))('$id $name ($reference)', (vector) => {
    expect(reaction(vector)).toEqual(DROPPED_UNREAD.includes(vector.id) ? { kind: 'accept' } : vector.expect);
  });

  test.each(vectors.filter(({ id }) => REFUSED_BY_FSM.includes(id)))('$id $name is well formed', (vector) => {
    expect(decode(vector)).toMatchObject({ outcome: 'message' });
  });

  test.each(vectors.filter(({ expect: { kind } }) => kind === 'treat-as-withdraw'))(
    '$id withdraws the route',
    (vector) => {
      const decoded = decode(vector);
      if (decoded.outcome !== 'message' || decoded.message.type !== 'UPDATE') throw new Error('no UPDATE');
      expect(decoded.message.announced).toEqual([]);
      expect(decoded.message.withdrawn.flatMap((nlri) => [...prefixesOf(nlri)])).toEqual(['203.0.113.9/32']);
    },
  );
});
