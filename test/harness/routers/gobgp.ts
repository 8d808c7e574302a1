import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { eventually } from '../eventually.ts';
import type { BgpState, Family, PeerConfig, Place, Router, RouterConfig, RouterPath } from './router.ts';

/** GoBGP 3: no BFD, no routes in the kernel. A password works for a single address only, not for a range. */
export async function startGobgp({ namespace, folder }: Place, config: RouterConfig): Promise<Router> {
  writeFileSync(`${folder}/gobgpd.yaml`, stringify(gobgpConfig(config)));
  const daemon = namespace.start([
    ...['gobgpd', '-t', 'yaml', '-f', `${folder}/gobgpd.yaml`],
    ...['--api-hosts', '127.0.0.1:50051', '--pprof-disable'],
  ]);
  const cli = async (line: string) => (await namespace.run(['gobgp', ...line.split(' ')])).stdout;
  const show = async <T>(line: string) => JSON.parse((await cli(`-j ${line}`)) || '[]') as T;
  await eventually('GoBGP answers', () => cli('neighbor'));
  for (const prefix of config.announce ?? []) {
    await cli(`global rib add ${prefix} -a ${prefix.includes(':') ? 'ipv6' : 'ipv4'}`);
  }

  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    await daemon.stop(signal);
  };
  return {
    kind: 'gobgp',
    namespace,
    async session(peer) {
      const neighbors = await show<GobgpNeighbor[]>('neighbor');
      const state = neighbors.find((neighbor) => neighbor.state.neighbor_address === peer)?.state.session_state;
      return state === undefined ? undefined : STATES[state];
    },
    async paths(family) {
      const table = await show<Record<string, GobgpPath[]>>(`global rib -a ${family}`);
      return Object.entries(table).flatMap(([prefix, paths]) => paths.map((path) => toPath(prefix, path)));
    },
    bfd: () => Promise.resolve(undefined),
    cli,
    get log() {
      return daemon.lines;
    },
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

/** `PeerState.SessionState` of GoBGP's API. */
const STATES: readonly (BgpState | undefined)[] = [
  undefined,
  'Idle',
  'Connect',
  'Active',
  'OpenSent',
  'OpenConfirm',
  'Established',
];

interface GobgpNeighbor {
  readonly state: { readonly neighbor_address: string; readonly session_state?: number };
}

interface GobgpPath {
  readonly stale?: boolean;
  readonly attrs: readonly GobgpAttribute[];
}

/** By attribute type code. */
interface GobgpAttribute {
  readonly type: number;
  readonly as_paths?: readonly { readonly asns: readonly number[] }[];
  readonly nexthop?: string;
  readonly metric?: number;
  readonly value?: unknown;
  readonly communities?: readonly number[];
}

function toPath(prefix: string, { attrs, stale = false }: GobgpPath): RouterPath {
  const attribute = (type: number) => attrs.find((candidate) => candidate.type === type);
  const [med, localPreference] = [attribute(4)?.metric, attribute(5)?.value];
  const large = (attribute(32)?.value ?? []) as { ASN: number; LocalData1: number; LocalData2: number }[];
  return {
    prefix,
    nextHop: attribute(3)?.nexthop ?? attribute(14)?.nexthop ?? '',
    asPath: attribute(2)?.as_paths?.flatMap(({ asns }) => asns) ?? [],
    ...(med === undefined ? {} : { med }),
    ...(typeof localPreference === 'number' ? { localPreference } : {}),
    communities: (attribute(8)?.communities ?? []).map((value) => `${value >>> 16}:${value & 0xffff}`),
    largeCommunities: large.map((one) => `${one.ASN}:${one.LocalData1}:${one.LocalData2}`),
    stale,
  };
}

function gobgpConfig({ asn, routerId, peers = [] }: RouterConfig): object {
  const groups = peers.filter(({ range }) => range !== undefined);
  return {
    global: { config: { as: asn, 'router-id': routerId, port: 179 } },
    neighbors: peers
      .filter(({ address }) => address !== undefined)
      .map((peer) => ({
        config: {
          'neighbor-address': peer.address,
          'peer-as': peer.asn,
          ...(peer.password === undefined ? {} : { 'auth-password': peer.password }),
        },
        ...common(peer),
      })),
    'peer-groups': groups.map((peer, i) => ({
      config: { 'peer-group-name': `range${i}`, 'peer-as': peer.asn },
      ...common(peer),
    })),
    'dynamic-neighbors': groups.map(({ range }, i) => ({ config: { prefix: range, 'peer-group': `range${i}` } })),
  };
}

function common(peer: PeerConfig): object {
  const holdTime = peer.holdTime ?? 9;
  const stalePathTime = peer.stalePathTime ?? 120;
  const families: readonly Family[] = peer.families ?? ['ipv4', 'ipv6'];
  return {
    transport: {
      config: {
        'passive-mode': peer.passive ?? true,
        ...(peer.localAddress === undefined ? {} : { 'local-address': peer.localAddress }),
      },
    },
    timers: {
      config: { 'hold-time': holdTime, 'keepalive-interval': Math.floor(holdTime / 3), 'connect-retry': 2 },
    },
    ...(peer.ttlSecurity === undefined
      ? {}
      : { 'ttl-security': { config: { enabled: true, 'ttl-min': 256 - peer.ttlSecurity } } }),
    ...(peer.multihop === undefined
      ? {}
      : { 'ebgp-multihop': { config: { enabled: true, 'multihop-ttl': peer.multihop } } }),
    'graceful-restart': {
      config: { enabled: stalePathTime > 0, 'helper-only': true, 'restart-time': stalePathTime },
    },
    'afi-safis': families.map((family) => ({
      config: { 'afi-safi-name': `${family}-unicast` },
      'mp-graceful-restart': { config: { enabled: stalePathTime > 0 } },
    })),
  };
}
