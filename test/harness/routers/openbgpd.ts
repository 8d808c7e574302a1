import { mkdirSync, writeFileSync } from 'node:fs';
import { run } from '../command.ts';
import { eventually } from '../eventually.ts';
import {
  type BgpState,
  numericCommunity,
  type PeerConfig,
  type Place,
  type Router,
  type RouterConfig,
  type RouterPath,
} from './router.ts';

/** OpenBGPD: no BFD, no routes in the kernel on Linux. A password works for a single address only, not for a range. */
export async function startOpenbgpd({ namespace, folder }: Place, config: RouterConfig): Promise<Router> {
  const socket = `${folder}/bgpd.sock`;
  // It refuses a configuration that others may read.
  writeFileSync(`${folder}/bgpd.conf`, openbgpdConfig(config, socket), { mode: 0o600 });
  mkdirSync('/run/openbgpd', { recursive: true });
  const daemon = namespace.start(['bgpd', '-d', '-v', '-f', `${folder}/bgpd.conf`]);
  const cli = async (line: string) => (await run(['bgpctl', '-s', socket, ...line.split(' ')])).stdout;
  const show = async <T>(line: string) => JSON.parse(await cli(`-j show ${line}`)) as T;
  await eventually('OpenBGPD answers', () =>
    daemon.running ? cli('show summary') : Promise.reject(new Error(daemon.lines.join('\n'))),
  );

  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    await daemon.stop(signal);
  };
  return {
    kind: 'openbgpd',
    namespace,
    async session(peer) {
      const { neighbors } = await show<{ neighbors: { remote_addr: string; state: BgpState }[] }>('neighbor');
      return neighbors.find((neighbor) => neighbor.remote_addr === peer)?.state;
    },
    async paths(family) {
      const { rib } = await show<{ rib?: OpenbgpdPath[] }>(`rib ${family === 'ipv4' ? 'inet' : 'inet6'} detail`);
      return (rib ?? []).map(toPath);
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

interface OpenbgpdPath {
  readonly prefix: string;
  readonly aspath: string;
  readonly exit_nexthop: string;
  readonly true_nexthop: string;
  readonly metric: number;
  readonly localpref: number;
  readonly communities?: readonly string[];
  readonly large_communities?: readonly string[];
  readonly stale?: boolean;
}

function toPath(path: OpenbgpdPath): RouterPath {
  return {
    prefix: path.prefix,
    nextHop: path.exit_nexthop,
    asPath: path.aspath.split(' ').filter(Boolean).map(Number),
    med: path.metric,
    localPreference: path.localpref,
    communities: path.communities?.map(numericCommunity) ?? [],
    largeCommunities: path.large_communities ?? [],
    stale: path.stale ?? false,
  };
}

function openbgpdConfig({ asn, routerId, peers = [], announce = [] }: RouterConfig, socket: string): string {
  return [
    `AS ${asn}`,
    `router-id ${routerId}`,
    'fib-update no',
    `socket "${socket}"`,
    ...peers.flatMap(({ localAddress }) => (localAddress === undefined ? [] : [`listen on ${localAddress}`])),
    ...announce.map((prefix) => `network ${prefix}`),
    ...peers.flatMap(neighbor),
    'allow from any',
    'allow to any',
    '',
  ].join('\n');
}

function neighbor(peer: PeerConfig, index: number): string[] {
  const families = peer.families ?? ['ipv4', 'ipv6'];
  const set = (text: string, wanted: unknown) => (wanted ? [`  ${text}`] : []);
  return [
    `neighbor ${peer.address ?? peer.range} {`,
    ...set(`descr "peer${index}"`, true),
    ...set(`remote-as ${peer.asn}`, true),
    ...set(`holdtime ${peer.holdTime ?? 9}`, true),
    // No local-address here: with it, the listener gets no key.
    ...set('passive', peer.passive ?? true),
    ...set(`tcp md5sig password ${peer.password}`, peer.password),
    ...set('ttl-security yes', peer.ttlSecurity),
    ...set(`multihop ${peer.multihop}`, peer.multihop),
    ...set(`announce policy ${peer.role === 'rs-server' ? 'rs' : peer.role}`, peer.role),
    ...set(`announce restart ${(peer.stalePathTime ?? 120) > 0 ? 'yes' : 'no'}`, true),
    ...(['ipv4', 'ipv6'] as const).map(
      (family) => `  announce ${family === 'ipv4' ? 'IPv4' : 'IPv6'} ${families.includes(family) ? 'unicast' : 'none'}`,
    ),
    '}',
  ];
}
