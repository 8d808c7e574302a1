import { join, type NftText, nft } from './text.ts';

/**
 * DSCP code points that members set on what they send each other, of those for local use (RFC 2474 section 6, pool 2):
 * nothing else of a packet is free to carry a bit through both families.
 */

/** A copy for a former holder: taken by who knows the connection, dropped by the others, never passed on again. */
export const BOUNCED = nft`59`;

/** By how many more nodes may be asked for the connection of a segment; at 0 it is never passed on again. */
const PASSED_ON = [63, 55, 51, 47, 43, 39, 35, 31] as const;

/** How often a segment may be passed on after the first time. */
export const MOST_PASSES = PASSED_ON.length - 1;

export function passedOn(left: number): NftText {
  const codePoint = PASSED_ON[left];
  if (codePoint === undefined) throw new RangeError(`${left} passes`);
  return nft`${codePoint}`;
}

/** Those of segments that were passed on, with at most so many passes left. */
export function passedOnSet(most = MOST_PASSES): NftText {
  return nft`{ ${join(
    PASSED_ON.slice(0, most + 1).map((codePoint) => nft`${codePoint}`),
    ', ',
  )} }`;
}
