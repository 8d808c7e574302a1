import type { Vip } from '../../../../net/names.ts';
import { Table } from '../../../../net/table.ts';
import type { ForwardingEntry, ForwardingPlan } from '../../../decide/types.ts';

const NOTHING: ForwardingPlan = { vips: Table.empty(), entries: Table.empty(), announcingInterfaces: [] };

/** The private namespace's part of a node's plan, which stays the same where nothing in there changes. */
export class InsidePlan {
  #from: ForwardingPlan = NOTHING;
  #inside: ForwardingPlan = NOTHING;

  /**
   * @param routed VIPs whose packets are sent in there already: while the node has such a VIP they still are, for the
   *   sake of connections from before the route's change of mode
   */
  of(plan: ForwardingPlan, routed: Iterable<Vip>): ForwardingPlan {
    const before = this.#inside;
    const entries = before.entries.with(
      Array.from(
        plan.entries.changes(this.#from.entries),
        ({ key, after }) => [key, after && insideEntry(after, before.entries.get(key))] as const,
      ),
    );
    const wanted = new Set(Array.from(entries.values(), ({ vip }) => vip));
    for (const vip of routed) if (plan.vips.has(vip)) wanted.add(vip);
    const gone = Array.from(before.vips.keys()).filter((vip) => !wanted.has(vip));
    const vips = before.vips.with([
      ...gone.map((vip) => [vip, undefined] as const),
      ...Array.from(wanted, (vip) => [vip, true] as const),
    ]);
    this.#from = plan;
    if (entries !== before.entries || vips !== before.vips) this.#inside = { ...NOTHING, vips, entries };
    return this.#inside;
  }
}

/** Clients were admitted before they got here. An entry that left the mode stays for its open connections. */
function insideEntry(entry: ForwardingEntry, before: ForwardingEntry | undefined): ForwardingEntry | undefined {
  const { relayed, ...rest } = entry;
  if (relayed) return { ...rest, sourceRanges: [] };
  return before && { ...before, endpoints: before.endpoints.map((endpoint) => ({ ...endpoint, weight: 0 })) };
}

/** What is left of a plan where there is no private namespace. */
export interface ReducedPlan {
  /** What the table gets: entries of mode ClusterIP are refused. */
  readonly kernel: ForwardingPlan;
  /** What is told: VIPs of such entries are not carried, so that this node does not announce them. */
  readonly told: ForwardingPlan;
}

export function withoutClusterIp(plan: ForwardingPlan): ReducedPlan {
  const refused = Array.from(plan.entries).filter(([, { relayed }]) => relayed);
  const kernel = { ...plan, entries: plan.entries.with(refused.map(([key]) => [key, undefined] as const)) };
  return { kernel, told: { ...kernel, vips: plan.vips.with(refused.map(([, { vip }]) => [vip, undefined] as const)) } };
}
