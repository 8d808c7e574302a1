import type { KernelModel } from './kernel-model.ts';

/** A TCP segment in the midst of a connection to one VIP:port. */
export interface Segment {
  /** The slot of its client. */
  readonly slot: number;
  /** `ADDRESS . tcp . PORT`. */
  readonly key: string;
  /** Whether the node knows its connection. */
  readonly known: boolean;
  /** The hardware address of the member that sent it; undefined: a client. */
  readonly from: string | undefined;
  readonly dscp: number;
}

/** Where a segment was sent, and how it was marked. */
export interface Sent {
  readonly to: string;
  readonly dscp: number;
}

type Verdict = 'ended' | 'continued';

/** The way of a segment through the rules of a table, as far as this program writes them. */
export function traverse(kernel: KernelModel, table: string, chain: string, segment: Segment): Sent | undefined {
  let { dscp } = segment;
  let sent: Sent | undefined;

  const conditions: readonly (readonly [RegExp, (...groups: string[]) => boolean])[] = [
    [/^meta l4proto tcp ct state new,invalid tcp flags & syn == 0/, () => !segment.known],
    [/^iifname \. ether saddr @members/, () => segment.from !== undefined],
    [/^iifname @interfaces ct state invalid icmp.*/, () => false],
    [/^iifname @interfaces/, () => true],
    [/^ip frag-off & 0x3fff == 0/, () => true],
    [/^exthdr frag missing.*/, () => false],
    [/^ip dscp \{ (.*?) \}/, (list = '') => list.split(', ').includes(String(dscp))],
    [/^ip dscp (\d+)/, (code) => code === String(dscp)],
  ];
  const statements: readonly (readonly [RegExp, (...groups: string[]) => Verdict | 'return' | undefined])[] = [
    [
      /^ip dscp set (\d+)/,
      (code) => {
        dscp = Number(code);
        return undefined;
      },
    ],
    [
      /^(?:dup|fwd ip) to (\S+) device "\w+"/,
      (to = '') => {
        sent = { to, dscp };
        return undefined;
      },
    ],
    [/^jhash .*? vmap \{ (.*) \}$/, (list = '') => decide(list.split(', ').find(isOfSlot)?.split(' : ')[1])],
    [/^ip6 .*/, () => undefined],
    [/^ip daddr \. .*? vmap @(\S+)/, (map = '') => decide(kernel.lookup(table, map, segment.key))],
    [/^ether saddr vmap @(\S+)/, (map = '') => decide(kernel.lookup(table, map, segment.from ?? ''))],
    [/^jump (\S+)/, (name = '') => (run(name) === 'ended' ? 'ended' : undefined)],
    [/^goto (\S+)/, (name = '') => run(name)],
    [/^(?:accept|drop)/, () => 'ended'],
    [/^return/, () => 'return'],
  ];
  const isOfSlot = (element: string) => element.startsWith(`${segment.slot} : `);
  const decide = (verdict: string | undefined) => (verdict === undefined ? undefined : execute(verdict));

  /** Undefined: the next rule. */
  function execute(rule: string): Verdict | 'return' | undefined {
    let rest = rule;
    while (rest !== '') {
      const condition = conditions.find(([pattern]) => pattern.test(rest));
      const [pattern, apply] = condition ?? statements.find(([pattern]) => pattern.test(rest)) ?? [];
      const match = pattern?.exec(rest);
      if (!match || apply === undefined) throw new Error(`not understood: ${rest}`);
      const outcome = apply(...match.slice(1));
      if (outcome === false) return undefined;
      if (typeof outcome === 'string') return outcome;
      rest = rest.slice(match[0].length).trimStart();
    }
    return undefined;
  }

  function run(name: string): Verdict {
    for (const rule of kernel.rules(table, name)) {
      const outcome = execute(rule);
      if (outcome !== undefined) return outcome === 'ended' ? 'ended' : 'continued';
    }
    return 'continued';
  }

  run(chain);
  return sent;
}
