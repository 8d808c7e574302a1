import type { BgpStatus } from '../../observability/bgp-status.ts';

/** One line an event, the newest last. */
export function renderEvents({ events }: BgpStatus): string {
  if (events.length === 0) return 'no events';
  const width = Math.max(...events.map(({ peer }) => peer.length));
  return events.map(({ at, peer, text }) => `${at}  ${peer.padEnd(width)}  ${text}`).join('\n');
}
