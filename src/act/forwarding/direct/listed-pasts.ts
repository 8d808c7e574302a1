import type { NodeName } from '../../../../net/names.ts';
import { SLOTS } from '../../../decide/direct/slots.ts';
import type { ForwardingKey } from '../../../decide/types.ts';
import { nodeOfChain } from './chains.ts';
import { type Earlier, SENDER } from './lineage.ts';
import type { Past } from './state.ts';

const CHAIN = /^\tchain ((?:pass|late)-[\d-]+) \{\n(.*?)^\t\}$/gms;
const VERDICT = /(\d+) : goto ([\w.-]+)/g;
const SERVICE = /^\tmap service \{\n.*?elements = \{(.*?)\}/ms;
const ELEMENT = /([0-9a-f.:]+) \. (tcp|udp|sctp) \. (\d+) : goto ([\w-]+)/g;

/** What an earlier run has left of the past of entries, from the listing of a passing table. */
export function listedPasts(text: string, self: NodeName): Map<ForwardingKey, Past> {
  const byChain = new Map<string, Past>();
  for (const [, name = '', body = ''] of text.matchAll(CHAIN)) byChain.set(name, pastOf(name, body, self));
  const pasts = new Map<ForwardingKey, Past>();
  const elements = SERVICE.exec(text)?.[1] ?? '';
  for (const [, vip, protocol = '', port, chain = ''] of elements.matchAll(ELEMENT)) {
    const past = byChain.get(chain);
    if (past !== undefined) pasts.set(`${vip}|${protocol.toUpperCase()}|${port}` as ForwardingKey, past);
  }
  return pasts;
}

/** The first rule names the nodes of foreign slots, the second those who had this node's own. */
function pastOf(name: string, body: string, self: NodeName): Past {
  const steered = name.startsWith('pass-');
  const split = steered ? body.indexOf('ct state') : body.length;
  const [foreign, own] = split < 0 ? [body, ''] : [body.slice(0, split), body.slice(split)];
  const owners = slotsOf(foreign).map((node) => (node === undefined || node === SENDER ? self : node));
  return { lineage: { owners, earlier: slotsOf(own) }, steered };
}

function slotsOf(rules: string): Earlier[] {
  const slots = new Array<Earlier>(SLOTS).fill(undefined);
  for (const [, slot, chain = ''] of rules.matchAll(VERDICT)) {
    slots[Number(slot)] = chain === 'sender' ? SENDER : nodeOfChain(chain);
  }
  return slots;
}
