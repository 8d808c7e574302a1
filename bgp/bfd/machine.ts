import { after, type MonotonicNs } from '../../net/clock.ts';
import { Diagnostic, type SessionState } from './constants.ts';
import { negotiate, parametersFor, terminatePoll } from './negotiate.ts';
import type { ControlPacket, Discard } from './packet.ts';
import { detectionTime, NS_PER_US, periodicallyTransmits, transmissionDelay, transmitInterval } from './timing.ts';
import type { Parameters, Remote, Session } from './types.ts';

export type SessionEvent =
  /** A packet that was demultiplexed to this session. */
  | { readonly kind: 'packet'; readonly packet: ControlPacket }
  /** Time has passed: `wakeAt` was reached. */
  | { readonly kind: 'wake' }
  | { readonly kind: 'configure'; readonly parameters: Parameters }
  /** RFC 5880 section 6.8.16. */
  | { readonly kind: 'disable' }
  | { readonly kind: 'enable' };

export type Action =
  | { readonly kind: 'send'; readonly packet: ControlPacket }
  | { readonly kind: 'discard'; readonly reason: Discard }
  | { readonly kind: 'transition'; readonly from: SessionState; readonly to: SessionState };

export interface Step {
  readonly session: Session;
  readonly actions: readonly Action[];
}

const UNKNOWN_REMOTE: Remote = {
  discriminator: 0,
  state: 'Down',
  demand: false,
  controlPlaneIndependent: false,
  diagnostic: Diagnostic.NONE,
  desiredMinTx: 0,
  requiredMinRx: 1,
  detectMultiplier: 0,
};

/** A session in state Down whose first packet is due at once. */
export function openSession(discriminator: number, configured: Parameters, now: MonotonicNs): Session {
  const slow = parametersFor('Down', configured);
  return {
    state: 'Down',
    discriminator,
    diagnostic: Diagnostic.NONE,
    configured,
    advertised: slow,
    applied: slow,
    remote: UNKNOWN_REMOTE,
    poll: 'idle',
    lastSent: undefined,
    lastSentAt: undefined,
    lastReceivedAt: undefined,
    transmitAt: now,
    detectAt: undefined,
  };
}

/** When the session must see its next `wake`. */
export function wakeAt({ transmitAt, detectAt }: Session): MonotonicNs | undefined {
  if (transmitAt === undefined || detectAt === undefined) return transmitAt ?? detectAt;
  return transmitAt < detectAt ? transmitAt : detectAt;
}

/** @param random 0 (included) to 1 (excluded): the jitter of the next periodic packet. */
export function step(session: Session, event: SessionEvent, now: MonotonicNs, random: number): Step {
  const discarded = event.kind === 'packet' ? discardReason(session, event.packet) : undefined;
  if (discarded === 'authentication') return { session, actions: [{ kind: 'discard', reason: discarded }] };

  const changed = setTimers(session, handle(session, event, now), now, random);
  const actions: Action[] = [];
  if (discarded !== undefined) actions.push({ kind: 'discard', reason: discarded });
  if (changed.state !== session.state) actions.push({ kind: 'transition', from: session.state, to: changed.state });

  // RFC 5880 section 6.8.7: the Final goes out at once, whatever the timers say, and never with a Poll.
  const answersPoll = event.kind === 'packet' && event.packet.poll && discarded === undefined;
  if (answersPoll) {
    const contents = packetOf(changed);
    actions.push({ kind: 'send', packet: { ...contents, final: true } });
    return { session: { ...changed, lastSent: contents }, actions };
  }
  if (!isDue(changed, now)) return { session: changed, actions };
  const contents = packetOf(changed);
  actions.push({ kind: 'send', packet: { ...contents, poll: changed.poll !== 'idle' } });
  const transmitAt = after(now, transmissionDelay(changed, random));
  return { session: { ...changed, lastSent: contents, lastSentAt: now, transmitAt }, actions };
}

/** The checks of RFC 5880 section 6.8.6 that need the session; only the first forbids to look at the packet. */
function discardReason(session: Session, packet: ControlPacket): Discard | undefined {
  if (packet.authenticationType !== undefined) return 'authentication';
  return session.state === 'AdminDown' ? 'administratively-down' : undefined;
}

function handle(session: Session, event: SessionEvent, now: MonotonicNs): Session {
  switch (event.kind) {
    case 'packet':
      return receive(session, event.packet, now);
    case 'wake':
      return session.detectAt !== undefined && now >= session.detectAt ? detectionExpired(session) : session;
    case 'configure':
      return negotiate({ ...session, configured: event.parameters });
    case 'disable':
      return enter(session, 'AdminDown', Diagnostic.ADMINISTRATIVELY_DOWN);
    case 'enable':
      return session.state === 'AdminDown' ? enter(session, 'Down', Diagnostic.NONE) : session;
  }
}

/** RFC 5880 section 6.8.6 from "Set bfd.RemoteDiscr to the value of My Discriminator" on. */
function receive(session: Session, packet: ControlPacket, now: MonotonicNs): Session {
  const heard: Session = {
    ...session,
    remote: {
      discriminator: packet.myDiscriminator,
      state: packet.state,
      demand: packet.demand,
      controlPlaneIndependent: packet.controlPlaneIndependent,
      diagnostic: packet.diagnostic,
      desiredMinTx: packet.desiredMinTx,
      requiredMinRx: packet.requiredMinRx,
      detectMultiplier: packet.detectMultiplier,
    },
  };
  const polled = packet.final ? terminatePoll(heard) : heard;
  if (session.state === 'AdminDown') return polled;
  const [state, diagnostic] = nextState(session, packet.state);
  return { ...enter(polled, state, diagnostic), lastReceivedAt: now };
}

/** The state machine of RFC 5880 section 6.2 as section 6.8.6 writes it. */
function nextState({ state, diagnostic }: Session, heard: SessionState): readonly [SessionState, Diagnostic] {
  if (heard === 'AdminDown') {
    return state === 'Down' ? [state, diagnostic] : ['Down', Diagnostic.NEIGHBOR_SIGNALED_DOWN];
  }
  switch (state) {
    case 'Down':
      if (heard === 'Down') return ['Init', diagnostic];
      return heard === 'Init' ? ['Up', Diagnostic.NONE] : [state, diagnostic];
    case 'Init':
      return heard === 'Down' ? [state, diagnostic] : ['Up', Diagnostic.NONE];
    case 'Up':
      return heard === 'Down' ? ['Down', Diagnostic.NEIGHBOR_SIGNALED_DOWN] : [state, diagnostic];
    case 'AdminDown':
      return [state, diagnostic];
  }
}

/** RFC 5880 sections 6.8.1 (the remote discriminator is forgotten) and 6.8.4. */
function detectionExpired(session: Session): Session {
  const silent: Session = { ...session, remote: UNKNOWN_REMOTE, lastReceivedAt: undefined };
  return session.state === 'Init' || session.state === 'Up'
    ? enter(silent, 'Down', Diagnostic.DETECTION_TIME_EXPIRED)
    : silent;
}

function enter(session: Session, state: SessionState, diagnostic: Diagnostic): Session {
  return negotiate({ ...session, state, diagnostic });
}

/** Sets both timers anew where what they depend on has changed. */
function setTimers(before: Session, session: Session, now: MonotonicNs, random: number): Session {
  return {
    ...session,
    detectAt: detectionDeadline(session),
    transmitAt: transmissionDue(before, session, now, random),
  };
}

function detectionDeadline(session: Session): MonotonicNs | undefined {
  if (session.state === 'AdminDown' || session.lastReceivedAt === undefined) return undefined;
  return after(session.lastReceivedAt, detectionTime(session.applied, session.remote) * NS_PER_US);
}

function transmissionDue(before: Session, session: Session, now: MonotonicNs, random: number): MonotonicNs | undefined {
  if (!periodicallyTransmits(session)) return undefined;
  if (session.lastSentAt === undefined) return before.transmitAt ?? now;
  const unchanged =
    before.transmitAt !== undefined &&
    transmitInterval(before.applied, before.remote) === transmitInterval(session.applied, session.remote);
  return unchanged ? before.transmitAt : after(session.lastSentAt, transmissionDelay(session, random));
}

/**
 * RFC 5880 section 6.8.7: a packet whose contents would differ from the last one's does not wait for the timer.
 * A peer that wants no periodic packets gets none of these either.
 */
function isDue(session: Session, now: MonotonicNs): boolean {
  if (session.transmitAt === undefined) return false;
  return now >= session.transmitAt || !sameContents(session.lastSent, packetOf(session));
}

/** The next periodic packet, without Poll and Final. */
function packetOf(session: Session): ControlPacket {
  return {
    diagnostic: session.diagnostic,
    state: session.state,
    poll: false,
    final: false,
    controlPlaneIndependent: false,
    demand: false,
    detectMultiplier: session.advertised.detectMultiplier,
    myDiscriminator: session.discriminator,
    yourDiscriminator: session.remote.discriminator,
    desiredMinTx: session.advertised.desiredMinTx,
    requiredMinRx: session.advertised.requiredMinRx,
    requiredMinEchoRx: 0,
  };
}

function sameContents(a: ControlPacket | undefined, b: ControlPacket): boolean {
  return (
    a !== undefined &&
    a.diagnostic === b.diagnostic &&
    a.state === b.state &&
    a.detectMultiplier === b.detectMultiplier &&
    a.yourDiscriminator === b.yourDiscriminator &&
    a.desiredMinTx === b.desiredMinTx &&
    a.requiredMinRx === b.requiredMinRx
  );
}
