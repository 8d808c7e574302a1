import type { BgpSessionView, BgpStatus, MessageCounts } from '../../observability/bgp-status.ts';
import { columns, type Output, paint } from '../output.ts';
import { formatUptime, neighborName } from './format.ts';

const HEAD = [
  ...['Neighbor', 'V', 'AS', 'MsgRcvd', 'MsgSent', 'OutQ', 'Up/Down'],
  ...['State/PfxRcd', 'PfxSnt', 'BFD', 'Desc'],
];

/** The columns of FRR's `show bgp summary`, with BFD, and below them what is wrong. */
export function renderSummary(status: BgpStatus, output: Output): string {
  const { sessions } = status;
  const parts = [...identities(sessions), ...leaving(status)];
  if (sessions.length > 0)
    parts.push(
      columns(
        HEAD,
        sessions.map((session) => row(session, output)),
      ),
    );
  else parts.push('no BGP session');
  const troubles = [
    ...sessions.flatMap(troublesOf),
    ...status.withoutSession.map(({ peer, reason }) => `${peer}: ${reason}`),
    ...status.withheld.map(({ vip, reason }) => `${vip} is not announced by BGP: ${reason}`),
  ];
  return [...parts, ...troubles.map((line) => `${paint(output, 'yellow', '!')} ${line}`)].join('\n');
}

function identities(sessions: readonly BgpSessionView[]): string[] {
  const lines = sessions.map(
    ({ localId, localAsn }) => `BGP router identifier ${localId}, local AS number ${localAsn}`,
  );
  return [...new Set(lines)];
}

/** The whole node, or some peers. */
function leaving({ draining, sessions }: BgpStatus): string[] {
  if (draining !== 'no') return [`draining: ${leavingWords(draining)}`];
  return sessions.flatMap(({ peer, draining: left }) =>
    left === undefined ? [] : [`draining ${peer}: ${leavingWords(left)}`],
  );
}

function leavingWords(draining: 'announced' | 'withdrawn'): string {
  return `routes ${draining === 'announced' ? 'carry graceful-shutdown' : 'are withdrawn'}`;
}

function row(session: BgpSessionView, output: Output): string[] {
  const isUp = session.state === 'Established';
  const sum = (pick: 'received' | 'advertised') => session.families.reduce((total, family) => total + family[pick], 0);
  return [
    neighborName(session),
    '4',
    String(session.remoteAsn),
    String(totalOf(session.received)),
    String(totalOf(session.sent)),
    String(session.unsentBytes),
    isUp || session.established > 0 ? formatUptime(session.seconds) : 'never',
    isUp ? String(sum('received')) : paint(output, 'red', session.state),
    isUp ? String(sum('advertised')) : '-',
    session.bfd?.state ?? '-',
    session.peer,
  ];
}

export function totalOf(counts: MessageCounts): number {
  const { open, update, notification, keepalive, routeRefresh } = counts;
  return open + update + notification + keepalive + routeRefresh;
}

function troublesOf({ peer, state, lastError, bfd }: BgpSessionView): string[] {
  const error = state === 'Established' || lastError === undefined ? [] : [`${peer}: ${lastError.text}`];
  return [...error, ...(bfd?.problem === undefined ? [] : [`${peer}: BFD: ${bfd.problem}`])];
}
