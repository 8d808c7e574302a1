/**
 * Announces prefixes to a router until it is interrupted:
 *
 *     node --import tsx bgp/examples/announce.ts --asn 65001 --router 192.0.2.1 --router-asn 65000 203.0.113.1/32
 */
import { parseArgs } from 'node:util';
import { type IpV4, parseIp } from '../../net/ip.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { describeSpeakerEvent, linuxNetwork, type RouteAttributes, Speaker, WELL_KNOWN_COMMUNITIES } from '../index.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    asn: { type: 'string' },
    identifier: { type: 'string', default: '192.0.2.254' },
    router: { type: 'string' },
    'router-asn': { type: 'string' },
    password: { type: 'string' },
  },
});
const router = parseIp(values.router ?? '');
const prefixes = positionals.flatMap((text) => parsePrefix(text).ok ?? []);
if (router.ok === undefined || prefixes.length < Math.max(1, positionals.length)) {
  throw new Error('an address of a router and prefixes are needed');
}

const speaker = new Speaker({
  network: linuxNetwork,
  // Whoever connects to us must be a peer; undefined would be a speaker that only connects.
  listenPort: 179,
  onEvent: (event) => {
    console.log(`${event.peer}: ${describeSpeakerEvent(event)}`);
  },
});

speaker.setPeer('router', {
  localAsn: Number(values.asn),
  remoteAsn: Number(values['router-asn']),
  remote: { address: router.ok },
  port: 179,
  identifier: values.identifier as IpV4,
  holdTime: 9,
  keepaliveTime: 3,
  connectRetryTime: 5,
  passive: false,
  families: ['IPv4', 'IPv6'],
  extendedNextHop: false,
  // The router keeps the routes for 30 s when this process is killed, and takes them back when it returns.
  gracefulRestart: { restartTime: 30, forwarding: true },
  ...(values.password === undefined ? {} : { password: values.password }),
});

/** Routes of one key are packed into the same UPDATEs. */
const attributes: RouteAttributes = {
  key: 'example',
  localPreference: undefined,
  med: 10,
  prepend: 0,
  communities: [WELL_KNOWN_COMMUNITIES['no-export']],
  extendedCommunities: [],
  largeCommunities: [],
};

// What should be told, not what is to be sent: the session may be up or not, and only differences travel.
speaker.setRoutes('router', new Map(prefixes.map((prefix): [Prefix, RouteAttributes] => [prefix, attributes])));

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void speaker.close('shutdown', AbortSignal.timeout(2_000), 'the example ends').then(() => process.exit(0));
  });
}
