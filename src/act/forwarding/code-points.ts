import { nft } from './text.ts';

/**
 * DSCP code points that members set on what they send each other, of those for local use (RFC 2474 section 6, pool 2):
 * nothing else of a packet is free to carry a bit through both families.
 */

/** Passed on once by the rules of Direct forwarding: never passed on again. */
export const PASSED_ON = nft`63`;

/** A copy for a former holder: taken by who knows the connection, dropped by the others, never passed on again. */
export const BOUNCED = nft`59`;
