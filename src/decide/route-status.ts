import type { NodeName, Vip } from '../../net/names.ts';
import { type Condition, condition } from '../api/conditions.ts';
import type { World } from '../world/types.ts';
import { type Announcement, announcementsOf, darkReasons } from './announcements.ts';
import type { Plan } from './plan.ts';
import type { RoutePlan } from './route-plan.ts';
import type { VipPlan } from './vip-plan.ts';

export interface RouteStatus {
  readonly conditions: readonly Condition[];
  readonly announcements: readonly Announcement[];
}

/** What is true of a route now, as far as this node knows. */
export function routeStatus(route: RoutePlan, plan: Plan): RouteStatus {
  const { world } = plan;
  const announcements = route.addresses.assigned.flatMap(({ vip }) => announcementsOf(vip, plan));
  const conflicts = conflictsOf(route, world);
  return {
    announcements,
    conditions: [
      accepted(route, world),
      resolved(route),
      programmed(route, plan, announcements),
      ...direct(route),
      ...reachable(announcements, plan),
      ...(conflicts === undefined ? [] : [conflicts]),
    ],
  };
}

/** Said of routes that ask for it: with Auto either mode is right. */
function direct({ route, forwarding }: RoutePlan): Condition[] {
  if (route.forwarding !== 'Direct' || forwarding.length === 0) return [];
  const refused = forwarding.filter(({ why }) => why !== undefined);
  if (refused.length > 0) {
    const reasons = refused.map(({ vip, why }) => `${vip}: ${why}`).join('; ');
    return [condition('Direct', 'False', 'NotPossible', reasons)];
  }
  return [condition('Direct', 'True', 'InForce', "packets go unchanged to the endpoints' nodes")];
}

function accepted({ route, rejected }: RoutePlan, world: World): Condition {
  const invalid = world.objects.invalid.get(`ServiceRoute ${route.key}`);
  if (invalid !== undefined)
    return condition('Accepted', 'False', 'Invalid', `${invalid.message}; the last good form is in force`);
  if (rejected !== undefined) return condition('Accepted', 'False', 'UnsupportedValue', rejected);
  return condition('Accepted', 'True', 'Accepted', 'the route is valid');
}

function resolved({ refProblems }: RoutePlan): Condition {
  const [first] = refProblems;
  if (first === undefined) return condition('ResolvedRefs', 'True', 'ResolvedRefs', 'every backend was found');
  return condition('ResolvedRefs', 'False', first.reason, refProblems.map(({ message }) => message).join('; '));
}

function programmed(route: RoutePlan, plan: Plan, announcements: readonly Announcement[]): Condition {
  const no = (reason: Parameters<typeof condition<'Programmed'>>[2], message: string) =>
    condition('Programmed', 'False', reason, message);
  const { world, vips } = plan;
  if (route.rejected !== undefined) return no('NotAccepted', 'the route is not accepted');
  if (route.addresses.failure !== undefined) return no(route.addresses.failure.reason, route.addresses.failure.message);
  const foreign = route.addresses.assigned.find(({ vip }) => world.wire.conflicts.get(vip)?.defended === false);
  if (foreign !== undefined) {
    const mac = world.wire.conflicts.get(foreign.vip)?.mac ?? '';
    return no(
      'AddressNotUsable',
      `${foreign.vip} is answered by ${mac}, which is no member; find that host or use another address`,
    );
  }
  const planned = route.addresses.assigned.map(({ vip }) => vips.get(vip)).filter((vip) => vip !== undefined);
  const conflict = planned.flatMap((vip) => vip.conflicts).find((candidate) => candidate.route === route.route.key);
  if (conflict !== undefined) {
    return no('PortConflict', `${conflict.winner} is older and has ${conflict.port}; use another port or address`);
  }
  const silent = planned.find((vip) => vip.l2 === undefined && vip.pool.bgp.length === 0);
  if (silent !== undefined) {
    return no('NoAnnouncement', `pool ${silent.pool.meta.name} has neither spec.l2 nor spec.bgp; add one of them`);
  }
  const { clusterIp } = world.forwarding;
  if (clusterIp !== undefined && route.route.forwarding === 'ClusterIP') return no('RulesNotInstalled', clusterIp);
  if (world.forwarding.problem !== undefined) return no('RulesNotInstalled', world.forwarding.problem);
  const missing = planned.find(({ vip }) => world.forwarding.applied?.vips.has(vip) !== true);
  if (missing !== undefined) return no('Pending', `the rules of ${missing.vip} are on their way into the kernel`);
  const dark = planned.find((vip) => !isAnnounced(vip, announcements));
  if (dark !== undefined) return no('NotAnnounced', `nobody announces ${dark.vip}: ${darkReasons(dark, plan)}`);
  return condition('Programmed', 'True', 'Programmed', whereAndHow(route, announcements));
}

/** Of VIPs on layer 2: whether another member has seen them answer from where they should. */
function reachable(announcements: readonly Announcement[], plan: Plan): Condition[] {
  const held = announcements.filter(({ mode }) => mode === 'L2');
  if (held.length === 0) return [];
  const proofs = held.map(({ address, node }) => ({ address, node, proof: proofOf(address, node, plan) }));
  const bad = proofs.find(({ proof }) => proof?.reachable === false);
  if (bad !== undefined) {
    const { address, node, proof } = bad;
    const who = proof?.answeredBy === undefined ? 'nobody answered' : `${proof.answeredBy} answered`;
    const message = `${proof?.by ?? ''} asked the LAN for ${address}, which ${node} holds: ${who}`;
    return [condition('Reachable', 'False', 'Unanswered', message)];
  }
  const open = proofs.find(({ proof }) => proof === undefined);
  if (open !== undefined) {
    const message = `no other member has asked the LAN yet for ${open.address} since ${open.node} holds it`;
    return [condition('Reachable', 'Unknown', 'NotProven', message)];
  }
  const by = [...new Set(proofs.map(({ proof }) => proof?.by ?? ''))].join(', ');
  return [condition('Reachable', 'True', 'Proven', `${by} got the answer of the leader's MAC address`)];
}

function proofOf(vip: Vip, holder: NodeName, { world, findings }: Plan) {
  const own = world.wire.proofs.get(vip);
  if (own?.holder === holder) return { by: world.self, reachable: own.reachable, answeredBy: own.answeredBy };
  const told = findings.get(vip)?.find((finding) => finding.holder === holder && finding.node !== world.self);
  return told && { by: told.node, reachable: told.reachable, answeredBy: told.answeredBy };
}

/** A VIP of a pool that announces both ways must have its leader too. */
function isAnnounced({ vip, l2 }: VipPlan, announcements: readonly Announcement[]): boolean {
  return announcements.some(({ address, mode }) => address === vip && (l2 === undefined || mode === 'L2'));
}

function whereAndHow(route: RoutePlan, announcements: readonly Announcement[]): string {
  const where = announcements
    .map(({ address, node, peers, fenced }) => {
      const to = peers === undefined ? '' : ` to ${peers.join(' and ')}`;
      return `${address} by ${node}${to}${fenced ? '' : ' (unfenced)'}`;
    })
    .join(', ');
  const lacking = route.portsWithoutEndpoint;
  const refused =
    lacking.length > 0 ? `; no ready endpoint for ${lacking.join(', ')}: new connections are refused` : '';
  return `announced: ${where}${refused}`;
}

function conflictsOf(route: RoutePlan, world: World): Condition | undefined {
  for (const { vip } of route.addresses.assigned) {
    const conflict = world.wire.conflicts.get(vip);
    if (conflict === undefined) continue;
    const what = conflict.defended ? 'was defended once and is still answered here' : 'is not taken';
    return condition(
      'Conflicted',
      'True',
      'ForeignAnswer',
      `${conflict.mac}, no member, answers for ${vip}, which ${what}; find that host`,
    );
  }
  return undefined;
}
