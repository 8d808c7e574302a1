import type { IpFamily } from '../../net/ip.ts';
import type { Update } from '../codec/types.ts';

/**
 * How many routes a peer has: what it announced less what it withdrew. None is stored, so a route that is announced
 * twice counts twice.
 */
export class ReceivedRoutes {
  readonly #counts: Record<IpFamily, number> = { IPv4: 0, IPv6: 0 };

  of(family: IpFamily): number {
    return this.#counts[family];
  }

  get total(): number {
    return this.#counts.IPv4 + this.#counts.IPv6;
  }

  count({ announced, withdrawn }: Update): void {
    for (const { family, count } of withdrawn) this.#counts[family] = Math.max(0, this.#counts[family] - count);
    for (const { nlri } of announced) this.#counts[nlri.family] += nlri.count;
  }

  clear(): void {
    this.#counts.IPv4 = 0;
    this.#counts.IPv6 = 0;
  }
}
