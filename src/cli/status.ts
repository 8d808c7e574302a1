import { formatProblem } from '../../net/result.ts';
import type { ConditionView, RouteView, StatusDocument, VipView } from '../observability/status-document.ts';
import { isBad } from './conditions.ts';
import { callDaemon, watchDaemon } from './control-client.ts';
import { columns, type Format, type Output, paint, structured } from './output.ts';

export interface StatusOptions {
  readonly socket: string;
  readonly format: Format;
  readonly watch: boolean;
}

/** `signpost status`: routes, VIPs and what is wrong on this node. Exit code 1 where the daemon does not answer. */
export async function status(options: StatusOptions, output: Output, signal: AbortSignal): Promise<number> {
  const show = (document: unknown) =>
    output.out(`${renderStatus(document as StatusDocument, options.format, output)}\n`);
  if (options.watch) {
    const watched = await watchDaemon(options.socket, show, signal);
    if (watched.problem !== undefined) output.err(`${formatProblem(watched.problem)}\n`);
    return watched.problem === undefined ? 0 : 1;
  }
  const reply = await callDaemon(options.socket, 'GET', '/status');
  if (reply.problem !== undefined) {
    output.err(`${formatProblem(reply.problem)}\n`);
    return 1;
  }
  show(reply.ok.body);
  return 0;
}

export function renderStatus(document: StatusDocument, format: Format, output: Output): string {
  if (format === 'json' || format === 'yaml') return structured(format, document);
  const wide = format === 'wide';
  const sections = [header(document, output), routeTable(document.routes, wide, output), vips(document, output)];
  return [...sections, troubles(document, output)].filter((section) => section !== '').join('\n\n');
}

function header(document: StatusDocument, output: Output): string {
  const { source } = document;
  const alive = document.members.filter((member) => member.alive !== false).length;
  const state =
    source.staleSince !== undefined ? `stale since ${source.staleSince}` : source.synced ? 'synced' : 'reading';
  const leases = document.leases.map(
    (lease) => `${lease.segment} ${lease.held ? 'held' : 'not held'} (voters ${lease.voters.join(', ')})`,
  );
  return [
    `${paint(output, 'bold', `node ${document.node}`)}  signpost ${document.version}  ${source.kind} ${source.detail}: ${state}`,
    `speakers ${alive} of ${document.members.length} alive${leases.length > 0 ? `, lease ${leases.join('; ')}` : ''}`,
    `forwarding ${document.forwarding.entries} entries for ${document.forwarding.vips} VIPs, ${document.forwarding.applied ? 'in the kernel' : 'not in the kernel'}`,
    ...sessions(document),
  ].join('\n');
}

function sessions({ sessions: all }: StatusDocument): string[] {
  const established = all.filter(({ state }) => state === 'Established').length;
  return all.length === 0 ? [] : [`bgp ${established} of ${all.length} sessions established`];
}

/** A RouteView, or what the API server says of a route. */
export interface RouteRow extends Omit<RouteView, 'addresses' | 'forwarding'> {
  readonly addresses: readonly string[];
  readonly forwarding: readonly { readonly address: string; readonly mode: string }[];
}

export function routeTable(routes: readonly RouteRow[], wide: boolean, output: Output): string {
  if (routes.length === 0) return 'no ServiceRoutes';
  const head = ['NAMESPACE', 'NAME', 'ADDRESS', 'PORTS', 'BACKENDS', 'ANNOUNCED-BY', 'PROGRAMMED'];
  const more = ['MODE', 'FORWARDING', 'ENDPOINTS', 'POLICY', 'POOL', 'REASON'];
  const row = (route: RouteRow) => {
    const programmed = condition(route, 'Programmed');
    const shown = programmed?.status ?? 'Unknown';
    return [
      route.namespace,
      route.name,
      orNone(route.addresses),
      orNone(route.ports),
      orNone(route.backends),
      orNone(route.announcedBy),
      paint(output, shown === 'True' ? 'green' : 'red', shown),
      ...(wide
        ? [route.mode, forwardingModes(route), route.endpoints, route.policy, route.pool, programmed?.reason ?? '']
        : []),
    ];
  };
  return columns(wide ? [...head, ...more] : head, routes.map(row));
}

/** The mode in force; where its VIPs differ, of each. */
function forwardingModes({ forwarding }: RouteRow): string {
  const modes = [...new Set(forwarding.map(({ mode }) => mode))];
  return modes.length === 1 ? String(modes[0]) : orNone(forwarding.map(({ address, mode }) => `${address} ${mode}`));
}

function vips(document: StatusDocument, output: Output): string {
  if (document.vips.length === 0) return '';
  const head = ['VIP', 'MODE', 'LEADER', 'INTERFACE', 'EPOCH', 'FENCED', 'SINCE', 'WHY'];
  return columns(
    head,
    document.vips.map((vip) => [
      vip.vip,
      vip.mode,
      leader(vip, document, output),
      vip.interface ?? '-',
      String(vip.epoch),
      vip.mode === 'L2' && vip.holder !== undefined ? (vip.fenced ? 'yes' : paint(output, 'yellow', 'no')) : '-',
      vip.since ?? '-',
      vip.why,
    ]),
  );
}

function leader({ holder, peers }: VipView, { node }: StatusDocument, output: Output): string {
  if (holder !== undefined) return holder === node ? paint(output, 'bold', holder) : holder;
  return peers === undefined ? paint(output, 'red', 'nobody') : `to ${peers.join(', ')}`;
}

/** Everything that is not as its author asked, one line each. */
function troubles(document: StatusDocument, output: Output): string {
  const lines = [
    ...document.source.problems,
    ...wrong(`node ${document.node}`, document.conditions),
    ...document.pools.flatMap((pool) => wrong(`AddressPool ${pool.name}`, pool.conditions)),
    ...document.routes.flatMap((route) => wrong(`ServiceRoute ${route.namespace}/${route.name}`, route.conditions)),
    ...document.sessions
      .filter(({ state }) => state !== 'Established')
      .map(({ peer, state, reason }) => `BGPPeer ${peer}: ${state}${reason === undefined ? '' : `: ${reason}`}`),
    ...(document.forwarding.problem === undefined ? [] : [`forwarding: ${document.forwarding.problem}`]),
  ];
  return marked(lines, output);
}

/** A line for each bad condition of the subject. */
export function wrong(subject: string, conditions: readonly ConditionView[]): string[] {
  return conditions.filter(isBad).map((c) => `${subject}: ${c.type}=${c.status} ${c.reason}: ${c.message}`);
}

export function marked(lines: readonly string[], output: Output): string {
  return lines.map((line) => `${paint(output, 'yellow', '!')} ${line}`).join('\n');
}

function condition(route: RouteRow, type: string): ConditionView | undefined {
  return route.conditions.find((candidate) => candidate.type === type);
}

function orNone(list: readonly string[]): string {
  return list.length === 0 ? '<none>' : list.join(',');
}
