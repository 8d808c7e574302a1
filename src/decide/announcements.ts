import { familyOf } from '../../net/ip.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import type { World } from '../world/types.ts';
import type { Announcer } from './announcers.ts';
import type { Plan } from './plan.ts';
import type { VipPlan } from './vip-plan.ts';

/** One node that announces one VIP. */
export interface Announcement {
  readonly address: Vip;
  readonly mode: 'L2' | 'BGP';
  readonly node: NodeName;
  /** Absent where it is not known here. */
  readonly interface?: string;
  /** BGPPeers with an established session that have the route, as far as it is known here. */
  readonly peers?: readonly string[];
  readonly fenced: boolean;
}

/** Who announces a VIP. The claim that this node hears of counts first: it is newer than what its holder wrote. */
export function announcementsOf(vip: Vip, plan: Plan): Announcement[] {
  const { world, announcers } = plan;
  const claim = world.wire.claims.get(vip);
  const told = announcers.get(vip) ?? [];
  const byL2 = claim === undefined ? told.filter(({ mode }) => mode === 'L2') : holderOf(claim.holder, told);
  const others = told.filter(({ mode, node }) => mode === 'BGP' && node !== world.self);
  const shown = [...byL2, ...others].map(({ node, mode, interface: name }) => ({
    address: vip,
    mode,
    node,
    ...(name === undefined ? {} : { interface: name }),
    fenced: mode === 'BGP' || (claim?.fenced ?? true),
  }));
  const peers = peersWith(vip, plan);
  const own = { address: vip, mode: 'BGP' as const, node: world.self, peers, fenced: true };
  return peers.length > 0 ? [...shown, own] : shown;
}

function holderOf(holder: NodeName | undefined, told: readonly Announcer[]): Announcer[] {
  if (holder === undefined) return [];
  const known = told.find(({ node, mode }) => node === holder && mode === 'L2');
  return [known ?? { node: holder, mode: 'L2', interface: undefined }];
}

/** BGPPeers that have a route to the VIP from this node. */
export function peersWith(vip: Vip, { bgp, world }: Plan): string[] {
  const sent = (bgp.asked.get(vip) ?? []).filter(({ key }) => world.bgpSent.has(key));
  return [...new Set(sent.map(({ peer }) => peer))].sort();
}

/** Why nobody announces a VIP: `n2: no ready endpoint; n3: interface eth0 down`. */
export function darkReasons({ vip, l2, pool }: Pick<VipPlan, 'vip' | 'l2' | 'pool'>, plan: Plan): string {
  const { world } = plan;
  const reasons = [
    ...(l2 === undefined ? [] : l2Reasons(vip, world)),
    ...(pool.bgp.length === 0 ? [] : bgpReasons(vip, plan)),
  ];
  return reasons.length === 0 ? 'the speakers have not settled yet' : reasons.join('; ');
}

function l2Reasons(vip: Vip, { wire }: World): string[] {
  return (wire.dark.get(vip) ?? []).map(({ node, reason }) => (node === undefined ? reason : `${node}: ${reason}`));
}

/** Of this node, and of the sessions that other speakers wrote of. */
function bgpReasons(vip: Vip, { bgp, world }: Plan): string[] {
  const { self, objects } = world;
  const withheld = bgp.withheld.get(vip);
  if (withheld !== undefined) return [`${self}: ${withheld}`];
  const peers = new Set((bgp.asked.get(vip) ?? []).map(({ peer }) => peer));
  const own = Array.from(peers, (peer) => `${self}: ${whyNotSent(vip, peer, world)}`);
  const others = [...objects.speakers.values()]
    .filter(({ metadata }) => metadata.name !== self)
    .flatMap(({ metadata, status }) => (status?.sessions ?? []).map((session) => ({ ...session, node: metadata.name })))
    .filter(({ state }) => state !== 'Established')
    .map(({ node, peer, lastError }) => `${node}: ${noSession(peer, lastError)}`);
  return [...own, ...others];
}

function whyNotSent(vip: Vip, peer: string, { bgp, drainedPeers, draining }: World): string {
  const session = bgp.get(peer);
  if (session?.state !== 'Established') return noSession(peer, session?.reason);
  if (!session.families.includes(familyOf(vip))) return `${peer} does not take ${familyOf(vip)} routes`;
  return draining || drainedPeers.has(peer) ? `drained from ${peer}` : `the route is on its way to ${peer}`;
}

function noSession(peer: string, reason: string | undefined): string {
  return `no session with ${peer}${reason === undefined ? '' : ` (${reason})`}`;
}
