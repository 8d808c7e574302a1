import type { Mac } from '../../net/mac.ts';
import type { RouteMessage } from '../../sys/rtnetlink.ts';
import { type NeighbourKey, neighbourKey } from '../world/keys.ts';

/**
 * Hardware addresses of some neighbours, as the kernel learns them. The last one known stays when the kernel forgets
 * the neighbour: whether it is still there, others know better.
 */
export class Neighbours {
  readonly #onChange: (neighbours: ReadonlyMap<NeighbourKey, Mac>) => void;
  /** Everybody whom the kernel knows: who will be followed is not known before. */
  readonly #known = new Map<NeighbourKey, Mac>();
  #followed: ReadonlySet<NeighbourKey> = new Set();
  #told: ReadonlyMap<NeighbourKey, Mac> = new Map();

  constructor(onChange: (neighbours: ReadonlyMap<NeighbourKey, Mac>) => void) {
    this.#onChange = onChange;
  }

  /** From now on tells of these alone; true where it has told something by that. */
  follow(keys: ReadonlySet<NeighbourKey>): boolean {
    this.#followed = keys;
    return this.#tell();
  }

  fold(messages: readonly RouteMessage[]): void {
    let concerned = false;
    for (const message of messages) {
      if (message.type !== 'neighbour' && message.type !== 'neighbourGone') continue;
      const key = neighbourKey(message.index, message.ip);
      const followed = this.#followed.has(key);
      if (message.type === 'neighbour') this.#known.set(key, message.mac);
      else if (!followed) this.#known.delete(key);
      concerned ||= followed;
    }
    if (concerned) this.#tell();
  }

  #tell(): boolean {
    const now = new Map<NeighbourKey, Mac>();
    for (const key of this.#followed) {
      const mac = this.#known.get(key);
      if (mac !== undefined) now.set(key, mac);
    }
    const same = now.size === this.#told.size && [...now].every(([key, mac]) => this.#told.get(key) === mac);
    if (same) return false;
    this.#told = now;
    this.#onChange(now);
    return true;
  }
}
