import type { IpFamily } from '../../net/ip.ts';
import { type Prefix, prefixFamily } from '../../net/prefix.ts';
import { FamilyRib } from './family-rib.ts';
import type { Advertising, RouteAttributes, RouteEdit } from './types.ts';

const FAMILIES: readonly IpFamily[] = ['IPv4', 'IPv6'];

/** All routes towards one peer (RFC 4271 section 3.2: Adj-RIB-Out), those wanted and those told. */
export class AdjRibOut {
  readonly #families: Readonly<Record<IpFamily, FamilyRib>> = {
    IPv4: new FamilyRib('IPv4'),
    IPv6: new FamilyRib('IPv6'),
  };
  #advertising: Advertising | undefined;

  family(family: IpFamily): FamilyRib {
    return this.#families[family];
  }

  edit(edits: Iterable<RouteEdit>): void {
    for (const { prefix, attributes } of edits) this.#families[prefixFamily(prefix)].edit(prefix, attributes);
  }

  /** Makes `routes` all that the peer should have. */
  replace(routes: ReadonlyMap<Prefix, RouteAttributes>): void {
    for (const family of FAMILIES) {
      const rib = this.#families[family];
      for (const prefix of [...rib.wanted.keys()]) if (!routes.has(prefix)) rib.edit(prefix, undefined);
    }
    for (const [prefix, attributes] of routes) this.#families[prefixFamily(prefix)].edit(prefix, attributes);
  }

  *routes(): Generator<{
    readonly prefix: Prefix;
    readonly attributes: RouteAttributes;
    readonly advertised: boolean;
  }> {
    for (const family of FAMILIES) {
      const rib = this.#families[family];
      for (const [prefix, attributes] of rib.wanted) yield { prefix, attributes, advertised: rib.isAdvertised(prefix) };
    }
  }

  /** A session begins: each of its families is told from the start. */
  open(advertising: Advertising): void {
    this.#advertising = advertising;
    for (const family of advertising.session.families) this.#families[family].open(advertising);
  }

  close(): void {
    this.#advertising = undefined;
    for (const family of FAMILIES) this.#families[family].close();
  }

  /** RFC 8326: every route is told anew with the community that says it will go. */
  leave(): void {
    if (this.#advertising === undefined || this.#advertising.leaving) return;
    this.#advertising = { ...this.#advertising, leaving: true };
    for (const family of FAMILIES) this.#families[family].change(this.#advertising);
  }

  refresh(family: IpFamily): void {
    this.#families[family].refresh();
  }

  /** Whether the peer knows all that it should and can. */
  get isComplete(): boolean {
    return FAMILIES.every((family) => this.#families[family].isComplete);
  }

  /**
   * The messages that make the peer's view equal to ours, withdrawals first. Each leaves the queue when it is pulled:
   * whoever pulls it must send it, and may stop at any.
   */
  *messages(): Generator<Uint8Array> {
    for (const family of FAMILIES) yield* this.#families[family].withdrawals();
    for (const family of FAMILIES) yield* this.#families[family].announcements();
  }
}
