import type { BGPPeer } from '../../api/bgp-peer.ts';
import type { Speaker } from '../../api/speaker.ts';
import { EXIT } from '../exit-codes.ts';
import { columns, type Output, paint, structured } from '../output.ts';
import { fail, listPeers, listSpeakers, type PluginContext } from './context.ts';

type Session = NonNullable<NonNullable<Speaker['status']>['sessions']>[number];

export interface NodeSession extends Session {
  readonly node: string;
}

/** `kubectl signpost sessions`: the BGP sessions of every node. */
export async function clusterSessions(context: PluginContext): Promise<number> {
  const { format, output } = context;
  const [peers, speakers] = await Promise.all([listPeers(context), listSpeakers(context)]);
  if (peers.problem !== undefined) return fail(context, peers.problem);
  if (speakers.problem !== undefined) return fail(context, speakers.problem);
  const sessions = sessionsOf(speakers.ok);
  if (format === 'json' || format === 'yaml') output.out(`${structured(format, sessions)}\n`);
  else if (sessions.length + peers.ok.length === 0) output.err('there are no BGPPeers\n');
  else output.out(`${sessionTable(sessions, peers.ok, output)}\n`);
  return EXIT.ok;
}

export function sessionsOf(speakers: readonly Speaker[]): readonly NodeSession[] {
  return speakers.flatMap(({ metadata, status }) =>
    (status?.sessions ?? []).map((session) => ({ node: metadata.name, ...session })),
  );
}

/** A peer that no node has a session with has a row too. */
export function sessionTable(sessions: readonly NodeSession[], peers: readonly BGPPeer[], output: Output): string {
  const known = new Set(sessions.map(({ peer }) => peer));
  const rows = sessions.map(({ node, peer, state, since, bfd, lastError }) => [
    node,
    peer,
    paint(output, state === 'Established' ? 'green' : 'red', state),
    since ?? '-',
    bfd ?? '-',
    lastError ?? '',
  ]);
  const unused = peers
    .filter(({ metadata }) => !known.has(metadata.name))
    .map(({ metadata }) => ['<none>', metadata.name, '-', '-', '-', 'no node has a session with it']);
  return columns(['NODE', 'PEER', 'STATE', 'SINCE', 'BFD', 'LAST-ERROR'], [...rows, ...unused]);
}
