import type { NodeName, Vip } from '../../net/names.ts';
import type { Report } from '../membership/types.ts';
import type { FromWire } from '../wire/protocol.ts';
import type { RouteKey } from './keys.ts';
import type { Links } from './links.ts';
import { type ObjectEdit, reduceObjects } from './reduce-objects.ts';
import type { BgpSession, ForwardingState, Role, SegmentState, SourceState, WireState, World } from './types.ts';

/** Everything that can happen to a daemon. */
export type WorldEvent =
  | { readonly type: 'objects'; readonly changes: readonly ObjectEdit[] }
  | { readonly type: 'source'; readonly source: Partial<SourceState> }
  /** What the API server says that routes hold; undefined: nothing. */
  | { readonly type: 'assignments'; readonly edits: readonly (readonly [RouteKey, readonly Vip[] | undefined])[] }
  | { readonly type: 'role'; readonly role: Role }
  | { readonly type: 'links'; readonly links: Links }
  | { readonly type: 'neighbours'; readonly neighbours: World['neighbours'] }
  | { readonly type: 'wire'; readonly message: FromWire }
  | { readonly type: 'forwarding'; readonly forwarding: ForwardingState }
  | { readonly type: 'bgp'; readonly sessions: readonly BgpSession[]; readonly sent: World['bgpSent'] }
  | { readonly type: 'draining'; readonly draining: boolean }
  | { readonly type: 'peerDraining'; readonly peer: string; readonly draining: boolean }
  /** The drain time of a VIP that moved here is over. */
  | { readonly type: 'settled'; readonly vip: Vip; readonly epoch: number }
  /** A VIP that a stranger answered for may be tried again. */
  | { readonly type: 'conflictExpired'; readonly vip: Vip };

export function reduce(world: World, event: WorldEvent): World {
  switch (event.type) {
    case 'objects': {
      const objects = reduceObjects(world.objects, event.changes);
      return { ...world, objects };
    }
    case 'source':
      return { ...world, source: { ...world.source, ...event.source } };
    case 'assignments':
      return {
        ...world,
        memory: world.memory.with(event.edits.filter(([key, vips]) => !equal(world.memory.get(key), vips))),
      };
    case 'role':
      return event.role === world.role ? world : { ...world, role: event.role };
    case 'links':
      return event.links === world.links ? world : { ...world, links: event.links };
    case 'neighbours':
      return { ...world, neighbours: event.neighbours };
    case 'wire':
      return withWire(world, reduceWire(world.wire, event.message));
    case 'forwarding':
      return { ...world, forwarding: event.forwarding };
    case 'bgp':
      return withBgp(world, event.sessions, event.sent);
    case 'draining':
      return event.draining === world.draining ? world : { ...world, draining: event.draining };
    case 'peerDraining': {
      const drainedPeers = new Set(world.drainedPeers);
      if (event.draining) drainedPeers.add(event.peer);
      else drainedPeers.delete(event.peer);
      return { ...world, drainedPeers };
    }
    case 'settled': {
      const arrival = world.wire.arrivals.get(event.vip);
      if (arrival?.epoch !== event.epoch) return world;
      return withWire(world, { ...world.wire, arrivals: world.wire.arrivals.delete(event.vip) });
    }
    case 'conflictExpired':
      return withWire(world, { ...world.wire, conflicts: world.wire.conflicts.delete(event.vip) });
  }
}

function equal(a: readonly Vip[] | undefined, b: readonly Vip[] | undefined): boolean {
  return a?.length === b?.length && (a ?? []).every((vip, i) => vip === b?.[i]);
}

function withBgp(world: World, sessions: readonly BgpSession[], bgpSent: World['bgpSent']): World {
  const named = new Map(sessions.map((session) => [session.peer, session]));
  const gone = [...world.bgp.keys()].filter((peer) => !named.has(peer));
  const bgp = world.bgp.with([
    ...gone.map((peer) => [peer, undefined] as const),
    ...Array.from(named, ([peer, session]) => [peer, kept(world.bgp.get(peer), session)] as const),
  ]);
  return bgp === world.bgp && bgpSent === world.bgpSent ? world : { ...world, bgp, bgpSent };
}

/** An equal session is the same object, so that nothing downstream takes it for a change. */
function kept(before: BgpSession | undefined, now: BgpSession): BgpSession {
  return before !== undefined && JSON.stringify(before) === JSON.stringify(now) ? before : now;
}

function withWire(world: World, wire: WireState): World {
  return wire === world.wire ? world : { ...world, wire };
}

function reduceWire(wire: WireState, message: FromWire): WireState {
  switch (message.type) {
    case 'report':
      return reduceReport(wire, message.segment, message.report);
    case 'answering': {
      const { segment, vip, epoch, fenced, formerHolders } = message;
      const answered = wire.answered.set(vip, { segment, epoch, fenced });
      const isNew = formerHolders.length > 0 && wire.arrivals.get(vip)?.epoch !== epoch;
      const arrivals = isNew ? wire.arrivals.set(vip, { segment, formerHolders, epoch }) : wire.arrivals;
      return { ...wire, answered, arrivals };
    }
    case 'stopped': {
      const { vip, keepForwarding } = message;
      // Clients still send to this node until the next holder is announced.
      const arrivals = keepForwarding ? wire.arrivals : wire.arrivals.delete(vip);
      return { ...wire, answered: wire.answered.delete(vip), arrivals };
    }
    case 'proof': {
      const { vip, holder, reachable, answeredBy } = message;
      return { ...wire, proofs: wire.proofs.set(vip, { holder, reachable, answeredBy }) };
    }
    case 'keyRefused':
      return withSegment(wire, message.segment, { keyRefusedBy: message.by });
    case 'nameTaken':
      return withSegment(wire, message.segment, { nameTaken: message.taken });
    case 'segmentFailed':
      return withSegment(wire, message.segment, { failure: message.message });
    case 'ready':
    case 'acknowledge':
    case 'resend':
    case 'log':
    case 'left':
    case 'bfd':
    case 'bfdStatus':
      return wire;
  }
}

/** A claim that nobody can act on leads nothing; the wire tells of it again when it is in force. */
function leaderless(claims: WireState['claims'], vip: Vip): WireState['claims'] {
  const claim = claims.get(vip);
  if (claim?.holder === undefined) return claims;
  const { kind, epoch, fenced, since, routeKey } = claim;
  return claims.set(vip, { kind, vip, epoch, fenced, since, routeKey });
}

function reduceReport(wire: WireState, segment: string, report: Report): WireState {
  switch (report.kind) {
    case 'claim': {
      const claims = wire.claims.set(report.vip, report);
      return { ...wire, claims, dark: report.holder === undefined ? wire.dark : wire.dark.delete(report.vip) };
    }
    case 'dark':
      return { ...wire, claims: leaderless(wire.claims, report.vip), dark: wire.dark.set(report.vip, report.reasons) };
    case 'lease':
      return withSegment(wire, segment, { lease: report, failure: undefined });
    case 'member': {
      const members = new Map<NodeName, typeof report>(wire.segments.get(segment)?.members);
      return withSegment(wire, segment, { members: members.set(report.node, report) });
    }
    case 'heartbeatsBlocked':
      return withSegment(wire, segment, { blocked: report.nodes });
    case 'conflicted':
      return { ...wire, conflicts: wire.conflicts.set(report.vip, { mac: report.mac, defended: report.defended }) };
    case 'suspected':
    case 'certified':
    case 'moved':
    case 'roundTrip':
      return wire;
  }
}

const NO_SEGMENT: SegmentState = {
  lease: undefined,
  members: new Map(),
  blocked: [],
  keyRefusedBy: [],
  nameTaken: false,
  failure: undefined,
};

function withSegment(wire: WireState, name: string, change: Partial<SegmentState>): WireState {
  const before = wire.segments.get(name) ?? NO_SEGMENT;
  return { ...wire, segments: new Map(wire.segments).set(name, { ...before, ...change }) };
}
