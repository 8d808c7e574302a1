import { formatProblem } from '../../net/result.ts';
import { explain, parseQuestion } from '../decide/direct/explain.ts';
import type { BgpStatus } from '../observability/bgp-status.ts';
import { parseCommand } from '../observability/commands.ts';
import type { ControlHandlers, ControlReply } from '../observability/control-socket.ts';
import type { RunningDaemon } from './running.ts';

type Body = Readonly<Record<string, unknown>>;
type Asked = 'drain' | 'undrain' | 'rebalance' | 'handOver';

const ACCEPTED: ControlReply = { status: 202, body: { accepted: true } };

/** What the command line asks of the daemon over its control socket, apart from the status. */
export function controlRequests(
  node: string,
  running: RunningDaemon,
): Required<Pick<ControlHandlers, 'views' | 'commands'>> {
  const answered = (reply: (body: Body) => ControlReply) => (body: Body) => Promise.resolve(reply(body));
  return {
    views: {
      bgp: () => ({ status: 200, body: running.bgp?.status() ?? withoutBgp(node, running) }),
      'bgp/routes': (query) => bgpRoutes(running, query.get('peer') ?? ''),
    },
    commands: {
      drain: answered((body) => drain(running, true, body)),
      undrain: answered((body) => drain(running, false, body)),
      rebalance: answered((body) => command(running, 'rebalance', body)),
      'hand-over': answered((body) => command(running, 'handOver', body)),
      explain: answered((body) => explanation(running, body)),
    },
  };
}

function drain(running: RunningDaemon, draining: boolean, body: Body): ControlReply {
  return body['peer'] === undefined
    ? command(running, draining ? 'drain' : 'undrain', body)
    : drainPeer(running, draining, body['peer']);
}

/** @param asked name of a BGPPeer or address of the peer */
function drainPeer(running: RunningDaemon, draining: boolean, asked: unknown): ControlReply {
  const sessions = running.bgp?.status().sessions ?? [];
  const peer = sessions.find((session) => session.peer === asked || session.address === asked)?.peer;
  if (peer === undefined) return noSession(String(asked));
  running.drainPeer(peer, draining);
  return ACCEPTED;
}

function command(running: RunningDaemon, type: Asked, body: Body): ControlReply {
  const parsed = parseCommand(type, body);
  if (parsed.problem !== undefined) return { status: 400, body: { message: formatProblem(parsed.problem) } };
  running.command(parsed.ok);
  return ACCEPTED;
}

function explanation(running: RunningDaemon, body: Body): ControlReply {
  const question = parseQuestion(body);
  if (question.problem !== undefined) return { status: 400, body: { message: formatProblem(question.problem) } };
  const found = explain(question.ok, running.plan);
  if (found !== undefined) return { status: 200, body: found };
  const { vip, protocol, port } = question.ok;
  return { status: 404, body: { message: `no route has ${port}/${protocol} of ${vip}; see 'signpost status'` } };
}

function bgpRoutes(running: RunningDaemon, peer: string): ControlReply {
  const routes = running.bgp?.routes(peer);
  return routes === undefined ? noSession(peer) : { status: 200, body: routes };
}

function noSession(peer: string): ControlReply {
  return { status: 404, body: { message: `no session with a BGPPeer ${peer}; see 'signpost bgp summary'` } };
}

function withoutBgp(node: string, { plan }: RunningDaemon): BgpStatus {
  const withoutSession = Array.from(plan.bgp.withoutSession, ([peer, reason]) => ({ peer, reason }));
  return { node, sessions: [], withoutSession, withheld: [], events: [], draining: 'no' };
}
