import type { InterfaceName, NodeName } from '../../net/names.ts';
import type { Eligibility } from '../membership/types.ts';
import type { RouteKey } from '../world/keys.ts';

/** What the cluster says of a node. */
export interface NodeFacts {
  readonly name: NodeName;
  /** Label `node.kubernetes.io/exclude-from-external-load-balancers`. */
  readonly excluded: boolean;
  /** Condition NetworkUnavailable. */
  readonly networkUnavailable: boolean;
  /** Taint `node.kubernetes.io/out-of-service`. */
  readonly outOfService: boolean;
  /** Condition Ready is not True. */
  readonly notReady: boolean;
}

/** Which interface announces a VIP, whose segment the VIP belongs to. */
export interface InterfaceChoice {
  /** Absent where no interface of this node is of the VIP's segment. */
  readonly name?: InterfaceName;
  /** Why it cannot announce now, e.g. "interface eth0 down". */
  readonly reason?: string;
}

export interface CandidateFacts {
  readonly witness: boolean;
  /** Absent where no Node object is known: with manifests there need not be one. */
  readonly node: NodeFacts | undefined;
  /** The pool's `l2.nodeSelector` selects this node. */
  readonly selected: boolean;
  readonly interface: InterfaceChoice;
  /** The first route on the VIP with traffic policy Local that has no usable endpoint on this node. */
  readonly lacksEndpointFor: RouteKey | undefined;
}

/** Whether this node may lead a VIP; the first hindrance in the order in which an admin would look for it. */
export function eligibility(facts: CandidateFacts): Eligibility {
  const no = (reason: string): Eligibility => ({ kind: 'ineligible', reason });
  const { node } = facts;
  if (facts.witness) return no('witness: only votes');
  if (node?.excluded) return no('node is labelled exclude-from-external-load-balancers');
  if (node?.outOfService) return no('node is tainted out-of-service');
  if (node?.networkUnavailable) return no('node has NetworkUnavailable');
  if (!facts.selected) return no("pool's l2.nodeSelector does not select the node");
  if (facts.interface.reason !== undefined) return no(facts.interface.reason);
  if (facts.lacksEndpointFor !== undefined) return no('no ready endpoint');
  if (node?.notReady) return { kind: 'lastResort', reason: 'node is NotReady' };
  return { kind: 'eligible' };
}
