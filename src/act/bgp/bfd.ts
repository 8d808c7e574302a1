import { describeDiagnostic } from '../../../bgp/bfd/constants.ts';
import type { SessionSpec } from '../../../bgp/bfd/speaker.ts';
import type { BfdEvent, BfdStatus } from '../../../bgp/bfd/status.ts';
import type { Ip } from '../../../net/ip.ts';
import type { SessionPlan } from '../../decide/bgp/types.ts';
import type { BfdView } from '../../observability/bgp-status.ts';

/** The BFD session of a BGP session whose address is known; undefined where none is asked for. */
export function bfdSpec(session: SessionPlan, address: Ip): SessionSpec | undefined {
  const { bfd, remote, sourceAddress, multiHop } = session;
  if (bfd === undefined) return undefined;
  const single = multiHop === undefined && (remote.kind === 'interface' || remote.connected);
  return {
    path: {
      remote: address,
      hops: single ? 'single' : 'multi',
      ...(sourceAddress === undefined ? {} : { local: sourceAddress }),
      ...(remote.interface === undefined ? {} : { interface: remote.interface }),
    },
    parameters: bfd,
  };
}

/**
 * Why BGP must give the session up, or undefined. A peer whose administrator ended BFD says nothing of the path
 * (RFC 5882 section 3.2), nor does a session that was never up.
 */
export function bfdVerdict({ from, to, diagnostic, remoteState }: BfdEvent): string | undefined {
  if (from !== 'Up' || to !== 'Down' || remoteState === 'AdminDown') return undefined;
  return describeDiagnostic(diagnostic);
}

export function bfdView(status: BfdStatus): BfdView {
  const { uptime, problem } = status;
  return {
    state: status.state,
    remoteState: status.remoteState,
    diagnostic: status.diagnostic,
    remoteDiagnostic: status.remoteDiagnostic,
    hops: status.path.hops,
    transmitInterval: status.transmitInterval,
    detectionTime: status.detectionTime,
    multiplier: status.configured.detectMultiplier,
    ...(uptime === undefined ? {} : { seconds: Math.floor(uptime / 1000) }),
    sent: status.sent,
    received: status.received,
    transitions: status.transitions,
    ...(problem === undefined ? {} : { problem }),
  };
}
