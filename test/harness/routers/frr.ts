import { existsSync, writeFileSync } from 'node:fs';
import { run } from '../command.ts';
import { eventually } from '../eventually.ts';
import {
  type BfdPeerConfig,
  type BgpState,
  type Family,
  isV6,
  numericCommunity,
  type PeerConfig,
  type Place,
  type Router,
  type RouterBfd,
  type RouterConfig,
  type RouterPath,
} from './router.ts';

/** FRRouting: zebra, bfdd and bgpd in the foreground, every socket below the folder. */
export async function startFrr({ namespace, folder }: Place, config: RouterConfig): Promise<Router> {
  writeFileSync(`${folder}/empty.conf`, '');
  writeFileSync(`${folder}/frr.conf`, frrConfig(config));
  // The daemons bind their sockets after they have dropped to this user.
  await run(['chown', '-R', 'frr:frr', folder]);
  const start = (name: string, ...more: string[]) =>
    namespace.start([
      `/usr/lib/frr/${name}`,
      ...['-u', 'frr', '-g', 'frr', '-f', `${folder}/empty.conf`, '-i', `${folder}/${name}.pid`],
      ...['-z', `${folder}/zserv.api`, '--vty_socket', folder, '-P', '0', '--log', 'stdout', ...more],
    ]);
  // A daemon that finds no zebra tries again only seconds later.
  const zebra = start('zebra');
  await eventually('zebra listens', () => existsSync(`${folder}/zserv.api`));
  const daemons = [zebra, start('bfdd', '--bfdctl', `${folder}/bfdd.sock`), start('bgpd')];
  const vtysh = (...args: string[]) => run(['vtysh', '--vty_socket', folder, ...args]);
  const show = async <T>(line: string) => JSON.parse((await vtysh('-c', line)).stdout) as T;
  const listening = () => ['zebra', 'bfdd', 'bgpd'].map((name) => vtysh('-d', name, '-c', 'show version'));
  await eventually('FRR answers', () => Promise.all(listening()));
  await vtysh('-f', `${folder}/frr.conf`);

  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    await Promise.all(daemons.toReversed().map((daemon) => daemon.stop(signal)));
  };
  return {
    kind: 'frr',
    namespace,
    async session(peer) {
      const neighbors = await show<Record<string, FrrNeighbor>>('show bgp neighbors json');
      return neighbors[peer]?.bgpState;
    },
    async paths(family) {
      const table = await show<{ routes?: Record<string, FrrPath[]> }>(`show bgp ${family} unicast json detail`);
      return Object.entries(table.routes ?? {}).flatMap(([prefix, paths]) =>
        paths.flatMap((path) => toPath(prefix, path)),
      );
    },
    async bfd(peer) {
      const sessions = await show<FrrBfd[]>('show bfd peers json');
      const found = sessions.find((session) => session.peer === peer);
      return found && toBfd(found);
    },
    cli: async (line) => (await vtysh('-c', line)).stdout,
    get log() {
      return daemons.flatMap((daemon) => daemon.lines);
    },
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

interface FrrNeighbor {
  readonly bgpState: BgpState;
}

interface FrrPath {
  readonly aspath?: { readonly string: string };
  readonly med?: number;
  readonly metric?: number;
  readonly locPrf?: number;
  readonly stale?: boolean;
  readonly community?: { readonly list: readonly string[] };
  readonly largeCommunity?: { readonly string: string };
  /** Absent in the first element, which describes the prefix. */
  readonly nexthops?: readonly { readonly ip: string; readonly scope?: string }[];
}

interface FrrBfd {
  readonly peer: string;
  readonly status: string;
  readonly diagnostic: string;
  readonly 'remote-diagnostic': string;
  readonly 'transmit-interval': number;
  readonly 'remote-receive-interval': number;
  readonly 'remote-transmit-interval': number;
  readonly 'receive-interval': number;
  readonly 'remote-detect-multiplier': number;
}

function toPath(prefix: string, path: FrrPath): RouterPath[] {
  const hop = path.nexthops?.find(({ scope }) => scope !== 'link-local') ?? path.nexthops?.[0];
  if (hop === undefined) return [];
  return [
    {
      prefix,
      nextHop: hop.ip,
      asPath: asNumbers(path.aspath?.string ?? ''),
      ...(path.med === undefined && path.metric === undefined ? {} : { med: path.med ?? path.metric ?? 0 }),
      ...(path.locPrf === undefined ? {} : { localPreference: path.locPrf }),
      communities: path.community?.list.map(numericCommunity) ?? [],
      largeCommunities: path.largeCommunity?.string.split(' ') ?? [],
      stale: path.stale ?? false,
    },
  ];
}

function asNumbers(text: string): number[] {
  return text
    .split(/\s+/)
    .filter((word) => /^\d+$/.test(word))
    .map(Number);
}

const FRR_BFD_STATES: Readonly<Record<string, RouterBfd['state']>> = {
  up: 'Up',
  init: 'Init',
  down: 'Down',
  shutdown: 'AdminDown',
};

function toBfd(session: FrrBfd): RouterBfd {
  return {
    state: FRR_BFD_STATES[session.status] ?? 'Down',
    transmit: Math.max(session['transmit-interval'], session['remote-receive-interval']),
    detectionTime:
      session['remote-detect-multiplier'] * Math.max(session['receive-interval'], session['remote-transmit-interval']),
    diagnostic: session.diagnostic,
    remoteDiagnostic: session['remote-diagnostic'],
  };
}

function frrConfig({ asn, routerId, peers = [], bfdPeers = [], announce = [] }: RouterConfig): string {
  const families: readonly Family[] = ['ipv4', 'ipv6'];
  return [
    'frr defaults datacenter',
    'log timestamp precision 6',
    'bfd',
    ...peers.flatMap(bfdProfile),
    ...bfdPeers.flatMap(bfdPeer),
    'exit',
    `router bgp ${asn}`,
    ` bgp router-id ${routerId}`,
    ' no bgp ebgp-requires-policy',
    ' no bgp default ipv4-unicast',
    ' no bgp network import-check',
    ' bgp bestpath as-path multipath-relax',
    ' bgp listen limit 200',
    ` bgp graceful-restart stalepath-time ${Math.max(1, ...peers.map((peer) => peer.stalePathTime ?? 120))}`,
    ...peers.flatMap(neighbor),
    ...families.flatMap((family) => [
      ` address-family ${family} unicast`,
      ...announce.filter((prefix) => isV6(prefix) === (family === 'ipv6')).map((prefix) => `  network ${prefix}`),
      ...peers
        .map((peer, i) => ({ peer, name: nameOf(peer, i) }))
        .filter(({ peer }) => (peer.families ?? families).includes(family))
        .map(({ name }) => `  neighbor ${name} activate`),
      '  maximum-paths 64',
      '  maximum-paths ibgp 64',
      ' exit-address-family',
    ]),
    'exit',
    '',
  ].join('\n');
}

/** A range is configured by a peer group. */
function nameOf(peer: PeerConfig, index: number): string {
  return peer.address ?? peer.interface ?? `RANGE${index}`;
}

function neighbor(peer: PeerConfig, index: number): string[] {
  const name = nameOf(peer, index);
  const set = (text: string, wanted: unknown) => (wanted ? [` neighbor ${name} ${text}`] : []);
  const holdTime = peer.holdTime ?? 9;
  return [
    ...(peer.range === undefined ? [] : set('peer-group', true)),
    ...(peer.interface === undefined
      ? set(`remote-as ${peer.asn}`, true)
      : set(`interface remote-as ${peer.asn}`, true)),
    ...set(`timers ${Math.floor(holdTime / 3)} ${holdTime}`, true),
    ...set('timers connect 2', true),
    ...set('passive', (peer.passive ?? true) && peer.range === undefined && peer.interface === undefined),
    ...set(`password ${peer.password}`, peer.password),
    ...set(`bfd profile p${index}`, peer.bfd),
    ...set('graceful-restart-disable', peer.stalePathTime === 0),
    ...set(`ttl-security hops ${peer.ttlSecurity}`, peer.ttlSecurity),
    ...set(`ebgp-multihop ${peer.multihop}`, peer.multihop),
    ...set(`update-source ${peer.localAddress}`, peer.localAddress),
    ...set('capability extended-nexthop', peer.extendedNextHop),
    ...set(`local-role ${peer.role}`, peer.role),
    ...(peer.range === undefined ? [] : [` bgp listen range ${peer.range} peer-group ${name}`]),
  ];
}

function bfdProfile({ bfd }: PeerConfig, index: number): string[] {
  if (bfd === undefined) return [];
  return [
    ` profile p${index}`,
    `  transmit-interval ${bfd.transmit}`,
    `  receive-interval ${bfd.receive}`,
    `  detect-multiplier ${bfd.multiplier}`,
    ' exit',
  ];
}

function bfdPeer(peer: BfdPeerConfig): string[] {
  const options = [
    ...(peer.multihop ? ['multihop'] : []),
    ...(peer.localAddress === undefined ? [] : ['local-address', peer.localAddress]),
    ...(peer.interface === undefined ? [] : ['interface', peer.interface]),
  ];
  return [
    ` peer ${[peer.address, ...options].join(' ')}`,
    `  transmit-interval ${peer.transmit}`,
    `  receive-interval ${peer.receive}`,
    `  detect-multiplier ${peer.multiplier}`,
    '  no shutdown',
    ' exit',
  ];
}
