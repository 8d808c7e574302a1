import type { BgpRoutesView, BgpRouteView, BgpSessionView } from '../../observability/bgp-status.ts';
import { columns } from '../output.ts';
import { neighborName } from './format.ts';

/** The columns of FRR's `show bgp neighbors PEER advertised-routes`, with the VIPs of aggregates. */
export function renderRoutes(tables: readonly BgpRoutesView[], sessions: readonly BgpSessionView[]): string {
  const addresses = new Map(sessions.map((session) => [session.peer, neighborName(session)]));
  return tables
    .map(({ peer, routes }) => {
      const head = `Routes to ${peer} (${addresses.get(peer) ?? '-'}): ${routes.length}`;
      if (routes.length === 0) return head;
      const rows = columns(
        ['', 'Network', 'Next Hop', 'Metric', 'LocPrf', 'Path', 'Communities', 'VIPs'],
        routes.map(row),
      );
      return `${head}\n${rows}\n* advertised, - waiting`;
    })
    .join('\n\n');
}

/** More VIPs of one aggregate than that are a count. */
const VIPS_SHOWN = 3;

function row(route: BgpRouteView): string[] {
  const more = route.vips.length - VIPS_SHOWN;
  return [
    route.advertised ? '*' : '-',
    route.prefix,
    route.nextHop,
    String(route.med ?? ''),
    String(route.localPreference ?? ''),
    [...route.asPath, 'i'].join(' '),
    route.communities.join(' '),
    `${route.vips.slice(0, VIPS_SHOWN).join(',')}${more > 0 ? ` and ${more} more` : ''}`,
  ];
}
