import type { Prefix } from '../../../net/prefix.ts';
import { Table } from '../../../net/table.ts';
import { type BgpRouteKey, bgpRouteKey } from '../../decide/bgp/types.ts';

/** Which routes established peers have been sent: what is announced is what has left. */
export class Deliveries {
  /** By established peer. */
  readonly #waiting = new Map<string, Set<Prefix>>();
  #sent = Table.empty<BgpRouteKey, true>();

  get sent(): Table<BgpRouteKey, true> {
    return this.#sent;
  }

  get isComplete(): boolean {
    return [...this.#waiting.values()].every(({ size }) => size === 0);
  }

  /** The session has come up: the peer knows nothing. */
  open(peer: string, prefixes: Iterable<Prefix>): void {
    this.close(peer);
    this.#waiting.set(peer, new Set(prefixes));
  }

  /** The session is down. */
  close(peer: string): void {
    if (!this.#waiting.delete(peer)) return;
    const gone = [...this.#sent.keys()].filter((key) => key.startsWith(`${peer}|`));
    this.#sent = this.#sent.with(gone.map((key) => [key, undefined] as const));
  }

  /** The route is to be sent, maybe in other words than before. */
  expect(peer: string, prefix: Prefix): void {
    this.#waiting.get(peer)?.add(prefix);
  }

  /** The route is withdrawn. */
  forget(peer: string, prefix: Prefix): void {
    this.#waiting.get(peer)?.delete(prefix);
    this.#sent = this.#sent.delete(bgpRouteKey(peer, prefix));
  }

  /** Whether some have been sent since the last look. */
  settle(isSent: (peer: string, prefix: Prefix) => boolean): boolean {
    const settled: BgpRouteKey[] = [];
    for (const [peer, waiting] of this.#waiting) {
      for (const prefix of waiting) {
        if (!isSent(peer, prefix)) continue;
        waiting.delete(prefix);
        settled.push(bgpRouteKey(peer, prefix));
      }
    }
    this.#sent = this.#sent.with(settled.map((key) => [key, true] as const));
    return settled.length > 0;
  }
}
