import type { MonotonicNs } from '../../../net/clock.ts';
import type { FsmEnvironment, FsmSettings } from '../types.ts';

export const SECOND = 1e9;

/** Without jitter: the factor of RFC 4271 section 10 is 1 where the random number is 0. */
export function environment(change: Partial<FsmSettings> = {}, random = 0): FsmEnvironment {
  return {
    settings: {
      connectRetryTime: 5 * SECOND,
      holdTime: 9 * SECOND,
      keepaliveTime: 3 * SECOND,
      delayOpenTime: 0,
      idleHoldTime: { initial: SECOND, maximum: 60 * SECOND },
      sendHoldTime: 480 * SECOND,
      passive: false,
      ...change,
    },
    random: () => random,
  };
}

export function at(seconds: number): MonotonicNs {
  return (seconds * SECOND) as MonotonicNs;
}
