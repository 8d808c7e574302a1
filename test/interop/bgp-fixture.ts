import {
  type BgpNetwork,
  linuxNetwork,
  type PeerSettings,
  type RouteAttributes,
  Speaker,
  type SpeakerEvent,
  type SpeakerOptions,
  WELL_KNOWN_COMMUNITIES,
} from '../../bgp/index.ts';
import type { Ip, IpV4 } from '../../net/ip.ts';
import type { Prefix } from '../../net/prefix.ts';
import { eventually } from '../harness/eventually.ts';
import type { Lab } from '../harness/lab.ts';
import type { Lan } from '../harness/lan.ts';
import type { Namespace } from '../harness/namespace.ts';
import type { PeerConfig, Router, RouterConfig, RouterKind } from '../harness/routers/router.ts';
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
    connectRetryTime: 1,
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

/** With something of everything. */
export const ATTRIBUTES: RouteAttributes = {
  key: 'all',
  localPreference: 200,
  med: 10,
  prepend: 1,
  communities: [0xfde8_0064, WELL_KNOWN_COMMUNITIES['no-export']],
  extendedCommunities: [],
  largeCommunities: [{ globalAdministrator: 65_000, localData1: 1, localData2: 2 }],
};

export function routes(
  prefixes: readonly string[],
  attributes: RouteAttributes = PLAIN,
): ReadonlyMap<Prefix, RouteAttributes> {
  return new Map(prefixes.map((prefix) => [prefix as Prefix, attributes]));
}

/** A node and a router on one LAN. */
export async function hosts(
  lab: Lab,
): Promise<{ readonly node: Namespace; readonly there: Namespace; readonly lan: Lan }> {
  const lan = await lab.lan('lan');
  const [node, there] = await Promise.all([
    lab.host('node', lan, [`${NODE.v4}/24`, `${NODE.v6}/64`]),
    lab.host('router', lan, [`${ROUTER.v4}/24`, `${ROUTER.v6}/64`]),
  ]);
  return { node, there, lan };
}

/** The router waits for the node, unless it is told otherwise. */
export function routerIn(
  lab: Lab,
  there: Namespace,
  kind: RouterKind,
  peer: Partial<PeerConfig> = {},
  config: Partial<RouterConfig> = {},
): Promise<Router> {
  const peers = [{ address: NODE.v4, localAddress: ROUTER.v4, asn: NODE.asn, ...peer }];
  return startRouter(lab, there, kind, { asn: ROUTER.asn, routerId: ROUTER.v4, peers, ...config });
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
