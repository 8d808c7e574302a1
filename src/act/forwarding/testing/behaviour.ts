import { type Ip, parseIp } from '../../../../net/ip.ts';
import { parsePrefix, prefixContains } from '../../../../net/prefix.ts';
import { must } from '../../../../net/result.ts';
import type { ForwardingEntry, ForwardingPlan } from '../../../decide/types.ts';
import { sortElements } from '../listed-entries.ts';
import type { ListedTable } from '../listing.ts';
import type { Element } from '../table.ts';

/** What happens to packets, in a form that two sources of it can be compared in. */
export interface Behaviour {
  readonly vips: readonly string[];
  readonly announcing: readonly string[];
  readonly entries: Readonly<Record<string, Served>>;
}

interface Served {
  readonly affinity: string;
  /** Target to share of new connections; with affinity Hash to 1, since its shares are only near. */
  readonly shares: Readonly<Record<string, number>>;
  readonly keepClientAddress: boolean;
  /** Those of some sample clients that may connect. */
  readonly clients: readonly string[];
}

const CLIENTS = ['10.1.2.3', '10.2.3.4', '192.0.2.7', '192.0.2.8', '2001:db8::9', '2001:db8:0:1::9', '2a00::1'].map(
  (text) => must(parseIp(text)),
);

/** From the plan alone, knowing nothing of tables. */
export function plannedBehaviour(plan: ForwardingPlan): Behaviour {
  const served = [...plan.entries].map(([key, entry]) => [key, plannedEntry(entry)] as const);
  return {
    vips: [...plan.vips.keys()].sort(),
    announcing: [...plan.announcingInterfaces].sort(),
    entries: Object.fromEntries(served.filter(([, { shares }]) => Object.keys(shares).length > 0)),
  };
}

/** By the private namespace: its own table says to which endpoints. */
const RELAYED = { affinity: 'None', shares: { relayed: 1 }, keepClientAddress: false };

function plannedEntry({ relayed, endpoints, affinity, keepClientAddress, sourceRanges }: ForwardingEntry): Served {
  const clients = sourceRanges.length === 0 ? CLIENTS : CLIENTS.filter((client) => within(sourceRanges, client));
  if (relayed) return endpoints.some(({ weight }) => weight > 0) ? { ...RELAYED, clients } : NOT_SERVED;
  const total = endpoints.reduce((sum, { weight }) => sum + weight, 0);
  const shares = endpoints
    .filter(({ weight }) => weight > 0)
    .map(({ address, port, weight }) => [`${address} . ${port}`, affinity.type === 'Hash' ? 1 : weight / total]);
  return {
    affinity: affinity.type === 'ClientIP' ? `ClientIP ${affinity.timeoutSeconds}` : affinity.type,
    shares: Object.fromEntries(shares) as Record<string, number>,
    keepClientAddress,
    clients,
  };
}

const NOT_SERVED: Served = { affinity: 'None', shares: {}, keepClientAddress: false, clients: [] };

function within(ranges: readonly string[], client: Ip): boolean {
  return ranges.some((range) => prefixContains(must(parsePrefix(range)), client));
}

/** From the elements of a table, as the chains that they go to would use them. */
export function tableBehaviour(table: ListedTable): Behaviour {
  const { vips, announcing, entries } = sortElements(table);
  return {
    vips: [...vips.keys()].sort(),
    announcing: [...announcing].sort(),
    entries: Object.fromEntries(Array.from(entries, ([key, elements]) => [key, tableEntry(elements)])),
  };
}

function tableEntry(elements: readonly Element[]): Served {
  const within = (set: RegExp) => elements.filter((element) => set.test(element.set));
  const clients =
    within(/^restricted/).length === 0 ? CLIENTS : CLIENTS.filter((client) => allowed(within(/^allow/), client));
  if (within(/^relayed/).length > 0) return { ...RELAYED, clients };
  const [, chain = ''] = within(/^service/)[0]?.data?.split(' ') ?? [];
  const [, selector = '', timeout, shape = ''] =
    /^(random|client|hash)[46](?:-(\d+)(?=-\d+x))?(?:-(.+))?$/.exec(chain) ?? [];
  return {
    affinity: { random: 'None', client: `ClientIP ${timeout}`, hash: 'Hash' }[selector] ?? `unknown chain ${chain}`,
    shares:
      selector === 'hash'
        ? Object.fromEntries(within(/^bucket/).map(({ data = '' }) => [data, 1]))
        : slotShares(shape, within(/^slot/)),
    keepClientAddress: within(/^keep-/).length > 0,
    clients,
  };
}

/** `2x1-1x3`: slot 0 has weight 2, slots 1 to 3 have weight 1. */
function slotShares(shape: string, slots: readonly Element[]): Record<string, number> {
  const weights = shape.split('-').flatMap((run) => {
    const [weight = 0, count = 0] = run.split('x').map(Number);
    return Array.from({ length: count }, () => weight);
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return Object.fromEntries(
    slots.map(({ set, data = '' }) => [data, (weights[Number(set.split('-')[1])] ?? 0) / total]),
  );
}

function allowed(elements: readonly Element[], client: Ip): boolean {
  return elements.some(({ key }) => {
    const range = key.split(' . ').at(-1) ?? '';
    return range === client || (range.includes('/') && prefixContains(must(parsePrefix(range)), client));
  });
}
