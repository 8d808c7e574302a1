import type { Ip, IpFamily } from '../../net/ip.ts';
import type { Prefix } from '../../net/prefix.ts';
import { formatProblem, ok, type Result } from '../../net/result.ts';
import type { Schedule } from '../bfd/transport.ts';
import type { BgpNetwork, Incoming, Listener } from '../transport/network.ts';

export interface ListenersOptions {
  readonly network: BgpNetwork;
  readonly schedule: Schedule;
  /** Undefined: nobody is listened for. */
  readonly port: number | undefined;
  readonly onConnection: (incoming: Incoming) => void;
  readonly onProblem: (text: string) => void;
}

/** How long a port that another process has is waited for, in nanoseconds. */
const RETRY = 5e9;

/** One listener a family, which all its peers share, with their keys. */
export class Listeners implements Disposable {
  readonly #options: ListenersOptions;
  readonly #listeners = new Map<IpFamily, Listener>();
  readonly #keys = new Map<Ip | Prefix, string>();
  readonly #wanted = new Set<IpFamily>();
  #retry: Disposable | undefined;
  #problem: string | undefined;

  constructor(options: ListenersOptions) {
    this.#options = options;
  }

  /** Peers of the family may connect from now on. Whoever has the port instead is told of, and waited for. */
  want(family: IpFamily): void {
    this.#wanted.add(family);
    this.#open();
  }

  /** The key of a peer or of a network of peers; where it cannot be set, nobody from there may be let in. */
  setKey(peer: Ip | Prefix, password: string | undefined): Result<void> {
    if (this.#keys.get(peer) === password) return ok(undefined);
    if (password === undefined) this.#keys.delete(peer);
    else this.#keys.set(peer, password);
    const listener = this.#listeners.get(familyOfPeer(peer));
    return listener === undefined ? ok(undefined) : listener.setKey(peer, password);
  }

  [Symbol.dispose](): void {
    this.#retry?.[Symbol.dispose]();
    this.#wanted.clear();
    for (const listener of this.#listeners.values()) listener[Symbol.dispose]();
    this.#listeners.clear();
  }

  #open(): void {
    const failures = [...this.#wanted].flatMap((family) => {
      const failure = this.#listen(family);
      return failure === undefined ? [] : [failure];
    });
    this.#retry?.[Symbol.dispose]();
    this.#retry = failures.length === 0 ? undefined : this.#options.schedule(RETRY, () => this.#open());
    const problem = failures.length === 0 ? undefined : failures.join('; ');
    if (problem !== undefined && problem !== this.#problem) this.#options.onProblem(problem);
    this.#problem = problem;
  }

  #listen(family: IpFamily): string | undefined {
    const { network, port, onConnection } = this.#options;
    if (port === undefined || this.#listeners.has(family)) return undefined;
    const opened = network.listen(family, port, onConnection);
    if (opened.problem !== undefined) return `no ${family} listener: ${formatProblem(opened.problem)}`;
    for (const [peer, password] of this.#keys) {
      if (familyOfPeer(peer) !== family) continue;
      const keyed = opened.ok.setKey(peer, password);
      if (keyed.problem === undefined) continue;
      // Without its key it would let in whoever takes the peer's address.
      opened.ok[Symbol.dispose]();
      return `no ${family} listener: the key of ${peer}: ${formatProblem(keyed.problem)}`;
    }
    this.#listeners.set(family, opened.ok);
    return undefined;
  }
}

function familyOfPeer(peer: Ip | Prefix): IpFamily {
  return peer.includes(':') ? 'IPv6' : 'IPv4';
}
