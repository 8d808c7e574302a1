import { expect, test } from 'vitest';
import type { Speaker } from '../../bgp/index.ts';
import type { Prefix } from '../../net/prefix.ts';
import { type BgpVector, bgpVectors } from '../vectors/bgp.ts';
import { PLAIN } from './bgp-fixture.ts';
import { PEER, wireSettings, wireSpeaker } from './wire-fixture.ts';
import { WirePeer } from './wire-peer.ts';

/** BGP Prefix-SID is an attribute that we do not recognize: it is passed over in silence, well formed or not. */
const PASSED_OVER = ['U39'];

function received(speaker: Speaker): number {
  return (speaker.status('peer')[0]?.families ?? []).reduce((sum, family) => sum + family.received, 0);
}

/** All that the speaker has said to what was sent so far is known once it has answered this. */
async function fence(peer: WirePeer): Promise<void> {
  peer.send({ type: 'ROUTE-REFRESH', family: 'IPv4', subtype: 'request' });
  await peer.skipTo('UPDATE');
}

async function meet({ phase, bytes, expect: expected }: BgpVector, peer: WirePeer): Promise<void> {
  if (phase === 'open') {
    await peer.expect('OPEN');
    peer.socket.write(bytes);
    if (expected.kind === 'accept') await peer.expect('KEEPALIVE');
    return;
  }
  await peer.establish();
  await peer.dump();
  peer.socket.write(bytes);
}

test('80 vectors over a real session each', { timeout: 60_000 }, async () => {
  const vectors = bgpVectors();
  expect(vectors).toHaveLength(80);
  await using wire = await wireSpeaker();
  const { speaker, port, events } = wire;
  for (const vector of vectors) {
    const { id, name, phase, expect: expected } = vector;
    events.length = 0;
    speaker.setPeer('peer', wireSettings());
    speaker.setRoutes('peer', new Map([['198.51.100.1/32' as Prefix, PLAIN]]));
    const peer = await WirePeer.dial(port, PEER);
    await meet(vector, peer);
    const what = `${id} ${name}`;
    const told = () => events.filter(({ kind }) => kind === 'malformed').length;
    switch (expected.kind) {
      case 'notification': {
        const { notification, how } = await peer.ending();
        expect({ what, how, code: notification?.code, subcode: notification?.subcode }).toEqual({
          what,
          how: 'FIN',
          code: expected.code,
          subcode: expected.subcode,
        });
        break;
      }
      case 'close':
        expect({ what, ...(await peer.ending()) }).toEqual({ what, how: 'FIN', notification: undefined });
        break;
      case 'treat-as-withdraw':
        await fence(peer);
        expect({ what, received: received(speaker), told: told() }).toEqual({ what, received: 0, told: 1 });
        break;
      case 'attribute-discard':
        await fence(peer);
        expect({ what, received: received(speaker), told: told() }).toEqual({
          what,
          received: 1,
          told: PASSED_OVER.includes(id) ? 0 : 1,
        });
        break;
      case 'accept':
        if (phase === 'established') await fence(peer);
        if (id.startsWith('U')) expect(received(speaker), what).toBeGreaterThan(0);
        expect({ what, open: peer.isOpen }).toEqual({ what, open: true });
        break;
    }
    peer.close();
    speaker.deletePeer('peer');
  }
});
