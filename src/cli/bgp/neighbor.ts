import type {
  BfdView,
  BgpCapabilityView,
  BgpFamilyView,
  BgpSessionView,
  BgpStatus,
  MessageCounts,
  NotificationView,
} from '../../observability/bgp-status.ts';
import { type Output, paint } from '../output.ts';
import { formatUptime, neighborName } from './format.ts';
import { totalOf } from './summary.ts';

/** The paragraphs of FRR's `show bgp neighbors`. */
export function renderNeighbors({ sessions, withoutSession }: BgpStatus, output: Output): string {
  const without = withoutSession.map(({ peer, reason }) => `BGPPeer ${peer} has no session on this node: ${reason}`);
  const parts = [...sessions.map((session) => renderNeighbor(session, output)), ...without];
  return parts.length === 0 ? 'no BGP session' : parts.join('\n\n');
}

function renderNeighbor(session: BgpSessionView, output: Output): string {
  const { localAsn, remoteAsn, state, timers, families, capabilities } = session;
  const link = remoteAsn === localAsn || remoteAsn === 'internal' ? 'internal' : 'external';
  const isUp = state === 'Established';
  return [
    `BGP neighbor is ${paint(output, 'bold', neighborName(session))}, remote AS ${remoteAsn}, local AS ${localAsn}, ${link} link`,
    `  Description: ${session.peer}`,
    `  BGP version 4, remote router ID ${session.remoteId ?? '0.0.0.0'}, local router ID ${session.localId}`,
    `  BGP state = ${paint(output, isUp ? 'green' : 'red', state)}, ${isUp ? 'up' : 'so'} for ${formatUptime(session.seconds)}`,
    `  Hold time is ${timers.holdTime} seconds, keepalive interval is ${timers.keepaliveTime} seconds`,
    `  Connect retry time is ${timers.connectRetryTime} seconds${session.passive ? ', passive' : ''}`,
    ...transport(session),
    ...(capabilities.length === 0 ? [] : ['  Neighbor capabilities:', ...capabilities.map(capability)]),
    ...statistics(session.sent, session.received),
    ...families.flatMap((view) => family(view, session.bfd?.state === 'Up')),
    `  Connections established ${session.established}`,
    ...(session.lastError === undefined ? [] : [`  Last error ${session.lastError.at}: ${session.lastError.text}`]),
    ...notification('sent', session.lastNotificationSent),
    ...notification('received', session.lastNotificationReceived),
    ...(session.bfd === undefined ? [] : bfd(session.bfd)),
  ].join('\n');
}

function transport({ localAddress, password, ttlSecurity, multiHop, unsentBytes }: BgpSessionView): string[] {
  const facts = [
    ...(localAddress === undefined ? [] : [`local address ${localAddress}`]),
    ...(password ? ['TCP MD5 password'] : []),
    ...(ttlSecurity === undefined ? [] : [`TTL security, at most ${ttlSecurity} hops away`]),
    ...(multiHop === undefined ? [] : [`multihop with TTL ${multiHop}`]),
    ...(unsentBytes === 0 ? [] : [`${unsentBytes} bytes not yet sent`]),
  ];
  return facts.length === 0 ? [] : [`  Transport: ${facts.join(', ')}`];
}

function capability({ name, sent, received }: BgpCapabilityView): string {
  return `    ${name}: ${[...(sent ? ['advertised'] : []), ...(received ? ['received'] : [])].join(' and ')}`;
}

const KINDS: readonly (readonly [keyof MessageCounts, string])[] = [
  ['open', 'Opens'],
  ['notification', 'Notifications'],
  ['update', 'Updates'],
  ['keepalive', 'Keepalives'],
  ['routeRefresh', 'Route Refresh'],
];

function statistics(sent: MessageCounts, received: MessageCounts): string[] {
  const line = (name: string, out: string | number, into: string | number) =>
    `    ${name.padEnd(16)}${String(out).padStart(10)} ${String(into).padStart(10)}`;
  return [
    '  Message statistics:',
    line('', 'Sent', 'Rcvd'),
    ...KINDS.map(([kind, name]) => line(`${name}:`, sent[kind], received[kind])),
    line('Total:', totalOf(sent), totalOf(received)),
  ];
}

function family(view: BgpFamilyView, watched: boolean): string[] {
  if (!view.negotiated) return [`  For address family: ${view.family} Unicast`, '    not negotiated'];
  const kept = watched ? 'keeps our routes while we restart' : 'keeps our routes while we restart or, without BFD, die';
  const helper = view.gracefulRestart ? kept : 'drops our routes when we restart';
  return [
    `  For address family: ${view.family} Unicast`,
    `    ${view.advertised} of ${view.wanted} routes advertised, End-of-RIB ${view.endOfRibSent ? 'sent' : 'not sent'}`,
    `    ${view.received} accepted prefixes, of which none is used; the peer ${helper}`,
  ];
}

function notification(which: string, view: NotificationView | undefined): string[] {
  if (view === undefined) return [];
  const data = view.data === '' ? '' : `, data ${view.data}`;
  return [`  Last NOTIFICATION ${which} ${view.at}: ${view.text}${data}`];
}

function bfd(view: BfdView): string[] {
  return [
    `  BFD: Type: ${view.hops} hop`,
    `    Detect Multiplier: ${view.multiplier}, transmit interval ${view.transmitInterval} ms, detection time ${view.detectionTime} ms`,
    `    Status: ${view.state}${view.seconds === undefined ? '' : `, up for ${formatUptime(view.seconds)}`}, remote ${view.remoteState}`,
    `    Diagnostic: ${view.diagnostic}, remote: ${view.remoteDiagnostic}`,
    `    Packets sent ${view.sent}, received ${view.received}, state changes ${view.transitions}`,
    ...(view.problem === undefined ? [] : [`    ${view.problem}`]),
  ];
}
