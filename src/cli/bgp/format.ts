import type { BgpSessionView } from '../../observability/bgp-status.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

/** As FRR writes it: `00:01:02`, from a day on `1d02h03m`, from a week on `01w2d03h`. */
export function formatUptime(seconds: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  if (seconds < DAY) return [seconds / HOUR, (seconds % HOUR) / MINUTE, seconds % MINUTE].map(two).join(':');
  if (seconds < WEEK) {
    return `${Math.floor(seconds / DAY)}d${two((seconds % DAY) / HOUR)}h${two((seconds % HOUR) / MINUTE)}m`;
  }
  return `${two(seconds / WEEK)}w${Math.floor((seconds % WEEK) / DAY)}d${two((seconds % DAY) / HOUR)}h`;
}

/** The address, or the interface of a neighbour that is still looked for. */
export function neighborName({ address, interface: device, peer }: BgpSessionView): string {
  return address ?? device ?? peer;
}
