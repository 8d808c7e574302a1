import { linuxNetwork, type PeerSettings, type RouteAttributes, Speaker, type SpeakerEvent } from '../../bgp/index.ts';
import type { SpeakerOptions } from '../../bgp/session/speaker.ts';
import type { BgpNetwork } from '../../bgp/transport/network.ts';
import type { Ip, IpV4 } from '../../net/ip.ts';
import type { Prefix } from '../../net/prefix.ts';
import { eventually } from '../harness/eventually.ts';
import type { Lab } from '../harness/lab.ts';
import type { Namespace } from '../harness/namespace.ts';
import { type PeerConfig, type Router, type RouterConfig, type RouterKind } from '../harness/routers/router.ts';
import { startRouter } from '../harness/routers.ts';

export const NODE = { asn: 65001, v4: '10.204.0.10', v6: 'fd00:204::10' };
export const ROUTER = { asn: 65000, v4: '10.204.0.1', v6: 'fd00:204::1' };

/** The sockets of the library, made in the namespace. */
export function networkOf(namespace: Namespace): BgpNetwork {
  return {
    connect: (...args) => namespace.enter(() => linuxNetwork.connect(...args)),
    listen: (...args) => namespace.enter(() => linuxNetwork.listen(...args)),
    addressesBeside: (local) => namespace.enter(() => linuxNetwork.addressesBeside(local)),
  };
}

export function speakerIn(lab: Lab, namespace: Namespace, options: Partial<SpeakerOptions> = {}) {
  const events: SpeakerEvent[] = [];
  const speaker = new Speaker({
    network: networkOf(namespace),
    listenPort: 179,
    onEvent: (event) => events.push(event),
    ...options,
  });
  lab.defer(() => speaker.close('restart', AbortSignal.timeout(0)));
  return { speaker, events };
}

export function settings(change: Partial<PeerSettings> = {}): PeerSettings {
  return {
    localAsn: NODE.asn,
    remoteAsn: ROUTER.asn,
    remote: { address: ROUTER.v4 as Ip },
    port: 179,
    identifier: NODE.v4 as IpV4,
    holdTime: 9,
    keepaliveTime: 3,
    connectRetryTime: 2,
    passive: false,
    families: ['IPv4', 'IPv6'],
    gracefulRestart: { restartTime: 30, forwarding: true },
    extendedNextHop: false,
    ...change,
  };
}

export const PLAIN: RouteAttributes = {
  key: 'plain',
  localPreference: undefined,
  med: undefined,
  prepend: 0,
  communities: [],
  extendedCommunities: [],
  largeCommunities: [],
};

export function routes(
  prefixes: readonly string[],
  attributes: RouteAttributes = PLAIN,
): ReadonlyMap<Prefix, RouteAttributes> {
  return new Map(prefixes.map((prefix) => [prefix as Prefix, attributes]));
}

export interface Neighbors {
  readonly node: Namespace;
  readonly there: Namespace;
  readonly router: Router;
}

/** A node and a router on one LAN; the router waits for the node. */
export async function neighbors(
  lab: Lab,
  kind: RouterKind,
  peer: Partial<PeerConfig> = {},
  config: Partial<RouterConfig> = {},
): Promise<Neighbors> {
  const lan = await lab.lan('lan');
  const [node, there] = await Promise.all([
    lab.host('node', lan, [`${NODE.v4}/24`, `${NODE.v6}/64`]),
    lab.host('router', lan, [`${ROUTER.v4}/24`, `${ROUTER.v6}/64`]),
  ]);
  const router = await startRouter(lab, there, kind, {
    asn: ROUTER.asn,
    routerId: ROUTER.v4,
    peers: [{ address: NODE.v4, localAddress: ROUTER.v4, asn: NODE.asn, ...peer }],
    ...config,
  });
  return { node, there, router };
}

export async function established(speaker: Speaker, router: Router, within = 15_000): Promise<void> {
  await eventually(
    'the session is up',
    () => speaker.status()[0],
    (status) => status?.state === 'Established',
    { within },
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${router.log.slice(-40).join('\n')}`);
  });
}
