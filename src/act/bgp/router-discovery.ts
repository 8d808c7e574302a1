import { type Ip, type IpV6, isLinkLocal } from '../../../net/ip.ts';
import type { Mac } from '../../../net/mac.ts';
import type { Result } from '../../../net/result.ts';
import {
  kindOf,
  ROUTER_ADVERTISEMENT,
  ROUTER_SOLICITATION,
  routerAdvertisement,
  routerSolicitation,
} from './router-messages.ts';

export interface NeighbourSocket extends Disposable {
  send(message: Uint8Array, to: Ip): void;
}

export interface DiscoveryOptions {
  readonly interface: string;
  /** The router to peer with; undefined when there is none any more. */
  readonly onRouter: (address: Ip | undefined) => void;
  /** The interface's own address on the link, as far as it is known. */
  readonly mac: () => Mac | undefined;
  readonly open: (options: {
    readonly interface: string;
    readonly types: readonly number[];
    readonly groups: readonly IpV6[];
    readonly onMessage: (message: Uint8Array, source: IpV6) => void;
    readonly onFailure: (error: Error) => void;
  }) => Result<NeighbourSocket>;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
}

const ALL_NODES = 'ff02::1' as IpV6;
const ALL_ROUTERS = 'ff02::2' as IpV6;

/** Milliseconds. The first advertisements come faster (RFC 4861 section 6.2.4). */
const ADVERTISE_EVERY = 10_000;
const INITIAL_EVERY = 1_000;
const INITIAL_COUNT = 3;
const REOPEN_AFTER = 1_000;
/** A router that was not heard for so long gives way to another one; alone it stays, for BGP knows better. */
const SILENT_AFTER = 30_000;

/** Finds the one router on a link, and shows ourselves to it: what unnumbered BGP needs on both ends. */
export class RouterDiscovery implements Disposable {
  readonly #options: DiscoveryOptions;
  #socket: NeighbourSocket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #router: { readonly address: IpV6; heardAt: number } | undefined;
  #advertised = 0;
  #closed = false;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
    this.#open();
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#socket?.[Symbol.dispose]();
  }

  #open(): void {
    const opened = this.#options.open({
      interface: this.#options.interface,
      types: [ROUTER_SOLICITATION, ROUTER_ADVERTISEMENT],
      groups: [ALL_ROUTERS],
      onMessage: (message, source) => this.#hear(message, source),
      onFailure: () => this.#lose(),
    });
    this.#socket = opened.ok;
    if (opened.problem !== undefined) {
      this.#timer = setTimeout(() => this.#open(), REOPEN_AFTER);
      return;
    }
    this.#advertised = 0;
    opened.ok.send(routerSolicitation(this.#options.mac()), ALL_ROUTERS);
    this.#advertise();
  }

  #advertise(): void {
    clearTimeout(this.#timer);
    this.#socket?.send(routerAdvertisement(this.#options.mac()), ALL_NODES);
    this.#advertised++;
    const interval = this.#advertised < INITIAL_COUNT ? INITIAL_EVERY : ADVERTISE_EVERY;
    this.#timer = setTimeout(() => this.#advertise(), interval);
  }

  #hear(message: Uint8Array, source: IpV6): void {
    const kind = kindOf(message);
    if (kind === 'solicitation') this.#socket?.send(routerAdvertisement(this.#options.mac()), ALL_NODES);
    if (kind !== 'advertisement' || !isLinkLocal(source)) return;
    const now = this.#options.now();
    const known = this.#router;
    if (known?.address === source) {
      known.heardAt = now;
      return;
    }
    if (known !== undefined && now - known.heardAt < SILENT_AFTER) return;
    this.#router = { address: source, heardAt: now };
    if (known !== undefined) this.#options.onRouter(undefined);
    this.#options.onRouter(source);
  }

  /** The interface went; it may come back. */
  #lose(): void {
    this.#socket = undefined;
    clearTimeout(this.#timer);
    if (this.#closed) return;
    this.#timer = setTimeout(() => this.#open(), REOPEN_AFTER);
    if (this.#router === undefined) return;
    this.#router = undefined;
    this.#options.onRouter(undefined);
  }
}
