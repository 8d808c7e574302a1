/**
 * `node --import tsx bgp-sink.ts PORT ASN ADDRESS...`: a peer that hears everything and says nothing more than it must.
 * After each chunk it prints what it has heard on that address so far, as a line of JSON.
 */
import { createServer } from 'node:net';
import { afiSafiOf } from '../bgp/codec/families.ts';
import { encodeMessage, MessageReader, UNNEGOTIATED } from '../bgp/codec/index.ts';
import type { SessionParameters } from '../bgp/codec/types.ts';
import { monotonicClock } from '../net/clock.ts';
import type { IpV4 } from '../net/ip.ts';

export interface Heard {
  readonly address: string;
  /** Of the last chunk, CLOCK_MONOTONIC in nanoseconds. */
  readonly at: number;
  /** Those with routes. */
  readonly updates: number;
  readonly octets: number;
  readonly announced: number;
  readonly withdrawn: number;
  readonly keepalives: number;
  /** The longest time without a word, in milliseconds. */
  readonly silence: number;
}

const [port = '', asn = '', ...addresses] = process.argv.slice(2);
const session: SessionParameters = { ...UNNEGOTIATED, fourOctetAs: true, families: ['IPv4'], peerAsn: 65_001 };
const HOLD_TIME = 3;

addresses.forEach((address, index) => {
  const server = createServer({ noDelay: true }, (socket) => {
    const reader = new MessageReader();
    const total = { updates: 0, octets: 0, announced: 0, withdrawn: 0, keepalives: 0, silence: 0 };
    let last = monotonicClock.now();
    const keeping = setInterval(() => socket.write(encodeMessage({ type: 'KEEPALIVE' }, session)), 1_000);
    socket.on('close', () => clearInterval(keeping));
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      const at = monotonicClock.now();
      total.silence = Math.max(total.silence, (at - last) / 1e6);
      last = at;
      reader.push(chunk);
      for (let before = reader.buffered; ; before = reader.buffered) {
        const decoded = reader.next(session);
        if (decoded === undefined) break;
        if (decoded.outcome !== 'message') throw new Error(JSON.stringify(decoded));
        const { message } = decoded;
        if (message.type === 'KEEPALIVE') total.keepalives++;
        if (message.type === 'OPEN') {
          const identifier = `10.255.0.${index + 1}` as IpV4;
          const capabilities = [
            { kind: 'multiprotocol', ...afiSafiOf('IPv4') },
            { kind: 'four-octet-as', asn: Number(asn) },
          ] as const;
          const open = { type: 'OPEN', asn: Number(asn), holdTime: HOLD_TIME, identifier, capabilities } as const;
          socket.write(encodeMessage(open, session));
          socket.write(encodeMessage({ type: 'KEEPALIVE' }, session));
        }
        if (message.type !== 'UPDATE') continue;
        const count = (all: readonly { readonly count: number }[]) => all.reduce((sum, one) => sum + one.count, 0);
        const announced = count(message.announced.map(({ nlri }) => nlri));
        const withdrawn = count(message.withdrawn);
        if (announced + withdrawn === 0) continue;
        total.updates++;
        total.octets += before - reader.buffered;
        total.announced += announced;
        total.withdrawn += withdrawn;
      }
      const heard: Heard = { address, at, ...total };
      console.log(JSON.stringify(heard));
    });
  });
  server.listen(Number(port), address);
});
