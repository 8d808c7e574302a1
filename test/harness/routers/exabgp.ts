import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { eventually } from '../eventually.ts';
import type { BgpState, Family, PeerConfig, Place, Router, RouterConfig, RouterPath } from './router.ts';

/** ExaBGP 4: keeps no table; what it hears it writes as JSON to a process, and from those lines we tell. No BFD. */
export async function startExabgp({ namespace, folder }: Place, config: RouterConfig): Promise<Router> {
  const heard = `${folder}/heard.jsonl`;
  writeFileSync(`${heard}.py`, copier(heard));
  writeFileSync(`${folder}/exabgp.conf`, exabgpConfig(config, heard));
  const local = config.peers?.flatMap(({ localAddress }) => localAddress ?? []) ?? [];
  const daemon = namespace.start(['exabgp', `${folder}/exabgp.conf`], {
    ...process.env,
    'exabgp.daemon.user': 'root',
    'exabgp.tcp.bind': local.join(' '),
    'exabgp.tcp.port': '179',
    'exabgp.log.level': 'INFO',
    'exabgp.api.cli': 'false',
  });
  await eventually('ExaBGP started its process', () => existsSync(heard));
  const events = () =>
    readFileSync(heard, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as ExaEvent);

  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    await daemon.stop(signal);
  };
  return {
    kind: 'exabgp',
    namespace,
    session(peer) {
      const states = events().filter(({ type, neighbor }) => type === 'state' && neighbor.address.peer === peer);
      const last = states.at(-1)?.neighbor.state;
      return Promise.resolve(last === undefined ? undefined : STATES[last]);
    },
    paths: (family) => Promise.resolve(replay(events(), family)),
    bfd: () => Promise.resolve(undefined),
    cli: () => Promise.resolve(readFileSync(heard, 'utf8')),
    get log() {
      return daemon.lines;
    },
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

const STATES: Readonly<Record<string, BgpState>> = { up: 'Established', connected: 'OpenSent', down: 'Idle' };

interface ExaEvent {
  readonly type: string;
  readonly neighbor: {
    readonly address: { readonly peer: string };
    readonly state?: string;
    readonly message?: { readonly update?: ExaUpdate };
  };
}

interface ExaUpdate {
  readonly attribute?: {
    readonly 'as-path'?: readonly number[];
    readonly med?: number;
    readonly 'local-preference'?: number;
    readonly community?: readonly (readonly number[])[];
    readonly 'large-community'?: readonly (readonly number[])[];
  };
  /** By family, then next hop. */
  readonly announce?: Readonly<Record<string, Readonly<Record<string, readonly { readonly nlri: string }[]>>>>;
  readonly withdraw?: Readonly<Record<string, readonly { readonly nlri: string }[]>>;
}

/** The table that the events leave behind, by peer and prefix. */
function replay(events: readonly ExaEvent[], family: Family): RouterPath[] {
  const table = new Map<string, RouterPath>();
  for (const { type, neighbor } of events) {
    const peer = neighbor.address.peer;
    if (type === 'state' && neighbor.state === 'down') {
      for (const key of table.keys()) if (key.startsWith(`${peer} `)) table.delete(key);
    }
    const update = neighbor.message?.update;
    for (const { nlri } of update?.withdraw?.[`${family} unicast`] ?? []) table.delete(`${peer} ${nlri}`);
    for (const [nextHop, routes] of Object.entries(update?.announce?.[`${family} unicast`] ?? {})) {
      for (const { nlri } of routes) table.set(`${peer} ${nlri}`, pathOf(nlri, nextHop, update?.attribute ?? {}));
    }
  }
  return [...table.values()];
}

function pathOf(prefix: string, nextHop: string, attribute: NonNullable<ExaUpdate['attribute']>): RouterPath {
  const { med, 'local-preference': localPreference } = attribute;
  const joined = (lists: readonly (readonly number[])[] = []) => lists.map((parts) => parts.join(':'));
  return {
    prefix,
    nextHop,
    asPath: attribute['as-path'] ?? [],
    ...(med === undefined ? {} : { med }),
    ...(localPreference === undefined ? {} : { localPreference }),
    communities: joined(attribute.community),
    largeCommunities: joined(attribute['large-community']),
    stale: false,
  };
}

/** ExaBGP's pipe is non-blocking, which tee, dd and their like do not bear. */
function copier(target: string): string {
  return `import sys\nout = open('${target}', 'a', buffering=1)\nfor line in sys.stdin: out.write(line)\n`;
}

function exabgpConfig({ asn, routerId, peers = [], announce = [] }: RouterConfig, heard: string): string {
  return [
    `process heard { run /usr/bin/python3 ${heard}.py; encoder json; }`,
    ...peers.flatMap((peer) => neighbor(peer, asn, routerId, announce)),
    '',
  ].join('\n');
}

/** It listens on the local address of each peer, so that `localAddress` must be given. */
function neighbor(peer: PeerConfig, asn: number, routerId: string, announce: readonly string[]): string[] {
  const stalePathTime = peer.stalePathTime ?? 120;
  const set = (text: string, wanted: unknown) => (wanted ? [`  ${text};`] : []);
  const families = peer.families ?? ['ipv4', 'ipv6'];
  return [
    `neighbor ${peer.address ?? peer.range} {`,
    ...set(`router-id ${routerId}`, true),
    ...set(`local-address ${peer.localAddress}`, true),
    ...set(`local-as ${asn}`, true),
    ...set(`peer-as ${peer.asn}`, true),
    ...set(`passive ${peer.passive ?? true}`, true),
    ...set('listen 179', peer.passive ?? true),
    ...set(`hold-time ${peer.holdTime ?? 9}`, true),
    ...set(`md5-password '${peer.password}'`, peer.password),
    ...set(`incoming-ttl ${256 - (peer.ttlSecurity ?? 0)}`, peer.ttlSecurity),
    ...set('outgoing-ttl 255', peer.ttlSecurity),
    ...set(`outgoing-ttl ${peer.multihop}`, peer.multihop),
    `  capability { asn4 enable; route-refresh enable; ${stalePathTime > 0 ? `graceful-restart ${stalePathTime}; ` : ''}}`,
    ...(peer.extendedNextHop ? ['  nexthop { ipv4 unicast ipv6; }'] : []),
    `  family { ${families.map((family) => `${family} unicast; `).join('')}}`,
    `  static { ${announce.map((prefix) => `route ${prefix} next-hop self; `).join('')}}`,
    '  api { processes [ heard ]; neighbor-changes; receive { parsed; update; notification; } }',
    '}',
  ];
}
