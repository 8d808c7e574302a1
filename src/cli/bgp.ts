import { formatProblem } from '../../net/result.ts';
import type { BgpRoutesView, BgpStatus } from '../observability/bgp-status.ts';
import { renderEvents } from './bgp/events.ts';
import { renderNeighbors } from './bgp/neighbor.ts';
import { renderRoutes } from './bgp/routes.ts';
import { renderSummary } from './bgp/summary.ts';
import { callDaemon } from './control-client.ts';
import { EXIT } from './exit-codes.ts';
import { type Format, type Output, structured } from './output.ts';

export interface BgpOptions {
  readonly socket: string;
  readonly format: Format;
  /** Name of a BGPPeer or address of a peer; absent: all. */
  readonly peer?: string;
}

/** `signpost bgp summary`: one line a session, as `show bgp summary` of FRR has it. */
export function bgpSummary(options: BgpOptions, output: Output): Promise<number> {
  return show(options, output, (status) => renderSummary(status, output));
}

/** `signpost bgp neighbor [PEER]`: everything about sessions, as `show bgp neighbors` of FRR has it. */
export function bgpNeighbor(options: BgpOptions, output: Output): Promise<number> {
  return show(options, output, (status) => renderNeighbors(status, output));
}

/** `signpost bgp events [--peer PEER]`: what happened lately. */
export function bgpEvents(options: BgpOptions, output: Output): Promise<number> {
  return show(options, output, renderEvents);
}

/** `signpost bgp routes [--peer PEER]`: what each peer was sent. */
export async function bgpRoutes(options: BgpOptions, output: Output): Promise<number> {
  const status = await ask<BgpStatus>(options.socket, '/bgp', output);
  if (status === undefined) return EXIT.failed;
  const sessions = selected(status, options.peer).sessions;
  if (sessions.length === 0) return unknownPeer(status, options.peer, output);
  const tables: BgpRoutesView[] = [];
  for (const { peer } of sessions) {
    const routes = await ask<BgpRoutesView>(options.socket, `/bgp/routes?peer=${encodeURIComponent(peer)}`, output);
    if (routes === undefined) return EXIT.failed;
    tables.push(routes);
  }
  output.out(`${isStructured(options.format) ? structured(options.format, tables) : renderRoutes(tables, sessions)}\n`);
  return EXIT.ok;
}

async function show(options: BgpOptions, output: Output, render: (status: BgpStatus) => string): Promise<number> {
  const all = await ask<BgpStatus>(options.socket, '/bgp', output);
  if (all === undefined) return EXIT.failed;
  const status = selected(all, options.peer);
  if (options.peer !== undefined && status.sessions.length + status.withoutSession.length === 0) {
    return unknownPeer(all, options.peer, output);
  }
  output.out(`${isStructured(options.format) ? structured(options.format, status) : render(status)}\n`);
  return EXIT.ok;
}

async function ask<T>(socket: string, path: string, output: Output): Promise<T | undefined> {
  const reply = await callDaemon(socket, 'GET', path);
  if (reply.problem !== undefined) {
    output.err(`${formatProblem(reply.problem)}\n`);
    return undefined;
  }
  if (reply.ok.status === 200) return reply.ok.body as T;
  output.err(`${(reply.ok.body as { message?: string } | undefined)?.message ?? `HTTP ${reply.ok.status}`}\n`);
  return undefined;
}

function selected(status: BgpStatus, peer: string | undefined): BgpStatus {
  if (peer === undefined) return status;
  const sessions = status.sessions.filter((session) => session.peer === peer || session.address === peer);
  const names = new Set([peer, ...sessions.map((session) => session.peer)]);
  return {
    ...status,
    sessions,
    withoutSession: status.withoutSession.filter((one) => names.has(one.peer)),
    events: status.events.filter((event) => names.has(event.peer)),
  };
}

function unknownPeer(status: BgpStatus, peer: string | undefined, output: Output): number {
  const names = status.sessions.map((session) => session.peer);
  const known = names.length === 0 ? 'this node has no BGP session' : `known are ${names.join(', ')}`;
  output.err(peer === undefined ? `${known}\n` : `no BGPPeer ${peer} on this node; ${known}\n`);
  return EXIT.failed;
}

function isStructured(format: Format): format is 'json' | 'yaml' {
  return format === 'json' || format === 'yaml';
}
