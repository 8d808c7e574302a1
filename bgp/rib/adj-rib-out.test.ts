import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Ip, IpFamily, IpV6 } from '../../net/ip.ts';
import type { Prefix } from '../../net/prefix.ts';
import { decodeMessage } from '../codec/messages/table.ts';
import { endOfRib } from '../codec/messages/update.ts';
import { prefixesOf } from '../codec/nlri.ts';
import { externalSession, internalSession } from '../codec/testing/sessions.ts';
import type { Message, PathAttributes, SessionParameters, Update } from '../codec/types.ts';
import { AdjRibOut } from './adj-rib-out.ts';
import type { Advertising, RouteAttributes } from './types.ts';

const GRACEFUL_SHUTDOWN = 0xffff_0000;

function attributes(key: string, change: Partial<RouteAttributes> = {}): RouteAttributes {
  return {
    key,
    localPreference: undefined,
    med: undefined,
    prepend: 0,
    communities: [],
    extendedCommunities: [],
    largeCommunities: [],
    ...change,
  };
}

const PLAIN = attributes('plain');
const MED = attributes('med', { med: 5 });

function advertising(session: SessionParameters = externalSession(65_000)): Advertising {
  return {
    session,
    localAsn: 65_001,
    nextHops: { IPv4: { address: '192.0.2.1' as Ip }, IPv6: { address: '2001:db8::1' as Ip } },
    leaving: false,
  };
}

/** A peer that reads everything: its table, and each message in words. */
class Reader {
  readonly table = new Map<string, PathAttributes>();
  readonly heard: string[] = [];
  readonly sizes: number[] = [];
  readonly #session: SessionParameters;

  constructor(session: SessionParameters = externalSession(65_000)) {
    this.#session = session;
  }

  read(rib: AdjRibOut, limit = Number.POSITIVE_INFINITY): void {
    let taken = 0;
    for (const bytes of rib.messages()) {
      this.sizes.push(bytes.length);
      // What we say is read by the rules for what a peer of the same kind says to us.
      const decoded = decodeMessage(bytes, this.#session);
      if (decoded.outcome !== 'message') throw new Error(JSON.stringify(decoded));
      this.#hear(decoded.message);
      if (++taken >= limit) return;
    }
  }

  #hear(message: Message): void {
    if (message.type === 'ROUTE-REFRESH') this.heard.push(`${message.family} ${message.subtype}`);
    if (message.type !== 'UPDATE') return;
    const done = endOfRib(message);
    if (done !== undefined) this.heard.push(`${done} end-of-rib`);
    else this.#learn(message);
  }

  #learn({ withdrawn, announced, attributes: told }: Update): void {
    const gone = withdrawn.flatMap((nlri) => [...prefixesOf(nlri)]);
    const here = announced.flatMap(({ nlri }) => [...prefixesOf(nlri)]);
    if (gone.length > 0) this.heard.push(`-${gone.length}`);
    if (here.length > 0) this.heard.push(`+${here.length}`);
    for (const prefix of gone) this.table.delete(prefix);
    for (const prefix of here) this.table.set(prefix, told);
    expect(gone.filter((prefix) => here.includes(prefix))).toEqual([]);
  }
}

/** The session of the one that reads: the AS of the sender is ours. */
const READER = externalSession(65_001);

function hosts(count: number, family: IpFamily = 'IPv4'): Prefix[] {
  return Array.from({ length: count }, (_, i) =>
    family === 'IPv4'
      ? (`10.0.${i >> 8}.${i & 255}/32` as Prefix)
      : (`2001:db8::${(i + 1).toString(16)}/128` as Prefix),
  );
}

function ribOf(prefixes: readonly Prefix[], told: RouteAttributes = PLAIN): AdjRibOut {
  const rib = new AdjRibOut();
  rib.edit(prefixes.map((prefix) => ({ prefix, attributes: told })));
  return rib;
}

describe('a session', () => {
  test('is told all routes, then End-of-RIB of each family', () => {
    const rib = ribOf([...hosts(3), ...hosts(2, 'IPv6')]);
    expect([...rib.messages()]).toEqual([]);
    rib.open(advertising());
    const peer = new Reader(READER);
    peer.read(rib);
    expect(peer.heard).toEqual(['+3', 'IPv4 end-of-rib', '+2', 'IPv6 end-of-rib']);
    expect(rib.isComplete).toBe(true);
    expect(rib.family('IPv4')).toMatchObject({ advertised: 3, endOfRibSent: true });
  });

  test('has its UPDATEs full to the octet', () => {
    const rib = ribOf(hosts(2_000));
    rib.open(advertising());
    const peer = new Reader(READER);
    peer.read(rib);
    expect(peer.heard.slice(0, 3)).toEqual(['+810', '+810', '+380']);
    expect(peer.sizes[0]).toBeLessThanOrEqual(4_096);
    expect(peer.sizes[0]).toBeGreaterThan(4_096 - 5);
  });

  test('knows nothing of the one before', () => {
    const rib = ribOf(hosts(3));
    rib.open(advertising());
    new Reader(READER).read(rib);
    rib.close();
    expect(rib.family('IPv4')).toMatchObject({ advertised: 0, endOfRibSent: false });
    rib.edit([{ prefix: hosts(1)[0] as Prefix, attributes: undefined }]);
    rib.open(advertising());
    const peer = new Reader(READER);
    peer.read(rib);
    expect(peer.heard).toEqual(['+2', 'IPv4 end-of-rib', 'IPv6 end-of-rib']);
  });

  test('of one family is told nothing of the other', () => {
    const session = externalSession(65_000, { families: ['IPv6'] });
    const rib = ribOf([...hosts(3), ...hosts(2, 'IPv6')]);
    rib.open(advertising(session));
    const peer = new Reader({ ...session, peerAsn: 65_001 });
    peer.read(rib);
    expect(peer.heard).toEqual(['+2', 'IPv6 end-of-rib']);
    expect(rib.isComplete).toBe(true);
  });

  test('without a next hop for a family tells its End-of-RIB alone', () => {
    const rib = ribOf([...hosts(3), ...hosts(2, 'IPv6')]);
    rib.open({ ...advertising(), nextHops: { IPv4: { address: '192.0.2.1' as Ip } } });
    const peer = new Reader(READER);
    peer.read(rib);
    expect(peer.heard).toEqual(['+3', 'IPv4 end-of-rib', 'IPv6 end-of-rib']);
    expect(rib.isComplete).toBe(true);
  });
});

describe('changes', () => {
  test('withdrawals come first, whatever the order of the edits', () => {
    const rib = ribOf([...hosts(2), ...hosts(2, 'IPv6')]);
    rib.open(advertising());
    const peer = new Reader(READER);
    peer.read(rib);
    peer.heard.length = 0;
    const [first = '' as Prefix] = hosts(1);
    const [other = '' as Prefix] = hosts(1, 'IPv6');
    rib.edit([
      { prefix: '10.9.9.9/32' as Prefix, attributes: PLAIN },
      { prefix: first, attributes: undefined },
      { prefix: other, attributes: undefined },
    ]);
    peer.read(rib);
    expect(peer.heard).toEqual(['-1', '-1', '+1']);
  });

  test('that undo each other before they are told are not told', () => {
    const rib = ribOf(hosts(2));
    rib.open(advertising());
    const peer = new Reader(READER);
    peer.read(rib);
    peer.heard.length = 0;
    const [prefix = '' as Prefix] = hosts(1);
    rib.edit([{ prefix, attributes: undefined }]);
    rib.edit([{ prefix, attributes: PLAIN }]);
    rib.edit([{ prefix: '10.9.9.9/32' as Prefix, attributes: PLAIN }]);
    rib.edit([{ prefix: '10.9.9.9/32' as Prefix, attributes: undefined }]);
    expect(rib.isComplete).toBe(true);
    peer.read(rib);
    expect(peer.heard).toEqual([]);
  });

  test('of attributes are announcements alone (RFC 4271 section 3.1: an implicit withdrawal)', () => {
    const rib = ribOf(hosts(2));
    rib.open(advertising());
    const peer = new Reader(READER);
    peer.read(rib);
    peer.heard.length = 0;
    rib.edit(hosts(2).map((prefix) => ({ prefix, attributes: attributes('again', { med: 7 }) })));
    peer.read(rib);
    expect(peer.heard).toEqual(['+2']);
    expect([...peer.table.values()].map(({ med }) => med)).toEqual([7, 7]);
  });

  test('replace() makes the table equal to what is given', () => {
    const rib = ribOf(hosts(3));
    rib.open(advertising());
    const peer = new Reader(READER);
    peer.read(rib);
    rib.replace(new Map([...hosts(1), '10.9.9.9/32' as Prefix].map((prefix) => [prefix, PLAIN])));
    peer.read(rib);
    expect([...peer.table.keys()].sort()).toEqual(['10.0.0.0/32', '10.9.9.9/32']);
  });
});

describe('leaving (RFC 8326)', () => {
  test('tells every route again, with the community', () => {
    const rib = ribOf(hosts(2));
    rib.open(advertising());
    const peer = new Reader(READER);
    peer.read(rib);
    rib.leave();
    rib.leave();
    peer.read(rib);
    expect(peer.heard).toEqual(['+2', 'IPv4 end-of-rib', 'IPv6 end-of-rib', '+2']);
    expect([...peer.table.values()].map(({ communities }) => communities)).toEqual([
      [GRACEFUL_SHUTDOWN],
      [GRACEFUL_SHUTDOWN],
    ]);
  });

  test('has the lowest preference inside the AS', () => {
    const rib = ribOf(hosts(1), attributes('p', { localPreference: 200, communities: [GRACEFUL_SHUTDOWN] }));
    rib.open(advertising(internalSession(65_001)));
    const peer = new Reader(internalSession(65_001));
    peer.read(rib);
    expect([...peer.table.values()]).toMatchObject([{ localPreference: 200, communities: [GRACEFUL_SHUTDOWN] }]);
    rib.leave();
    peer.read(rib);
    expect([...peer.table.values()]).toMatchObject([{ localPreference: 0, communities: [GRACEFUL_SHUTDOWN] }]);
  });
});

describe('route refresh', () => {
  test('tells the routes of the family again', () => {
    const rib = ribOf([...hosts(2), ...hosts(1, 'IPv6')]);
    rib.open(advertising());
    const peer = new Reader(READER);
    peer.read(rib);
    peer.heard.length = 0;
    rib.refresh('IPv4');
    peer.read(rib);
    expect(peer.heard).toEqual(['+2']);
  });

  test('stands between two marks where both ends know them (RFC 7313)', () => {
    const session = externalSession(65_000, { enhancedRouteRefresh: true });
    const rib = ribOf(hosts(2));
    rib.open(advertising(session));
    const peer = new Reader({ ...session, peerAsn: 65_001 });
    peer.read(rib);
    peer.heard.length = 0;
    rib.edit([{ prefix: hosts(1)[0] as Prefix, attributes: undefined }]);
    rib.refresh('IPv4');
    rib.refresh('IPv4');
    peer.read(rib);
    expect(peer.heard).toEqual(['-1', 'IPv4 begin', '+1', 'IPv4 end']);
    expect(rib.isComplete).toBe(true);
  });

  test('that comes during the first dump follows it', () => {
    const session = externalSession(65_000, { enhancedRouteRefresh: true, families: ['IPv4'] });
    const rib = ribOf(hosts(1_000));
    rib.open(advertising(session));
    const peer = new Reader({ ...session, peerAsn: 65_001 });
    peer.read(rib, 1);
    rib.refresh('IPv4');
    while (!rib.isComplete) peer.read(rib);
    expect(peer.heard).toEqual(['+810', '+190', 'IPv4 end-of-rib', 'IPv4 begin', '+810', '+190', 'IPv4 end']);
  });

  test('without a session is nothing', () => {
    const rib = ribOf(hosts(1));
    rib.refresh('IPv4');
    expect([...rib.messages()]).toEqual([]);
  });
});

describe('path attributes', () => {
  const told = (route: RouteAttributes, session: SessionParameters, read: SessionParameters): PathAttributes => {
    const rib = ribOf(hosts(1), route);
    rib.open(advertising(session));
    const peer = new Reader(read);
    peer.read(rib);
    return [...peer.table.values()][0] ?? {};
  };

  test('towards an external peer', () => {
    const route = attributes('all', {
      localPreference: 200,
      med: 10,
      prepend: 2,
      communities: [0xfde8_0064],
      extendedCommunities: [0x0002_fde8_0000_0064n],
      largeCommunities: [{ globalAdministrator: 65_000, localData1: 1, localData2: 2 }],
    });
    expect(told(route, externalSession(65_000), READER)).toEqual({
      origin: 'IGP',
      asPath: [{ kind: 'AS_SEQUENCE', asns: [65_001, 65_001, 65_001] }],
      med: 10,
      communities: [0xfde8_0064],
      extendedCommunities: [0x0002_fde8_0000_0064n],
      largeCommunities: [{ globalAdministrator: 65_000, localData1: 1, localData2: 2 }],
    });
  });

  test('towards an internal peer', () => {
    const internal = internalSession(65_001);
    const route = attributes('all', { localPreference: 200, med: 10, prepend: 2 });
    expect(told(route, internal, internal)).toEqual({ origin: 'IGP', asPath: [], med: 10, localPreference: 200 });
    expect(told(PLAIN, internal, internal)).toMatchObject({ localPreference: 100 });
  });

  test.each([
    ['provider', 65_001],
    ['peer', 65_001],
    ['route-server', 65_001],
    ['customer', undefined],
    ['route-server-client', undefined],
  ] as const)('as a %s: OTC is %s (RFC 9234 section 5)', (role, expected) => {
    expect(told(PLAIN, externalSession(65_000, { role }), READER).onlyToCustomer).toBe(expected);
  });

  test('IPv4 routes have an IPv6 next hop where that was negotiated (RFC 8950)', () => {
    const session = externalSession(65_000, { extendedNextHop: true });
    const rib = ribOf(hosts(1));
    rib.open({
      ...advertising(session),
      nextHops: { IPv4: { address: '2001:db8::1' as IpV6, linkLocal: 'fe80::1' as IpV6 } },
    });
    const [bytes = new Uint8Array()] = [...rib.messages()];
    expect(decodeMessage(bytes, { ...session, peerAsn: 65_001 })).toMatchObject({
      message: { announced: [{ nextHop: { address: '2001:db8::1', linkLocal: 'fe80::1' }, nlri: { family: 'IPv4' } }] },
    });
  });
});

describe('a peer that reads now and then', () => {
  const prefix = fc.constantFrom<Prefix>(...hosts(12), ...hosts(6, 'IPv6'));
  const edit = fc.record({
    kind: fc.constant('edit' as const),
    prefix,
    attributes: fc.constantFrom<RouteAttributes | undefined>(PLAIN, MED, undefined),
  });
  const step = fc.oneof(
    { weight: 6, arbitrary: edit },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('read' as const), limit: fc.integer({ min: 1, max: 3 }) }) },
    fc.record({ kind: fc.constant('refresh' as const), family: fc.constantFrom<IpFamily>('IPv4', 'IPv6') }),
    fc.constantFrom({ kind: 'leave' as const }, { kind: 'reopen' as const }),
  );

  test('ends with exactly what is wanted, whatever happened', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, enhancedRouteRefresh) => {
        const session = externalSession(65_000, { enhancedRouteRefresh });
        const rib = new AdjRibOut();
        // The naive twin: the table as it should be.
        const wanted = new Map<string, RouteAttributes>();
        const reading = { ...session, peerAsn: 65_001 };
        let peer = new Reader(reading);
        let leaving = false;
        rib.open(advertising(session));
        for (const one of steps) {
          if (one.kind === 'edit') {
            rib.edit([one]);
            if (one.attributes === undefined) wanted.delete(one.prefix);
            else wanted.set(one.prefix, one.attributes);
          } else if (one.kind === 'read') peer.read(rib, one.limit);
          else if (one.kind === 'refresh') rib.refresh(one.family);
          else if (one.kind === 'leave') {
            rib.leave();
            leaving = true;
          } else {
            rib.close();
            rib.open(advertising(session));
            peer = new Reader(reading);
            leaving = false;
          }
        }
        for (let pulls = 0; !rib.isComplete; pulls++) {
          if (pulls > 4) throw new Error('it never ends');
          peer.read(rib);
        }
        const mark = leaving ? { communities: [GRACEFUL_SHUTDOWN] } : {};
        const expected = [...wanted].map(([key, { med }]) => [key, { ...(med === undefined ? {} : { med }), ...mark }]);
        const seen = [...peer.table].map(([key, { med, communities }]) => [
          key,
          { ...(med === undefined ? {} : { med }), ...(communities === undefined ? {} : { communities }) },
        ]);
        expect(new Map(seen as never)).toEqual(new Map(expected as never));
        expect([...rib.messages()]).toEqual([]);
      }),
    );
  });
});
