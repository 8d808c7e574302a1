import { writeFileSync } from 'node:fs';
import { run } from '../command.ts';
import { eventually } from '../eventually.ts';
import {
  type BgpState,
  type Family,
  isV6,
  type PeerConfig,
  type Place,
  type Router,
  type RouterBfd,
  type RouterConfig,
  type RouterPath,
} from './router.ts';

/** BIRD 2, in the foreground; routes go to the kernel, equal ones merged. */
export async function startBird({ namespace, folder }: Place, config: RouterConfig): Promise<Router> {
  writeFileSync(`${folder}/bird.conf`, birdConfig(config));
  const socket = `${folder}/bird.ctl`;
  const files = ['-c', `${folder}/bird.conf`, '-s', socket, '-P', `${folder}/bird.pid`];
  const bird = namespace.start(['bird', '-f', ...files]);
  const cli = async (line: string) => (await run(['birdc', '-s', socket, ...line.split(' ')])).stdout;
  await eventually('BIRD answers', () =>
    bird.running ? cli('show status') : Promise.reject(new Error(bird.lines.join('\n'))),
  );

  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    await bird.stop(signal);
  };
  return {
    kind: 'bird',
    namespace,
    async session(peer) {
      const blocks = (await cli('show protocols all')).split('\n\n');
      const mine = blocks.filter((block) => /^\S+\s+BGP\s/m.test(block) && field(block, 'Neighbor address') === peer);
      return mine.map((block) => field(block, 'BGP state')).find(Boolean) as BgpState | undefined;
    },
    async paths(family) {
      return pathsOf(await cli(`show route table master${family === 'ipv4' ? 4 : 6} all`));
    },
    async bfd(peer) {
      return bfdOf(await cli('show bfd sessions'), peer);
    },
    cli,
    get log() {
      return bird.lines;
    },
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

function field(block: string, name: string): string | undefined {
  return new RegExp(`^\\s+${name}:\\s+(\\S+)`, 'm').exec(block)?.[1];
}

/** `PREFIX unicast [proto ...] * (100) [AS65001i]`, further paths of it without PREFIX, each with indented lines. */
function pathsOf(text: string): RouterPath[] {
  const paths: RouterPath[] = [];
  let prefix = '';
  for (const block of text.split(/\n(?=[^\t\n]*\[[^\]]*\] )/)) {
    const head = /^(\S*)\s+unicast \[/.exec(block);
    if (!head) continue;
    prefix = head[1] || prefix;
    const nextHop = /^\s+BGP\.next_hop: (\S+)/m.exec(block)?.[1];
    if (nextHop !== undefined) paths.push(pathOf(prefix, nextHop, block));
  }
  return paths;
}

function pathOf(prefix: string, nextHop: string, block: string): RouterPath {
  const attribute = (name: string) => new RegExp(`^\\s+BGP\\.${name}: ?(.*)$`, 'm').exec(block)?.[1];
  const [med, localPreference] = [attribute('med'), attribute('local_pref')];
  const list = (name: string) =>
    Array.from((attribute(name) ?? '').matchAll(/\(([^)]*)\)/g), ([, items = '']) => items);
  return {
    prefix,
    nextHop,
    asPath: (attribute('as_path') ?? '').split(' ').filter(Boolean).map(Number),
    ...(med === undefined ? {} : { med: Number(med) }),
    ...(localPreference === undefined ? {} : { localPreference: Number(localPreference) }),
    communities: list('community').map((items) => items.replace(',', ':')),
    largeCommunities: list('large_community').map((items) => items.replaceAll(', ', ':')),
    // `(100s)`: rte_stale() in bgp_get_route_info().
    stale: /^.*\(\d+-?s[/)]/.test(block),
  };
}

/** `IP address  Interface  State  Since  Interval  Timeout`, in seconds. */
function bfdOf(text: string, peer: string): RouterBfd | undefined {
  const columns = text
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .find(([address]) => address === peer);
  if (columns === undefined) return undefined;
  const [interval, timeout] = columns.slice(-2).map(Number);
  return {
    state: columns[2] as RouterBfd['state'],
    transmit: Math.round((interval ?? 0) * 1000),
    detectionTime: Math.round((timeout ?? 0) * 1000),
  };
}

function birdConfig({ asn, routerId, peers = [], bfdPeers = [], announce = [] }: RouterConfig): string {
  const timers = [...peers.flatMap(({ bfd }) => bfd ?? []), ...bfdPeers][0];
  const origin = (family: Family) => announce.filter((prefix) => isV6(prefix) === (family === 'ipv6'));
  return [
    'log stderr all;',
    `router id ${routerId};`,
    'protocol device { scan time 10; }',
    'protocol direct { ipv4; ipv6; }',
    'protocol kernel k4 { ipv4 { import none; export where source = RTS_BGP; }; merge paths yes limit 64; }',
    'protocol kernel k6 { ipv6 { import none; export where source = RTS_BGP; }; merge paths yes limit 64; }',
    `protocol static o4 { ipv4; ${origin('ipv4')
      .map((prefix) => `route ${prefix} blackhole;`)
      .join(' ')} }`,
    `protocol static o6 { ipv6; ${origin('ipv6')
      .map((prefix) => `route ${prefix} blackhole;`)
      .join(' ')} }`,
    ...(timers === undefined
      ? []
      : [
          'protocol bfd {',
          ...['interface "*"', 'multihop'].map(
            (where) =>
              `  ${where} { min tx interval ${timers.transmit} ms; min rx interval ${timers.receive} ms; multiplier ${timers.multiplier}; };`,
          ),
          ...bfdPeers.map(
            ({ address, localAddress, interface: device, multihop }) =>
              `  neighbor ${address}${device === undefined ? '' : ` dev "${device}"`}${localAddress === undefined ? '' : ` local ${localAddress}`}${multihop ? ' multihop' : ''};`,
          ),
          '}',
        ]),
    ...peers.flatMap((peer, i) => neighbor(asn, peer, i)),
    '',
  ].join('\n');
}

const ROLES = {
  provider: 'provider',
  'rs-server': 'rs_server',
  'rs-client': 'rs_client',
  customer: 'customer',
  peer: 'peer',
} as const;

function neighbor(localAs: number, peer: PeerConfig, index: number): string[] {
  const holdTime = peer.holdTime ?? 9;
  const set = (text: string, wanted: unknown) => (wanted ? [`  ${text};`] : []);
  const families = peer.families ?? ['ipv4', 'ipv6'];
  const stalePathTime = peer.stalePathTime ?? 120;
  return [
    `protocol bgp peer${index} {`,
    ...set(`local ${peer.localAddress ?? ''} as ${localAs}`, true),
    ...set(`neighbor ${peer.address} as ${peer.asn}`, peer.address),
    ...set(`neighbor range ${peer.range} as ${peer.asn}`, peer.range),
    ...set(`dynamic name "dynamic${index}_"`, peer.range),
    ...set('passive', peer.passive ?? true),
    ...set('direct', peer.multihop === undefined && localAs !== peer.asn),
    ...set(`multihop ${peer.multihop}`, peer.multihop),
    ...set('ttl security on', peer.ttlSecurity),
    ...set(`hold time ${holdTime}`, true),
    ...set(`keepalive time ${Math.floor(holdTime / 3)}`, true),
    ...set('connect delay time 1', true),
    ...set('error wait time 1, 4', true),
    ...set('bfd on', peer.bfd),
    ...set(`password "${peer.password}"`, peer.password),
    ...set('graceful restart aware', stalePathTime > 0),
    ...set('graceful restart off', stalePathTime === 0),
    ...set('enable extended messages on', true),
    ...set(`local role ${peer.role && ROLES[peer.role]}`, peer.role),
    ...families.map((family) => {
      const extended = family === 'ipv4' && peer.extendedNextHop ? 'extended next hop on; ' : '';
      return `  ${family} { import all; export where source = RTS_STATIC; ${extended}};`;
    }),
    '}',
  ];
}
