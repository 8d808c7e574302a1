import type { Ip } from '../../net/ip.ts';
import type { InterfaceName, Vip } from '../../net/names.ts';
import { prefixContains } from '../../net/prefix.ts';
import { formatProblem } from '../../net/result.ts';
import { Table } from '../../net/table.ts';
import type { BGPPeer } from '../api/bgp-peer.ts';
import type { Links } from '../world/links.ts';
import type { NodeObject, Pool } from '../world/objects.ts';
import type { World } from '../world/types.ts';
import { type Advertiser, type Asked, advertisersOf, isForNode, mergeAttributes, routesOf } from './bgp/advertise.ts';
import { planSession } from './bgp/session.ts';
import type { BgpRoute, BgpRouteKey, SessionPlan } from './bgp/types.ts';
import { nodeFacts } from './context.ts';
import type { VipPlan } from './vip-plan.ts';

/** What the plan for BGP depends on. */
export interface BgpInput {
  readonly peers: Table<string, BGPPeer>;
  readonly pools: Table<string, Pool>;
  readonly vips: Table<Vip, VipPlan>;
  /** VIPs whose rules the kernel has: a node attracts no traffic that it cannot serve. */
  readonly installed: Table<Vip, true>;
  /** Absent: a node that no Node object describes, which has no labels. */
  readonly node: NodeObject | undefined;
  readonly links: Links;
  readonly witness: boolean;
  /** The node leaves: its routes carry GRACEFUL_SHUTDOWN (RFC 8326). */
  readonly draining: boolean;
  /** BGPPeers from which alone this node takes its routes, in the same way. */
  readonly drained: ReadonlySet<string>;
}

export interface BgpPlan {
  readonly input: BgpInput;
  /** By name of the BGPPeer. A value that did not change is the same object. */
  readonly sessions: Table<string, SessionPlan>;
  /** Why a BGPPeer has no session on this node. */
  readonly withoutSession: ReadonlyMap<string, string>;
  readonly routes: Table<BgpRouteKey, BgpRoute>;
  /** VIPs of pools with `spec.bgp` that this node does not announce by BGP, with the reason. */
  readonly withheld: Table<Vip, string>;
  readonly asked: Table<Vip, readonly Asked[]>;
  /** How many VIPs ask for a route, by what they ask: it goes with the last of them. */
  readonly shares: Table<BgpRouteKey, readonly Share[]>;
  readonly advertisers: ReadonlyMap<Pool, readonly Advertiser[]>;
  readonly draining: boolean;
  /** Sessions whose routes say that they leave, and are withdrawn in a while. */
  readonly leaving: ReadonlySet<string>;
}

/** VIPs that ask for one route in the same words. */
export interface Share {
  readonly advertiser: Advertiser;
  readonly vips: number;
}

const WITNESS = 'this node only votes';
const NOT_SELECTED = 'spec.nodeSelector does not select this node';

/** The peer is meant for other nodes. */
export function isForOthers(reason: string): boolean {
  return reason === WITNESS || reason === NOT_SELECTED;
}

export function emptyBgpPlan(links: Links): BgpPlan {
  return {
    input: {
      peers: Table.empty(),
      pools: Table.empty(),
      vips: Table.empty(),
      installed: Table.empty(),
      node: undefined,
      links,
      witness: false,
      draining: false,
      drained: new Set(),
    },
    sessions: Table.empty(),
    withoutSession: new Map(),
    routes: Table.empty(),
    withheld: Table.empty(),
    asked: Table.empty(),
    shares: Table.empty(),
    advertisers: new Map(),
    draining: false,
    leaving: new Set(),
  };
}

/** The part of the world that BGP depends on. */
export function bgpInput(world: World, vips: BgpInput['vips']): BgpInput {
  const { objects, self, links, witness } = world;
  return {
    peers: objects.peers,
    pools: objects.pools,
    vips,
    installed: world.forwarding.applied?.vips ?? Table.empty(),
    node: objects.nodes.get(self),
    links,
    witness,
    draining: world.draining || objects.speakers.get(self)?.spec.drain === true,
    drained: world.drainedPeers,
  };
}

/** Where traffic for VIPs may enter from peers: traffic policy Local keeps the client address there. */
export function peeringInterfaces({ sessions, input }: BgpPlan): InterfaceName[] {
  const names = new Set<InterfaceName>();
  for (const { remote, sourceInterface } of sessions.values()) {
    if (remote.interface !== undefined) names.add(remote.interface as InterfaceName);
    if (sourceInterface !== undefined) names.add(sourceInterface as InterfaceName);
    if (remote.kind === 'address') for (const name of interfacesTowards(remote.address, input.links)) names.add(name);
  }
  return [...names].sort();
}

function interfacesTowards(ip: Ip, links: Links): InterfaceName[] {
  return [...links.byIndex.values()]
    .filter(({ addresses }) => addresses.some(({ prefix }) => prefixContains(prefix, ip)))
    .map(({ name }) => name as InterfaceName);
}

/** Sessions and routes of this node. With the plan before it, work is in proportion to what changed. */
export function planBgp(input: BgpInput, previous: BgpPlan): BgpPlan {
  const { sessions, withoutSession } = planSessions(input, previous);
  const before = previous.input;
  const same =
    sessions === previous.sessions &&
    input.peers === before.peers &&
    input.node === before.node &&
    input.witness === before.witness &&
    input.draining === before.draining &&
    input.drained === before.drained;
  const advertisers = planAdvertisers(input, sessions, same ? previous : undefined);
  const answers = Array.from(dirtyVips(input, before, same), (vip) => [vip, answer(vip, input, advertisers)] as const);
  const asked = previous.asked.with(answers.map(([vip, answer]) => [vip, answer?.asked]));
  const withheld = previous.withheld.with(answers.map(([vip, answer]) => [vip, answer?.withheld]));
  const { shares, routes } = gather(asked, previous);
  const leaving = new Set([...sessions.keys()].filter((peer) => isLeaving(peer, input)));
  const { draining } = input;
  return { input, sessions, withoutSession, asked, withheld, shares, routes, advertisers, draining, leaving };
}

function isLeaving(peer: string, { draining, drained }: BgpInput): boolean {
  return draining || drained.has(peer);
}

function planSessions(input: BgpInput, previous: BgpPlan): Pick<BgpPlan, 'sessions' | 'withoutSession'> {
  const before = previous.input;
  if (input.peers === before.peers && input.node === before.node && input.links === before.links) return previous;
  const withoutSession = new Map<string, string>();
  const edits = new Map<string, SessionPlan | undefined>();
  for (const name of previous.sessions.keys()) edits.set(name, undefined);
  const around = { links: input.links, nodeAddresses: input.node?.addresses ?? [] };
  for (const [name, peer] of input.peers) {
    if (input.witness || !isForNode(peer, labelsOf(input))) {
      withoutSession.set(name, input.witness ? WITNESS : NOT_SELECTED);
      continue;
    }
    const session = planSession(peer, around);
    if (session.problem === undefined) edits.set(name, keep(previous.sessions.get(name), session.ok));
    else withoutSession.set(name, formatProblem(session.problem));
  }
  return { sessions: previous.sessions.with(edits), withoutSession };
}

/** An equal session is the same object, so that nothing downstream takes it for a change. */
function keep(before: SessionPlan | undefined, now: SessionPlan): SessionPlan {
  return before !== undefined && JSON.stringify(before) === JSON.stringify(now) ? before : now;
}

function labelsOf({ node }: BgpInput): Readonly<Record<string, string>> {
  return node?.meta.labels ?? {};
}

function dirtyVips(input: BgpInput, before: BgpInput, same: boolean): Set<Vip> {
  const dirty = new Set<Vip>(same ? [] : [...input.vips.keys()]);
  for (const { key } of input.vips.changes(before.vips)) dirty.add(key);
  for (const { key } of input.installed.changes(before.installed)) dirty.add(key);
  return dirty;
}

interface Answer {
  readonly asked: readonly Asked[] | undefined;
  readonly withheld: string | undefined;
}

/** Undefined for a VIP that is none any more or of no pool with `spec.bgp`. */
function answer(vip: Vip, input: BgpInput, advertisers: BgpPlan['advertisers']): Answer | undefined {
  const plan = input.vips.get(vip);
  if (plan === undefined || plan.pool.bgp.length === 0) return undefined;
  const notInstalled = input.installed.has(vip) ? undefined : 'its rules are on their way into the kernel';
  const hindrance = unfit(input) ?? plan.withheld ?? notInstalled;
  if (hindrance !== undefined) return { asked: undefined, withheld: hindrance };
  const { asked, withheld } = routesOf(vip, plan.pool, advertisers.get(plan.pool) ?? []);
  return { asked: asked.length > 0 ? asked : undefined, withheld };
}

/** @param previous whose advertisers of unchanged pools hold. */
function planAdvertisers(
  input: BgpInput,
  sessions: BgpPlan['sessions'],
  previous: BgpPlan | undefined,
): BgpPlan['advertisers'] {
  if (input.pools === previous?.input.pools) return previous.advertisers;
  const pairs = Array.from(sessions, ([name, session]) => [session, input.peers.get(name)] as const);
  const chosen = new Map(pairs.filter((pair): pair is [SessionPlan, BGPPeer] => pair[1] !== undefined));
  const advertisers = new Map<Pool, readonly Advertiser[]>();
  for (const pool of input.pools.values()) {
    const known = previous?.advertisers.get(pool);
    advertisers.set(pool, known ?? advertisersOf(pool, labelsOf(input), chosen, (peer) => isLeaving(peer, input)));
  }
  return advertisers;
}

/** Why this node attracts no traffic at all. */
function unfit({ witness, node }: BgpInput): string | undefined {
  if (witness) return WITNESS;
  if (node === undefined) return undefined;
  const { excluded, networkUnavailable, outOfService } = nodeFacts(node);
  if (excluded) return 'the node is excluded from external load balancers';
  if (outOfService) return 'the node is out of service';
  return networkUnavailable ? "the node's network is unavailable" : undefined;
}

/** Joins what the VIPs ask into routes; only routes whose VIPs changed are looked at. */
function gather(asked: BgpPlan['asked'], previous: BgpPlan): Pick<BgpPlan, 'shares' | 'routes'> {
  const touched = new Map<BgpRouteKey, { readonly ask: Asked; readonly counts: Map<Advertiser, number> }>();
  const count = (ask: Asked, difference: number) => {
    let found = touched.get(ask.key);
    if (found === undefined) {
      const before = previous.shares.get(ask.key) ?? [];
      found = { ask, counts: new Map(before.map(({ advertiser, vips }) => [advertiser, vips])) };
      touched.set(ask.key, found);
    }
    found.counts.set(ask.advertiser, (found.counts.get(ask.advertiser) ?? 0) + difference);
  };
  for (const { before, after } of asked.changes(previous.asked)) {
    for (const ask of before ?? []) count(ask, -1);
    for (const ask of after ?? []) count(ask, 1);
  }
  const edits = Array.from(touched.values(), ({ ask, counts }) => {
    const shares = Array.from(counts, ([advertiser, vips]) => ({ advertiser, vips })).filter(({ vips }) => vips > 0);
    return { ask, shares };
  });
  return {
    shares: previous.shares.with(edits.map(({ ask, shares }) => [ask.key, shares.length > 0 ? shares : undefined])),
    routes: previous.routes.with(
      edits.map(({ ask, shares }) => [ask.key, routeFor(ask, shares, previous.routes.get(ask.key))]),
    ),
  };
}

function routeFor({ peer, prefix }: Asked, shares: readonly Share[], before: BgpRoute | undefined) {
  const advertisers = shares.map(({ advertiser }) => advertiser).sort((a, b) => (a.order < b.order ? -1 : 1));
  const attributes = mergeAttributes(advertisers.map((advertiser) => advertiser.attributes));
  if (attributes === undefined) return undefined;
  return before?.attributes.key === attributes.key ? before : { peer, prefix, attributes };
}
