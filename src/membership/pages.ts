import type { Claim, Holder } from './messages.ts';

/** Bytes of a datagram's body that a page may fill, with room for headers and names. */
export const PAGE_BYTES = 900;

export function holderBytes(holder: Holder): number {
  return holder.list.voters.reduce((bytes, { node }) => bytes + node.length + 5, holder.node.length + 16);
}

/** Claims in groups that fit one datagram each: a holder's voters are written once a group. */
export function pages(claims: readonly Claim[]): Claim[][] {
  const sorted = [...claims].sort((a, b) => compare(a.holder, b.holder));
  const all: Claim[][] = [];
  let page: Claim[] = [];
  let bytes = 0;
  let holder: Holder | undefined;
  for (const claim of sorted) {
    const names = claim.formerHolders.reduce((sum, node) => sum + node.length + 1, 2);
    const own = 32 + claim.routeKey.length + 4 * claim.moves.length + names;
    const shared = holder !== undefined && compare(holder, claim.holder) === 0 ? 0 : holderBytes(claim.holder);
    if (page.length > 0 && bytes + own + shared > PAGE_BYTES) {
      all.push(page);
      page = [];
      bytes = holderBytes(claim.holder);
    } else bytes += shared;
    page.push(claim);
    bytes += own;
    holder = claim.holder;
  }
  if (page.length > 0) all.push(page);
  return all;
}

function compare(a: Holder, b: Holder): number {
  return a.incarnation - b.incarnation || a.list.version - b.list.version || Number(a.released) - Number(b.released);
}
