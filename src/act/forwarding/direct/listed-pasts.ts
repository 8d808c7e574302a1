import type { NodeName } from '../../../../net/names.ts';
import { SLOTS } from '../../../decide/direct/slots.ts';
import type { ForwardingKey } from '../../../decide/types.ts';
import { nodeOfChain } from './chains.ts';
import { SENDER_CHAIN } from './layout.ts';
import type { Tenure } from './lineage.ts';
import type { Past } from './state.ts';

const CHAIN = /^\tchain (?<name>\S+) \{\n(?<body>.*?)^\t\}$/gms;
const VERDICT = /(\d+) : (return|goto [\w.-]+)/g;
const SERVICE = /^\tmap service \{\n.*?elements = \{(.*?)\}/ms;
const ELEMENT = /([0-9a-f.:]+) \. (tcp|udp|sctp) \. (\d+) : goto ([\w-]+)/g;

/** What an earlier run has left of the past of entries, from the listing of a passing table. */
export function listedPasts(text: string, self: NodeName): Map<ForwardingKey, Past> {
  const chains = new Map<string, string>();
  for (const { groups: { name = '', body = '' } = {} } of text.matchAll(CHAIN)) chains.set(name, body);
  const read = new Reading(chains, self);
  const pasts = new Map<ForwardingKey, Past>();
  const elements = SERVICE.exec(text)?.[1] ?? '';
  for (const [, vip, protocol = '', port, chain = ''] of elements.matchAll(ELEMENT)) {
    pasts.set(`${vip}|${protocol.toUpperCase()}|${port}` as ForwardingKey, read.past(chain));
  }
  return pasts;
}

class Reading {
  readonly #chains: ReadonlyMap<string, string>;
  readonly #nobody: Tenure;
  readonly #pasts = new Map<string, Past>();
  readonly #tenures = new Map<string, Tenure>();

  constructor(chains: ReadonlyMap<string, string>, self: NodeName) {
    this.#chains = chains;
    this.#nobody = { owner: self, earlier: [], bySender: false };
  }

  past(chain: string): Past {
    const known = this.#pasts.get(chain);
    if (known !== undefined) return known;
    const body = this.#chains.get(chain) ?? '';
    const most = /^\t*goto (\S+)$/m.exec(body)?.[1];
    const lineage = new Array<Tenure>(SLOTS).fill(most === undefined ? this.#nobody : this.#tenure(most));
    for (const [, slot, verdict = ''] of body.matchAll(VERDICT)) {
      lineage[Number(slot)] = verdict === 'return' ? this.#nobody : this.#tenure(verdict.replace('goto ', ''));
    }
    const past = { lineage, steered: chain.startsWith('pass-') };
    this.#pasts.set(chain, past);
    return past;
  }

  #tenure(chain: string): Tenure {
    const known = this.#tenures.get(chain);
    if (known !== undefined) return known;
    const body = this.#chains.get(chain) ?? '';
    // The last row is for segments that nobody has passed on: it begins with who is asked first.
    const row = [...body.matchAll(/goto (row-\S+)/g)].at(-1)?.[1] ?? '';
    const nodes = [...(this.#chains.get(row) ?? '').matchAll(/jump (\S+)/g)].map(([, to = '']) => nodeOfChain(to));
    const bySender = body.includes(`goto ${SENDER_CHAIN}\n`);
    const [owner, ...earlier] = chain.startsWith('own-') ? [this.#nobody.owner, ...nodes] : nodes;
    const tenure = owner === undefined ? this.#nobody : { owner, earlier, bySender };
    this.#tenures.set(chain, tenure);
    return tenure;
  }
}
