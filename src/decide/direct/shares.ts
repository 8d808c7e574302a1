import type { NodeShare } from '../types.ts';

/** Of new connections, to a tenth of a percent; of 1. */
export function nodeShares(shares: readonly NodeShare[]): Record<string, number> {
  const total = shares.reduce((sum, { weight }) => sum + weight, 0);
  return Object.fromEntries(shares.map(({ node, weight }) => [node, Math.round((weight / total) * 1000) / 1000]));
}
