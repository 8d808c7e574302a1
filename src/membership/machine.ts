import type { MonotonicNs } from '../../net/clock.ts';
import type { Vip } from '../../net/names.ts';
import type { Effect, MembershipConfig, MembershipEvent } from './types.ts';

export interface Step {
  readonly state: MembershipState;
  readonly effects: readonly Effect[];
}
declare const opaque: unique symbol;
/** Opaque to callers. */
export interface MembershipState {
  readonly [opaque]: true;
}

/** The machine of one segment, before its `start` event. */
export declare function create(config: MembershipConfig, now: MonotonicNs): MembershipState;

/**
 * The protocol: no I/O, no clock, no randomness. The state handed in is consumed (it is changed in place, since a
 * node takes a thousand messages a second): go on with the one returned.
 */
export declare function step(state: MembershipState, event: MembershipEvent, now: MonotonicNs): Step;

/** Whether an answer for `vip` may leave this node at `now`: to be asked immediately before each transmission. */
export declare function mayAnswer(state: MembershipState, vip: Vip, now: MonotonicNs): boolean;
