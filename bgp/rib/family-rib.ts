import type { IpFamily } from '../../net/ip.ts';
import type { Prefix } from '../../net/prefix.ts';
import { encodeMessage } from '../codec/messages/table.ts';
import { endOfRibUpdate } from '../codec/messages/update.ts';
import { encodeUpdates, encodeWithdrawals, type PackedUpdate } from '../codec/pack.ts';
import { pathAttributes } from './attributes.ts';
import type { Advertising, RouteAttributes } from './types.ts';

interface Group {
  readonly attributes: RouteAttributes;
  readonly prefixes: Set<Prefix>;
}

/** What comes after all routes that wait now. */
type Conclusion =
  /** End-of-RIB of the first dump (RFC 4724 section 2). */
  | 'end-of-rib'
  /** The end of a refresh (RFC 7313 section 4), if the peer knows of such. */
  | 'end-of-refresh'
  | 'none';

/**
 * Routes of one family towards one peer: those that it should have and those that it was told. Their difference is the
 * queue, kept up to date by every edit.
 */
export class FamilyRib {
  readonly family: IpFamily;
  readonly #wanted = new Map<Prefix, RouteAttributes>();
  /** With the key of the attributes that were told. */
  readonly #told = new Map<Prefix, string>();
  readonly #withdrawals = new Set<Prefix>();
  readonly #announcements = new Map<string, Group>();
  #advertising: Advertising | undefined;
  #conclusion: Conclusion = 'none';
  #endOfRibSent = false;
  #refreshBegins = false;
  #refreshAsked = false;

  constructor(family: IpFamily) {
    this.family = family;
  }

  get wanted(): ReadonlyMap<Prefix, RouteAttributes> {
    return this.#wanted;
  }

  /** How many routes the peer was told. */
  get advertised(): number {
    return this.#told.size;
  }

  get endOfRibSent(): boolean {
    return this.#endOfRibSent;
  }

  isAdvertised(prefix: Prefix): boolean {
    return this.#told.has(prefix);
  }

  /** Whether nothing waits to be told that can be. */
  get isComplete(): boolean {
    const withheld = this.#advertising?.nextHops[this.family] === undefined;
    return this.#withdrawals.size === 0 && (withheld || this.#announcements.size === 0) && this.#conclusion === 'none';
  }

  edit(prefix: Prefix, attributes: RouteAttributes | undefined): void {
    const before = this.#wanted.get(prefix);
    if (before?.key === attributes?.key) return;
    if (attributes === undefined) this.#wanted.delete(prefix);
    else this.#wanted.set(prefix, attributes);
    if (before !== undefined) this.#leaveGroup(before.key, prefix);
    this.#withdrawals.delete(prefix);
    this.#enqueue(prefix, attributes);
  }

  /** A session begins: the peer knows nothing. */
  open(advertising: Advertising): void {
    this.close();
    this.#advertising = advertising;
    this.#conclusion = 'end-of-rib';
    for (const [prefix, attributes] of this.#wanted) this.#enqueue(prefix, attributes);
  }

  /** The session has ended; what is wanted waits for the next. */
  close(): void {
    this.#advertising = undefined;
    this.#conclusion = 'none';
    this.#endOfRibSent = false;
    this.#refreshBegins = false;
    this.#refreshAsked = false;
    this.#told.clear();
    this.#withdrawals.clear();
    this.#announcements.clear();
  }

  /** The session goes on, but what its routes say has changed: they are told anew. */
  change(advertising: Advertising): void {
    if (this.#advertising === undefined) return;
    this.#advertising = advertising;
    this.#announcements.clear();
    for (const [prefix, attributes] of this.#wanted) this.#enqueue(prefix, attributes);
  }

  /** The peer asks for all routes again (RFC 2918 section 3); after the first dump, if that is not over. */
  refresh(): void {
    if (this.#advertising === undefined) return;
    if (this.#conclusion === 'end-of-rib') {
      this.#refreshAsked = true;
      return;
    }
    this.#refreshBegins = true;
    this.#conclusion = 'end-of-refresh';
    for (const [prefix, attributes] of this.#wanted) {
      this.#told.delete(prefix);
      this.#enqueue(prefix, attributes);
    }
  }

  /** Whole messages, each taken from the queue when it is pulled. */
  *withdrawals(): Generator<Uint8Array> {
    const advertising = this.#advertising;
    if (advertising === undefined || this.#withdrawals.size === 0) return;
    yield* packed(
      this.#withdrawals,
      (prefixes) => encodeWithdrawals(this.family, prefixes, advertising.session),
      (prefix) => {
        this.#withdrawals.delete(prefix);
        this.#told.delete(prefix);
      },
    );
  }

  /** Likewise; withdrawals must have been pulled before. */
  *announcements(): Generator<Uint8Array> {
    yield* this.#refreshMark('begin');
    for (const group of this.#announcements.values()) yield* this.#announce(group);
    if (this.#conclusion === 'end-of-rib') yield this.#endOfRib();
    yield* this.#refreshMark('end');
  }

  *#announce({ attributes, prefixes }: Group): Generator<Uint8Array> {
    const advertising = this.#advertising;
    const nextHop = advertising?.nextHops[this.family];
    if (advertising === undefined || nextHop === undefined) return;
    const group = { family: this.family, nextHop, attributes: pathAttributes(attributes, advertising) };
    const told = keyOf(attributes, advertising);
    try {
      yield* packed(
        prefixes,
        (waiting) => encodeUpdates(group, waiting, advertising.session),
        (prefix) => {
          prefixes.delete(prefix);
          this.#told.set(prefix, told);
        },
      );
    } finally {
      if (prefixes.size === 0) this.#announcements.delete(attributes.key);
    }
  }

  #endOfRib(): Uint8Array {
    this.#conclusion = 'none';
    this.#endOfRibSent = true;
    if (this.#refreshAsked) {
      this.#refreshAsked = false;
      this.refresh();
    }
    return encodeMessage(endOfRibUpdate(this.family), this.#session);
  }

  /** RFC 7313 section 4: a refresh stands between two marks, where both ends know them. */
  *#refreshMark(subtype: 'begin' | 'end'): Generator<Uint8Array> {
    if (subtype === 'begin') {
      if (!this.#refreshBegins) return;
      this.#refreshBegins = false;
    } else {
      // A refresh that was asked for just now begins with the next pull.
      if (this.#conclusion !== 'end-of-refresh' || this.#refreshBegins) return;
      this.#conclusion = 'none';
    }
    const session = this.#session;
    if (session.enhancedRouteRefresh) {
      yield encodeMessage({ type: 'ROUTE-REFRESH', family: this.family, subtype }, session);
    }
  }

  get #session(): Advertising['session'] {
    if (this.#advertising === undefined) throw new Error('there is no session');
    return this.#advertising.session;
  }

  #enqueue(prefix: Prefix, attributes: RouteAttributes | undefined): void {
    const advertising = this.#advertising;
    if (advertising === undefined) return;
    const told = this.#told.get(prefix);
    if (attributes === undefined) {
      if (told !== undefined) this.#withdrawals.add(prefix);
      return;
    }
    if (told === keyOf(attributes, advertising)) return;
    const group = this.#announcements.get(attributes.key);
    if (group === undefined) this.#announcements.set(attributes.key, { attributes, prefixes: new Set([prefix]) });
    else group.prefixes.add(prefix);
  }

  #leaveGroup(key: string, prefix: Prefix): void {
    const group = this.#announcements.get(key);
    if (group?.prefixes.delete(prefix) === true && group.prefixes.size === 0) this.#announcements.delete(key);
  }
}

function keyOf({ key }: RouteAttributes, { leaving }: Advertising): string {
  return leaving ? `leaving ${key}` : key;
}

/** Packs `waiting`, and tells `done` of each prefix before the message that carries it is given out. */
function* packed(
  waiting: Iterable<Prefix>,
  encode: (prefixes: Iterable<Prefix>) => Generator<PackedUpdate>,
  done: (prefix: Prefix) => void,
): Generator<Uint8Array> {
  // The packer looks at one prefix more than fits: it is not done yet.
  const seen: Prefix[] = [];
  const watched = (function* () {
    for (const prefix of waiting) {
      seen.push(prefix);
      yield prefix;
    }
  })();
  for (const { bytes, count } of encode(watched)) {
    for (const prefix of seen.splice(0, count)) done(prefix);
    yield bytes;
  }
}
