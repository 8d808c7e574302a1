import type { SessionState } from './constants.ts';
import type { Parameters, Session } from './types.ts';

/** RFC 5880 section 6.8.3: "not less than one second (1,000,000 microseconds)" while not Up. */
const SLOW_TX = 1_000_000;

/** What a session in that state must advertise (RFC 5880 section 6.8.3). */
export function parametersFor(state: SessionState, configured: Parameters): Parameters {
  return state === 'Up' ? configured : { ...configured, desiredMinTx: Math.max(SLOW_TX, configured.desiredMinTx) };
}

/**
 * RFC 5880 section 6.8.3: a change of interval starts a Poll Sequence; while Up, a longer transmit interval and a
 * shorter Detection Time wait for its end.
 */
export function negotiate(session: Session): Session {
  const wanted = parametersFor(session.state, session.configured);
  const { advertised, applied } = session;
  if (session.state !== 'Up') return { ...session, advertised: wanted, applied: wanted, poll: 'idle' };
  const retimed = wanted.desiredMinTx !== advertised.desiredMinTx || wanted.requiredMinRx !== advertised.requiredMinRx;
  if (!retimed) {
    const { detectMultiplier } = wanted;
    return { ...session, advertised: wanted, applied: { ...applied, detectMultiplier } };
  }
  return {
    ...session,
    advertised: wanted,
    applied: {
      desiredMinTx: Math.min(applied.desiredMinTx, wanted.desiredMinTx),
      requiredMinRx: Math.max(applied.requiredMinRx, wanted.requiredMinRx),
      detectMultiplier: wanted.detectMultiplier,
    },
    poll: session.poll === 'idle' ? 'polling' : 'repeat',
  };
}

/** A Final came. */
export function terminatePoll(session: Session): Session {
  switch (session.poll) {
    case 'idle':
      return session;
    case 'repeat':
      return { ...session, poll: 'polling' };
    case 'polling':
      return { ...session, poll: 'idle', applied: session.advertised };
  }
}
