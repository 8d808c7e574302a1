import type { Parameters, Remote, Session } from './types.ts';

export const NS_PER_US = 1000;

/** RFC 5880 section 6.8.7, microseconds before jitter. */
export function transmitInterval(ours: Parameters, remote: Pick<Remote, 'requiredMinRx'>): number {
  return Math.max(ours.desiredMinTx, remote.requiredMinRx);
}

/** RFC 5880 section 6.8.4, asynchronous mode, microseconds. */
export function detectionTime(ours: Parameters, remote: Pick<Remote, 'desiredMinTx' | 'detectMultiplier'>): number {
  return remote.detectMultiplier * Math.max(ours.requiredMinRx, remote.desiredMinTx);
}

/**
 * RFC 5880 section 6.8.7: the interval less 0 to 25 %; with a multiplier of 1, 75 to 90 % of it. Nanoseconds.
 * @param random 0 (included) to 1 (excluded).
 */
export function transmissionDelay({ applied, remote }: Pick<Session, 'applied' | 'remote'>, random: number): number {
  const longest = applied.detectMultiplier === 1 ? 0.9 : 1;
  const share = 0.75 + (longest - 0.75) * random;
  return Math.floor(transmitInterval(applied, remote) * NS_PER_US * share);
}

/**
 * RFC 5880 section 6.8.7: no periodic packets to a peer that wants none, nor to one in Demand mode when both ends are
 * Up and no Poll Sequence runs.
 */
export function periodicallyTransmits({ state, remote, poll }: Pick<Session, 'state' | 'remote' | 'poll'>): boolean {
  if (remote.requiredMinRx === 0) return false;
  const demandActive = remote.demand && state === 'Up' && remote.state === 'Up';
  return !demandActive || poll !== 'idle';
}
