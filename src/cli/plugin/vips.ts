import type { ServiceRoute } from '../../api/service-route.ts';
import { EXIT } from '../exit-codes.ts';
import { columns, type Output, paint, structured } from '../output.ts';
import { fail, listRoutes, type PluginContext } from './context.ts';

export interface ClusterVip {
  readonly vip: string;
  readonly pool: string;
  /** `namespace/name`. */
  readonly routes: readonly string[];
  readonly announcements: readonly Announcement[];
  /** Why nobody announces it, in the words of its routes; empty where somebody does. */
  readonly why: string;
  readonly reachable: string;
}

type Announcement = NonNullable<NonNullable<ServiceRoute['status']>['announcements']>[number];

/** Every VIP that a route has, in the order of the routes. */
export function vipsOf(routes: readonly ServiceRoute[]): readonly ClusterVip[] {
  const vips = new Map<string, ServiceRoute[]>();
  for (const route of routes) {
    for (const { value } of route.status?.addresses ?? []) vips.set(value, [...(vips.get(value) ?? []), route]);
  }
  return Array.from(vips, ([vip, holders]) => vipOf(vip, holders));
}

function vipOf(vip: string, holders: readonly ServiceRoute[]): ClusterVip {
  const statuses = holders.flatMap(({ status }) => (status === undefined ? [] : [status]));
  const conditions = statuses.flatMap((status) => status.conditions ?? []);
  const announcements = statuses
    .flatMap((status) => status.announcements ?? [])
    .filter(({ address }) => address === vip);
  const dark = conditions.filter(({ type, status }) => type === 'Programmed' && status !== 'True');
  return {
    vip,
    pool: statuses.find(({ summary }) => summary?.pool)?.summary?.pool ?? '',
    routes: holders.map(({ metadata }) => `${metadata.namespace ?? 'default'}/${metadata.name}`),
    // Routes that share a VIP tell of the same announcements.
    announcements: [...new Map(announcements.map((said) => [`${said.mode} ${said.node}`, said])).values()],
    why: announcements.length > 0 ? '' : (dark[0]?.message ?? 'no speaker has told of it yet'),
    reachable: conditions.find(({ type }) => type === 'Reachable')?.status ?? 'Unknown',
  };
}

/** `kubectl signpost get vips`: who announces each VIP, and which routes it serves. */
export async function getVips(context: PluginContext): Promise<number> {
  return showVips(context, undefined, vipTable);
}

/** `kubectl signpost leaders [VIP]`: who answers for each VIP on its LAN, or why nobody does. */
export async function clusterLeaders(context: PluginContext, vip: string | undefined): Promise<number> {
  return showVips(context, vip, leaderTable);
}

async function showVips(
  context: PluginContext,
  wanted: string | undefined,
  table: (vips: readonly ClusterVip[], output: Output) => string,
): Promise<number> {
  const { format, output } = context;
  const routes = await listRoutes(context);
  if (routes.problem !== undefined) return fail(context, routes.problem);
  const vips = vipsOf(routes.ok).filter(({ vip }) => wanted === undefined || vip === wanted);
  if (vips.length === 0) {
    output.err(wanted === undefined ? 'no route has a VIP\n' : `no route has the VIP ${wanted}\n`);
    return wanted === undefined ? EXIT.ok : EXIT.failed;
  }
  output.out(`${format === 'json' || format === 'yaml' ? structured(format, vips) : table(vips, output)}\n`);
  return EXIT.ok;
}

export function vipTable(vips: readonly ClusterVip[], output: Output): string {
  const rows = vips.map(({ vip, pool, routes, announcements }) => [
    vip,
    pool,
    distinct(announcements.map(({ mode }) => mode)) || 'None',
    distinct(announcements.map(({ node }) => node)) || paint(output, 'red', 'nobody'),
    distinct(announcements.flatMap(({ interface: name, peers = [] }) => (name === undefined ? peers : [name]))) || '-',
    routes.join(','),
  ]);
  return columns(['VIP', 'POOL', 'MODE', 'ANNOUNCED-BY', 'VIA', 'ROUTES'], rows);
}

/** VIPs that BGP alone announces have no leader. */
export function leaderTable(vips: readonly ClusterVip[], output: Output): string {
  const rows = vips.flatMap(({ vip, announcements, why, reachable }) => {
    const leader = announcements.find(({ mode }) => mode === 'L2');
    if (leader === undefined)
      return announcements.length > 0 ? [] : [[vip, paint(output, 'red', 'nobody'), '-', '-', '-', why]];
    return [[vip, leader.node, leader.interface ?? '-', leader.since, reachable, '']];
  });
  return columns(['VIP', 'LEADER', 'INTERFACE', 'SINCE', 'REACHABLE', 'WHY'], rows);
}

function distinct(texts: readonly string[]): string {
  return [...new Set(texts)].join(',');
}
