import type { AddressPool } from '../../api/address-pool.ts';
import type { BGPPeer } from '../../api/bgp-peer.ts';
import type { ServiceRoute } from '../../api/service-route.ts';
import type { Speaker } from '../../api/speaker.ts';
import { EXIT } from '../exit-codes.ts';
import { columns, type Format, type Output, paint, structured } from '../output.ts';
import { marked, type RouteRow, routeTable, wrong } from '../status.ts';
import { fail, listPeers, listPools, listRoutes, listSpeakers, type PluginContext } from './context.ts';

export interface ClusterObjects {
  readonly routes: readonly ServiceRoute[];
  readonly pools: readonly AddressPool[];
  readonly peers: readonly BGPPeer[];
  readonly speakers: readonly Speaker[];
}

/** `kubectl signpost status`: every speaker, every route, and all that is not as its author asked. */
export async function clusterStatus(context: PluginContext): Promise<number> {
  const [routes, pools, peers, speakers] = await Promise.all([
    listRoutes(context),
    listPools(context),
    listPeers(context),
    listSpeakers(context),
  ]);
  if (routes.problem !== undefined) return fail(context, routes.problem);
  if (pools.problem !== undefined) return fail(context, pools.problem);
  if (peers.problem !== undefined) return fail(context, peers.problem);
  if (speakers.problem !== undefined) return fail(context, speakers.problem);
  const objects = { routes: routes.ok, pools: pools.ok, peers: peers.ok, speakers: speakers.ok };
  const { server, format, output } = context;
  output.out(`${renderClusterStatus(objects, server, format, output)}\n`);
  return EXIT.ok;
}

export function renderClusterStatus(objects: ClusterObjects, server: string, format: Format, output: Output): string {
  if (format === 'json' || format === 'yaml') return structured(format, objects);
  const { routes, speakers } = objects;
  const sections = [
    header(objects, server, output),
    speakerTable(speakers, output),
    routeTable(routes.map(routeRow), format === 'wide', output),
    marked(troubles(objects), output),
  ];
  return sections.filter((section) => section !== '').join('\n\n');
}

function header({ speakers, pools }: ClusterObjects, server: string, output: Output): string {
  const ready = speakers.filter(({ status }) => status?.summary?.ready === 'True').length;
  const used = pools.reduce((sum, { status }) => sum + (status?.used ?? 0), 0);
  const total = pools.reduce((sum, { status }) => sum + (status?.total ?? 0), 0);
  return [
    paint(output, 'bold', server),
    `speakers ${ready} of ${speakers.length} ready, ${used} of ${total} addresses used`,
  ].join('\n');
}

function speakerTable(speakers: readonly Speaker[], output: Output): string {
  const row = ({ metadata, spec, status }: Speaker) => [
    metadata.name,
    status?.summary?.ready === 'True' ? paint(output, 'green', 'True') : paint(output, 'red', 'False'),
    status?.summary?.l2Vips ?? '0',
    status?.summary?.sessions ?? '-',
    status?.lease === undefined ? '-' : status.lease.held ? 'held' : paint(output, 'yellow', 'not held'),
    spec.drain ? paint(output, 'yellow', 'yes') : 'no',
    (status?.interfaces ?? []).join(',') || '<none>',
    status?.version ?? '<none>',
  ];
  const head = ['NODE', 'READY', 'L2-VIPS', 'SESSIONS', 'LEASE', 'DRAINED', 'INTERFACES', 'VERSION'];
  return speakers.length === 0 ? 'no Speakers' : columns(head, speakers.map(row));
}

function routeRow({ metadata, spec, status }: ServiceRoute): RouteRow {
  const { summary } = status ?? {};
  const list = (text: string | undefined) => (text ? text.split(',') : []);
  return {
    namespace: metadata.namespace ?? 'default',
    name: metadata.name,
    addresses: list(summary?.addresses),
    ports: list(summary?.ports),
    backends: list(summary?.backends),
    announcedBy: list(summary?.announcedBy),
    mode: summary?.mode ?? '',
    endpoints: summary?.endpoints ?? '',
    policy: spec.trafficPolicy,
    pool: summary?.pool ?? '',
    // As asked; where it cannot be, the condition Direct says so.
    forwarding: [{ address: '', mode: spec.forwarding }],
    conditions: status?.conditions ?? [],
  };
}

function troubles({ routes, pools, peers, speakers }: ClusterObjects): string[] {
  return [...speakers, ...pools, ...peers, ...routes].flatMap(({ kind, metadata, status }) => {
    const { namespace, name } = metadata;
    return wrong(`${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`, status?.conditions ?? []);
  });
}
